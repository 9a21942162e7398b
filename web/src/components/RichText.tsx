// Model text as markdown, in a chunk of its own (see Markdown). Raw HTML stays text, and nothing is loaded: an image becomes a link, so
// that a model (or a page that it read) cannot make the reader's browser call somewhere.

import ReactMarkdown, { type Components } from "react-markdown";
import remarkGfm from "remark-gfm";
import remend from "remend";
import { CodeBlock } from "./CodeBlock";

const PLUGINS = [remarkGfm];

/** An answer stands below a heading of its own: what the model heads goes deeper, and looks as it was meant. */
const heading = (level: 1 | 2 | 3): NonNullable<Components["h1"]> => {
  const Deeper = `h${level + 2}` as "h3" | "h4" | "h5";
  return ({ children }) => <Deeper data-level={level}>{children}</Deeper>;
};

const COMPONENTS: Components = {
  h1: heading(1),
  h2: heading(2),
  h3: heading(3),
  h4: ({ children }) => <h6>{children}</h6>,
  h5: ({ children }) => <h6>{children}</h6>,
  a: ({ href, children }) => (
    <a href={href} target="_blank" rel="noopener noreferrer nofollow">
      {children}
    </a>
  ),
  img: ({ src, alt }) =>
    typeof src === "string" && src !== "" ? (
      <a href={src} target="_blank" rel="noopener noreferrer nofollow">
        {alt || "Image"}
      </a>
    ) : (
      <>{alt}</>
    ),
  pre: ({ node }) => <CodeBlock node={node} />,
  // Wide ones scroll inside themselves, by keyboard too, instead of stretching the page.
  table: ({ children }) => (
    <div className="table-scroll" tabIndex={0} role="region" aria-label="Table">
      <table>{children}</table>
    </div>
  ),
  // The task lists of GFM show what is done; nobody ticks anything here.
  input: ({ checked }) => <span className="task-box" data-checked={checked === true} aria-label={checked ? "done" : "open"} role="img" />,
};

/** Markers that have not come to their end are closed or held back, so that nothing jumps when the end comes. */
const HEALING = { linkMode: "text-only", katex: false, singleTilde: false, comparisonOperators: false } as const;

export function RichText({ text, growing }: { text: string; growing: boolean }) {
  return (
    <ReactMarkdown remarkPlugins={PLUGINS} components={COMPONENTS}>
      {growing ? remend(text, HEALING) : text}
    </ReactMarkdown>
  );
}

// A model's text as markdown with formulas, in a chunk of its own (Markdown.tsx). Raw HTML stays text. An image becomes a
// link, so that a model, or a page that it read, cannot make the reader's browser send a request.

import ReactMarkdown, { type Components, type ExtraProps } from "react-markdown";
import remarkGfm from "remark-gfm";
import remend from "remend";
import { en } from "../en";
import { FORMULA_LANGUAGE, withFormulaBlocks, withoutOpenFormula } from "../math/blocks";
import { Formula } from "../math/Formula";
import { FORMULA_ELEMENT, remarkFormulas, texOf } from "../math/inline";
import { CodeBlock, languageOf, textOf } from "./CodeBlock";

const PLUGINS = [remarkGfm, remarkFormulas];
const REHYPE = [withDirections];

/**
 * Each block is written in the direction of its own text. What a list, a quotation or a table contains follows it, so
 * that marks and columns stand on one side.
 */
function withDirections() {
  return ({ children }: { children: { type: string; properties?: Record<string, unknown> }[] }) => {
    for (const block of children) if (block.properties) block.properties["dir"] = "auto";
  };
}

/** An answer stands below a heading of the page. The model's headings are two levels deeper, and look like their own level. */
const heading = (level: 1 | 2 | 3): NonNullable<Components["h1"]> => {
  const Deeper = `h${level + 2}` as "h3" | "h4" | "h5";
  return ({ children }) => (
    <Deeper data-level={level} dir="auto">
      {children}
    </Deeper>
  );
};

const COMPONENTS: Components = {
  h1: heading(1),
  h2: heading(2),
  h3: heading(3),
  h4: ({ children }) => <h6 dir="auto">{children}</h6>,
  h5: ({ children }) => <h6 dir="auto">{children}</h6>,
  a: ({ href, children }) => (
    <a href={href} target="_blank" rel="noopener noreferrer nofollow">
      {children}
    </a>
  ),
  img: ({ src, alt }) =>
    typeof src === "string" && src !== "" ? (
      <a href={src} target="_blank" rel="noopener noreferrer nofollow">
        {alt || en.attachments.image}
      </a>
    ) : (
      <>{alt}</>
    ),
  pre: ({ node }) => {
    if (languageOf(node) !== FORMULA_LANGUAGE) return <CodeBlock node={node} />;
    const tex = textOf(node).trim();
    return <Formula tex={tex} source={`$$${tex}$$`} display />;
  },
  // A wide table scrolls inside itself, by keyboard too.
  table: ({ children }) => (
    <div className="table-scroll" tabIndex={0} role="region" aria-label={en.answer.table}>
      <table dir="auto">{children}</table>
    </div>
  ),
  // A task list of GFM shows its state. The reader cannot change it.
  input: ({ checked }) => <span className="task-box" data-checked={checked === true} aria-label={checked ? en.answer.taskDone : en.answer.taskOpen} role="img" />,
};

/** An element that HTML does not have (math/inline.ts). */
const ALL: Components = Object.assign(COMPONENTS, {
  [FORMULA_ELEMENT]: ({ node }: ExtraProps) => {
    const source = textOf(node);
    return <Formula tex={texOf(source)} source={source} display={node?.properties["dataDisplay"] === "true"} />;
  },
});

/** Closes or holds back incomplete markers, so that the text does not jump when the end comes. */
const HEALING = { linkMode: "text-only", katex: false, singleTilde: false, comparisonOperators: false } as const;

export function RichText({ text, growing }: { text: string; growing: boolean }) {
  const whole = withFormulaBlocks(text, growing);
  return (
    <ReactMarkdown remarkPlugins={PLUGINS} rehypePlugins={REHYPE} components={ALL}>
      {growing ? remend(withoutOpenFormula(whole), HEALING) : whole}
    </ReactMarkdown>
  );
}

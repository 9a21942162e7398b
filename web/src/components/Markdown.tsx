// Model text as markdown. Raw HTML stays text, and nothing is loaded: an image becomes a link, so
// that a model (or a page that it read) cannot make the reader's browser call somewhere.

import { memo, useDeferredValue } from "react";
import ReactMarkdown, { type Components } from "react-markdown";
import remarkGfm from "remark-gfm";

const PLUGINS = [remarkGfm];

const COMPONENTS: Components = {
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
  // Wide ones scroll inside themselves, by keyboard too, instead of stretching the page.
  pre: ({ children }) => <pre tabIndex={0}>{children}</pre>,
  table: ({ children }) => (
    <div className="table-scroll" tabIndex={0} role="region" aria-label="Table">
      <table>{children}</table>
    </div>
  ),
};

export const Markdown = memo(function Markdown({ text }: { text: string }) {
  // While text streams in fast, typing and scrolling go before drawing every step of it.
  const drawn = useDeferredValue(text);
  return (
    <div className="prose">
      <ReactMarkdown remarkPlugins={PLUGINS} components={COMPONENTS}>
        {drawn}
      </ReactMarkdown>
    </div>
  );
});

// A model's text as markdown with formulas, in a chunk of its own (Markdown.tsx). Raw HTML stays text. An image becomes a
// link, so that a model, or a page that it read, cannot make the reader's browser send a request.

import { createContext, memo, use } from "react";
import ReactMarkdown, { type Components, type ExtraProps } from "react-markdown";
import remarkGfm from "remark-gfm";
import remend from "remend";
import { en } from "../en";
import { FORMULA_LANGUAGE, withFormulaBlocks, withoutOpenFormula } from "../math/blocks";
import { Formula } from "../math/Formula";
import { FORMULA_ELEMENT, remarkFormulas, texOf } from "../math/inline";
import { CodeBlock, Growing, languageOf, textOf } from "./CodeBlock";
import { CheckIcon } from "./Icons";
import { partsOf } from "./markdownParts";

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

/** An answer stands below a heading of the page: the model's largest headings are of the third level, and each looks like its own. */
const Largest = createContext(1);

const heading = (level: number): NonNullable<Components["h1"]> => ({ children }) => {
  const Shifted = `h${Math.min(6, 3 + Math.max(0, level - use(Largest)))}` as "h3";
  return (
    <Shifted data-level={level} dir="auto">
      {children}
    </Shifted>
  );
};

/** Longer cells have words to read rather than a figure or a name. */
const SHORT_CELL = 20;

const COMPONENTS: Components = {
  h1: heading(1),
  h2: heading(2),
  h3: heading(3),
  h4: heading(4),
  h5: heading(5),
  h6: heading(6),
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
  // In a narrow window a column of words stays wide enough to read, and the table scrolls.
  td: ({ node, ...cell }) => <td {...cell} data-words={textOf(node).length > SHORT_CELL} />,
  // A task list of GFM shows its state. The reader cannot change it.
  input: ({ checked }) => (
    <span className="task-box" data-checked={checked === true} aria-label={checked ? en.answer.taskDone : en.answer.taskOpen} role="img">
      {checked && <CheckIcon />}
    </span>
  ),
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
  // While a text grows, only its last part is read and drawn again: typing never waits for a long answer.
  const { parts, largest } = partsOf(whole);
  return (
    <Largest value={largest}>
      {parts.map((part, index) => (
        <Part key={index} text={part} growing={growing && index === parts.length - 1} />
      ))}
    </Largest>
  );
}

const Part = memo(function Part({ text, growing }: { text: string; growing: boolean }) {
  return (
    <Growing value={growing}>
      <ReactMarkdown remarkPlugins={PLUGINS} rehypePlugins={REHYPE} components={ALL}>
        {growing ? remend(withoutOpenFormula(text), HEALING) : text}
      </ReactMarkdown>
    </Growing>
  );
});

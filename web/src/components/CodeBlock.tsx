// A block of code with its language and a copy button. Its colours come with their chunk.

import { createContext, memo, use, useMemo } from "react";
import type { ExtraProps } from "react-markdown";
import { en } from "../en";
import { colours } from "../state/parts";
import { CopyButton } from "./CopyButton";

/** Longer blocks stay plain: their colours would take too long. */
const COLOURED_CHARS = 50_000;

/** More of the block may come. */
export const Growing = createContext(false);

/** While a long block grows, its colours follow in steps of so many characters: each step paints all of it. */
const STEP_CHARS = 2_000;

function colouredChars(code: string): number {
  const step = Math.floor(code.length / STEP_CHARS) * STEP_CHARS;
  return step === 0 ? code.length : code.lastIndexOf("\n", step) + 1;
}

type Element = NonNullable<ExtraProps["node"]>;

export const CodeBlock = memo(function CodeBlock({ node }: { node: Element | undefined }) {
  const code = textOf(node).replace(/\n$/, "");
  const language = languageOf(node);
  const wanted = language !== null && code.length <= COLOURED_CHARS;
  const paint = colours.use(wanted);
  const coloured = use(Growing) ? colouredChars(code) : code.length;
  const painted = useMemo(() => (wanted && paint ? paint(code.slice(0, coloured), language) : null), [paint, wanted, language, coloured, code.slice(0, coloured)]);
  return (
    <div className="code-block">
      <div className="code-head">
        <span>{language ?? en.answer.plainCode}</span>
        <CopyButton text={code} what={en.common.copyCode} />
      </div>
      <pre tabIndex={0}>
        <code>
          {painted === null ? code : (
            <>
              {painted}
              {code.slice(coloured)}
            </>
          )}
        </code>
      </pre>
    </div>
  );
}, (before, after) => before.node === after.node || same(before.node, after.node));

/** Each drawing of a growing text parses all of it, so a complete block comes as a new object with the same text. */
function same(one: Element | undefined, other: Element | undefined): boolean {
  return textOf(one) === textOf(other) && languageOf(one) === languageOf(other);
}

export function languageOf(node: Element | undefined): string | null {
  const code = node?.children.find((child) => child.type === "element" && child.tagName === "code");
  const names = code?.type === "element" ? code.properties["className"] : undefined;
  const name = (Array.isArray(names) ? names : []).map(String).find((each) => each.startsWith("language-"));
  return name?.slice("language-".length) || null;
}

export function textOf(node: Element | Element["children"][number] | undefined): string {
  if (!node) return "";
  if (node.type === "text") return node.value;
  return node.type === "element" ? node.children.map(textOf).join("") : "";
}

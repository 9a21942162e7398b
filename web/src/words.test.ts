// Every text that a person reads stands in a file named `en.ts`: the core's, or a feature's. This test reads the other
// files and fails when one has a text of its own.

import { parseAst } from "vite";
import { expect, it } from "vitest";

const sources: Record<string, string> = import.meta.glob(["./**/*.{ts,tsx}", "!./**/*.test.{ts,tsx}", "!./**/*.fixture.ts", "!./wire.generated.ts"], {
  query: "?raw",
  import: "default",
  eager: true,
});

/** Attributes whose values only code reads. Any other attribute may be read by a person. */
const TECHNICAL = /^(aria-(busy|controls|current|describedby|expanded|haspopup|hidden|labelledby|live)|auto(Complete|Capitalize)|className|data-.*|dir|enterKeyHint|fill|focusable|height|href|html[Ff]or|id|inputMode|key|d|name|place|popover|preload|rel|role|scope|stroke.*|target|testId|tone|type|value|viewBox|width|chat|transform|[cr][xy]?|x|y|loading|display|open)$/;

/** A word of a sentence: letters, beginning with a capital, or two words with a space between. */
const PROSE = /^\p{Lu}\p{Ll}+[.…:]?$|\p{L}{2,}[,.:;…]? \p{L}+/u;

/** Strings outside of JSX that look like prose, and that only code reads. */
const CODE: ReadonlySet<string> = new Set([
  // Names of keys (KeyboardEvent.key).
  "Enter", "Escape", "ArrowUp", "ArrowDown", "Home", "End", "Tab",
  // Names of errors.
  "Refusal", "Unreachable", "AbortError",
  // Places of a panel (feature.ts).
  "top bar",
  // Selectors.
  "input, textarea", "input, textarea, select", ":popover-open, dialog:modal",
  // The form of an attached file within a message (turn/attachments.ts).
  "Attached file:",
  // The beginning of a result that the service writes for the model (turn/view.ts).
  "The user did not allow this call",
]);

interface Node {
  type: string;
  start: number;
  end: number;
  value?: unknown;
  name?: { name?: string } | string;
  [member: string]: unknown;
}

/** Texts in one file, each as its line and itself. */
function textsIn(path: string, code: string): string[] {
  const found: string[] = [];
  const say = (node: Node, text: string) => found.push(`${path}:${code.slice(0, node.start).split("\n").length} ${text.trim()}`);
  const visit = (node: Node, shown: boolean) => {
    // Types, imports, and errors for developers.
    if (/^TS(Type|Interface|Literal|Union)|^Import|^Export(All|Named)Declaration$/.test(node.type) && !("declaration" in node && node["declaration"])) return;
    if (node.type === "NewExpression" && /^new (\w*Error|Event|URL)\(/.test(code.slice(node.start, node.end))) return;
    if (node.type === "CallExpression" && /^[\w.?]*\b(matchMedia|closest|querySelector(All)?(<\w+>)?|addEventListener|types\??\.includes)\(/.test(code.slice(node.start, node.end))) return;
    // The default of a property that names classes.
    if (node.type === "AssignmentPattern" && code.slice(node.start, node.end).startsWith("className")) return;
    if (node.type === "JSXText" && /\p{L}/u.test(String(node.value).replace(/&\w+;/g, ""))) say(node, String(node.value));
    if (node.type === "JSXAttribute") {
      const { name } = node["name"] as { name?: string };
      if (typeof name === "string" && TECHNICAL.test(name)) return;
      shown = true;
    }
    // A comparison reads a value, and shows none.
    if (node.type === "BinaryExpression" || node.type === "SwitchCase") shown = false;
    if (node.type === "Literal" && typeof node.value === "string") {
      const text = node.value;
      if (shown ? /\p{L}/u.test(text) : PROSE.test(text) && !CODE.has(text)) say(node, text);
    }
    if (node.type === "TemplateElement") {
      const text = (node.value as { cooked?: string }).cooked ?? "";
      if (shown ? /\p{L}{2,}/u.test(text) : PROSE.test(text.trim()) && !CODE.has(text.trim())) say(node, text);
    }
    // The page does not show the name of a function that an expression in JSX calls.
    const inside = node.type === "JSXExpressionContainer" ? true : /Function|CallExpression|ObjectExpression/.test(node.type) ? false : shown;
    for (const [member, child] of Object.entries(node)) {
      if (member === "key" || member === "typeAnnotation" || member === "typeArguments") continue;
      for (const each of Array.isArray(child) ? child : [child]) if (typeof each?.type === "string") visit(each as Node, inside);
    }
  };
  visit(parseAst(code, { lang: path.endsWith(".tsx") ? "tsx" : "ts" }) as unknown as Node, false);
  return found;
}

it("finds no text outside of the files with the words", () => {
  const others = Object.entries(sources).filter(([path]) => !path.endsWith("/en.ts"));
  expect(others.length).toBeGreaterThan(90);
  expect(others.flatMap(([path, code]) => textsIn(path, code))).toEqual([]);
});

it("finds a text in every place where a component can have one", () => {
  const found = (code: string) => textsIn("./a.tsx", code).length;
  expect(found("const a = <p>Hello</p>;")).toBe(1);
  expect(found('const a = <p title="Hello" className="wide" />;')).toBe(1);
  expect(found('const a = <p>{open ? "less" : "more"}</p>;')).toBe(2);
  expect(found("const a = <p aria-label={`${n} calls`} />;")).toBe(1);
  expect(found('const a = <Menu label="close" testId="menu" />;')).toBe(1);
  expect(found('const a = { label: "Files" };')).toBe(1);
  expect(found('const a = { words: "is too large" };')).toBe(1);
  expect(found("const a = `The service answered with ${status}.`;")).toBe(1);
  expect(found('const a = <p data-state="not begun">{en.page.chat}</p>;')).toBe(0);
  expect(found('import b from "a b"; const a = phase === "loading" && key !== "Enter";')).toBe(0);
});

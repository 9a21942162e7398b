// Markdown in parts: the same document, of which a growing text draws its end alone. Issue 53, faults 4, 16, 19 and 20.

import { renderToStaticMarkup } from "react-dom/server";
import { afterEach, describe, expect, it, vi } from "vitest";
import { partsOf } from "./markdownParts";

vi.setConfig({ testTimeout: 30_000 });

afterEach(() => vi.doUnmock("./markdownParts"));

async function drawn(text: string, whole = false): Promise<string> {
  vi.resetModules();
  if (whole) vi.doMock("./markdownParts", () => ({ partsOf: (all: string) => ({ parts: [all], largest: partsOf(all).largest }) }));
  const { RichText } = await import("./RichText");
  return renderToStaticMarkup(<RichText text={text} growing={false} />).replace(/>\n+</g, "><");
}

describe("headings", () => {
  it.each([
    ["## A\n\n### B\n\n#### C", ["h3 2", "h4 3", "h5 4"]],
    ["# A\n\n### B", ["h3 1", "h5 3"]],
    ["#### D\n\n##### E\n\n###### F", ["h3 4", "h4 5", "h5 6"]],
    ["```\n# no heading\n```\n\n### A", ["h3 3"]],
  ])("%j begin below those of the page", async (text, expected) => {
    const found = (await drawn(text)).matchAll(/<(h\d) data-level="(\d)"/g);
    expect([...found].map(([, name, level]) => `${name} ${level}`)).toEqual(expected);
  });
});

it("marks the cells that have words, and the boxes that are checked", async () => {
  const html = await drawn("| a | b |\n|---|---|\n| 12 | a sentence of several words |\n\n- [x] done\n- [ ] open");
  expect([...html.matchAll(/data-words="(\w+)"/g)].map(([, words]) => words)).toEqual(["false", "true"]);
  expect(html.match(/<svg/g)).toHaveLength(1);
});

const words = "Some words that fill a line of a paragraph, with *marks* and `code`. ".repeat(6);
const BLOCKS = [
  words,
  "## A heading",
  `- an item\n\n  its second paragraph, ${words}\n\n- another item\n  1. deeper\n\n     still deeper`,
  "1. one\n\n2. two\n\n3. three",
  "> a quotation\n\n> another one",
  "```js\nconst a = 1;\n\n## no heading\n\nNo paragraph\n```",
  "~~~~\n```\n\nstill code\n~~~~",
  "| a | b |\n|---|---|\n| 1 | 2 |",
  "A title\n=======",
  "***",
  "    indented code\n\n    more of it",
  "$$\nx = 1\n$$",
  "- [x] done\n- [ ] open",
  `**Bold** at the beginning. ${words}`,
];

it("draws the parts of a text as it draws the whole", async () => {
  for (let turn = 0; turn < BLOCKS.length; turn += 1) {
    const text = [...BLOCKS.slice(turn), ...BLOCKS.slice(0, turn)].join("\n\n");
    expect(partsOf(text).parts.length).toBeGreaterThan(1);
    expect(partsOf(text).parts.join("")).toBe(text);
    expect(await drawn(text)).toBe(await drawn(text, true));
  }
});

it.each([`[a]: https://example.com\n\n${words}\n\n${words}`, `<!-- ${words}\n\n${words} -->\n\n${words}`, `[^1]: ${words}\n\n${words}\n\n${words}`])("keeps a text whole whose parts depend on each other", (text) => {
  expect(partsOf(text).parts).toEqual([text]);
});

// Typing stays fast while a long answer grows: a step draws no more than this of it.
it("draws a few paragraphs of a long answer again", () => {
  const answer = Array.from({ length: 60 }, (_, at) => (at % 5 === 0 ? `## Part ${at}` : words)).join("\n\n");
  expect(answer.length).toBeGreaterThan(19_000);
  for (let end = 2_000; end < answer.length; end += 777) expect(partsOf(answer.slice(0, end)).parts.at(-1)!.length).toBeLessThan(2_000);
});

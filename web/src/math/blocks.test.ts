// Display formulas on lines of their own, and formulas that stream.

import { expect, it } from "vitest";
import { FORMULA_LANGUAGE, MAX_FORMULA_CHARS, withFormulaBlocks, withoutOpenFormula } from "./blocks";

const blocks = (text: string, growing = false) => withFormulaBlocks(text, growing).replaceAll(`\`\`\`\`${FORMULA_LANGUAGE}`, "<tex>").replaceAll("````", "</tex>");

it("makes blocks of formulas on lines of their own", () => {
  expect(blocks("So:\n$$\na\n= b\n$$\nand")).toBe("So:\n<tex>\na\n= b\n</tex>\nand");
  expect(blocks("$$a^2$$")).toBe("<tex>\na^2\n</tex>");
  expect(blocks("\\[\na\n\n- b\n\\]")).toBe("<tex>\na\n- b\n</tex>");
  expect(blocks("- $$\n  a\n  $$\n- b")).toBe("- <tex>\n  a\n  </tex>\n- b");
  expect(blocks("1. So:\n\n   $$ a $$\n\n2. b")).toBe("1. So:\n\n   <tex>\n   a\n   </tex>\n\n2. b");
  expect(blocks("> $$\n> a\n> $$")).toBe("> <tex>\n> a\n> </tex>");
});

it("leaves code, formulas of a paragraph and open ones alone", () => {
  for (const text of ["```\n$$\na\n$$\n```", "~~~tex\n\\[ a \\]\n~~~", "    $$\n    a\n    $$", "$$a$$ is small", "So $$a$$", "$$\na", "no formula"]) {
    expect(blocks(text)).toBe(text);
  }
});

it("leaves a formula beyond the limit alone", () => {
  const formula = (chars: number) => `$$\n${"x".repeat(chars)}\n$$`;
  expect(blocks(formula(MAX_FORMULA_CHARS - 2))).toContain("<tex>");
  expect(blocks(formula(MAX_FORMULA_CHARS + 1))).not.toContain("<tex>");
  expect(blocks(formula(MAX_FORMULA_CHARS + 1), true)).not.toContain("<tex>");
});

it("holds a formula back while it streams, until its end has come", () => {
  expect(blocks("So:\n$$\na_1 + ", true)).toBe("So:");
  expect(blocks("So:\n$$\na\n$$\n", true)).toBe("So:\n<tex>\na\n</tex>\n");
  expect(withoutOpenFormula("It is $x^2 + ")).toBe("It is ");
  expect(withoutOpenFormula("It is \\(x^2")).toBe("It is ");
  expect(withoutOpenFormula("It is $x^2$ and")).toBe("It is $x^2$ and");
  expect(withoutOpenFormula("It is $x$ and $y")).toBe("It is $x$ and ");
});

it("holds back no price, no code, and nothing for long", () => {
  for (const text of ["It costs $5 and", "Run `echo $HOME", "```\n$HOME", "US$ and", `It is $x${" and more".repeat(40)}`]) {
    expect(withoutOpenFormula(text)).toBe(text);
  }
});

// Formulas as the page draws them: which texts are formulas, and what TeX may do.

import { renderToStaticMarkup } from "react-dom/server";
import ReactMarkdown from "react-markdown";
import remarkGfm from "remark-gfm";
import { describe, expect, it } from "vitest";
import { MAX_FORMULA_CHARS } from "./blocks";
import { FORMULA_ELEMENT, remarkFormulas, texOf } from "./inline";
import { drawn as drawnTree, mathml } from "./mathml";

/** The text as HTML, each formula as `[source]`. */
function drawn(text: string): string {
  const html = renderToStaticMarkup(<ReactMarkdown remarkPlugins={[remarkGfm, remarkFormulas]}>{text}</ReactMarkdown>);
  return html
    .replaceAll(new RegExp(`<${FORMULA_ELEMENT} data-display="(\\w+)">(.*?)</${FORMULA_ELEMENT}>`, "gs"), (_, display, source) => `[${display === "true" ? "block " : ""}${source}]`)
    .replace(/^<p>|<\/p>$/g, "");
}

describe("a formula within a paragraph", () => {
  it.each([
    ["so $x^2$ is", "so [$x^2$] is"],
    ["so \\(a_1 + b_1\\) is", "so [\\(a_1 + b_1\\)] is"],
    ["so $$x$$ and \\[y\\]", "so [block $$x$$] and [block \\[y\\]]"],
    ["$a_i * b_i$ and *c*", "[$a_i * b_i$] and <em>c</em>"],
    ["$x$, $y$; ($z$)", "[$x$], [$y$]; ([$z$])"],
    ["$\\$5 + x$", "[$\\$5 + x$]"],
    ["$\\frac{a}{b}$", "[$\\frac{a}{b}$]"],
    ["*so $x$ is*", "<em>so [$x$] is</em>"],
    ["$a\nb$", "[$a\nb$]"],
    ["$2x + 3$", "[$2x + 3$]"],
    ["it costs $5, and $x^2$ is", "it costs $5, and [$x^2$] is"],
    ["$HOME and $x$", "$HOME and [$x$]"],
    ["$$\\text{if $x$}$$", "[block $$\\text{if $x$}$$]"],
  ])("%j", (text, expected) => expect(drawn(text)).toBe(expected));
});

describe("no formula", () => {
  it.each([
    ["$5 and $10", "$5 and $10"],
    ["$5-$10, US$6 or 7$", "$5-$10, US$6 or 7$"],
    ["between $5 and 10$", "between $5 and 10$"],
    ["$HOME/$USER and $PATH", "$HOME/$USER and $PATH"],
    ["`$x$` and `\\(x\\)`", "<code>$x$</code> and <code>\\(x\\)</code>"],
    ["\\$x\\$ and $x", "$x$ and $x"],
    ["$ x $ and $$$$ and \\(\\)", "$ x $ and $$$$ and ()"],
    ["\\(open and $open", "(open and $open"],
  ])("%j", (text, expected) => expect(drawn(text)).toBe(expected));

  it("a fenced block stays code", () => expect(drawn("```\n$x$\n```")).toBe("<pre><code>$x$\n</code></pre>"));

  it("one beyond the limit stays text", () => {
    expect(drawn(`$${"x".repeat(MAX_FORMULA_CHARS)}$`)).toMatch(/^\[/);
    expect(drawn(`$${"x".repeat(MAX_FORMULA_CHARS + 10)}$`)).not.toContain("[");
  });

  it("a paragraph full of dollars takes no quadratic time", () => {
    const began = performance.now();
    drawn("$a ".repeat(20_000));
    expect(performance.now() - began).toBeLessThan(5_000);
  });
});

it("takes the marks away", () => {
  expect(["$x$", "$$ x $$", "\\(x\\)", "\\[x\\]"].map(texOf)).toEqual(["x", "x", "x", "x"]);
});

describe("MathML", () => {
  const html = (tex: string, display = false) => {
    const node = mathml(tex, display);
    return node === null ? null : renderToStaticMarkup(node);
  };

  it("is drawn by React's elements", () => {
    expect(html("\\frac{a}{b}")).toMatch(/<math><mfrac>.*<mi>a<\/mi>.*<\/mfrac>/);
    expect(html("x", true)).toContain('display="block"');
  });

  it("knows the usual constructs", () => {
    const formulas = [
      "\\int_0^\\infty e^{-x^2}\\,dx = \\frac{\\sqrt{\\pi}}{2}", "\\sum_{i=1}^{n} i", "\\begin{pmatrix} a & b \\\\ c & d \\end{pmatrix}",
      "\\begin{aligned} a &= b \\\\ &= c \\end{aligned}", "\\begin{cases} 1 & x > 0 \\\\ 0 & \\text{else} \\end{cases}", "\\vec{v} \\cdot \\hat{n}",
      "\\mathbb{R}^n, \\mathcal{L}, \\mathbf{A}, \\operatorname{rank}", "\\left( \\frac{1}{2} \\right)", "\\overbrace{a+b}^{c}", "\\lim_{x \\to 0} \\sin x",
      "\\boxed{x}", "\\cancel{x}", "\\color{red} x", "{}^{14}_{6}C", "\\binom{n}{k}", "f'(x)", "\\overline{ab}", "a \\bmod b", "\\tag{1} x", "\\pmb{x}",
    ];
    expect(formulas.filter((tex) => html(tex, true) === null)).toEqual([]);
  });

  it("leaves a bad formula to its source", () => {
    for (const tex of ["\\frac{a", "\\unknowncommand x", "}", "\\def\\a{\\a\\a}\\a", "x".repeat(10) + "{".repeat(20_000)]) expect(html(tex)).toBeNull();
  });

  it("loads nothing, links to nothing, and names nothing", () => {
    const hostile = [
      "\\href{javascript:alert(1)}{x}", "\\url{https://evil.test}", "\\includegraphics{https://evil.test/x.png}", "\\class{banner}{x}",
      "\\id{composer}{x}", "\\style{position:fixed}{x}", "\\data{a=b}{x}", "\\htmlId{composer}{x}", "\\ref{composer}", "\\label{composer} x", "\\text{<img src=x onerror=alert(1)>}",
      "\\color{url(https://evil.test)} x",
    ];
    for (const tex of hostile) {
      const shown = html(tex) ?? "";
      expect(shown).not.toMatch(/href|<img|<a |id=|position|url\(|onerror=["']|data-|class="banner/);
    }
  });

  it("has a label without a name in the document", () => {
    const shown = html("x \\tag{1} \\label{composer}", true);
    expect(shown).toContain("(1)");
    expect(shown).not.toContain("composer");
  });

  it("draws no element that is not on the list", () => {
    expect(() => drawnTree({ type: "maction", attributes: {}, children: [] }, 0)).toThrow("maction");
    expect(() => drawnTree({ type: "mrow", attributes: {}, children: [] }, 0)).not.toThrow();
  });

  it("stays within its place", () => {
    expect(html("\\rule{9999em}{9999em}")).not.toContain("9999");
  });
});

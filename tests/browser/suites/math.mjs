// Formulas: drawn as MathML, live and stored, within the page's policy.

import { assert, assertEqual, byId, check, env, fakeLlm, quiet, send, settled, shot, storedChat, storedTurn, visit } from "../harness.mjs";
import { clean } from "./access.mjs";

const ANSWER = "The root of $x^2 = 2$ is \\(\\sqrt{2}\\):\n\n$$\n\\int_0^1 x\\,dx\n= \\frac{1}{2}\n$$\n\nIt costs $5 and $10. Bad: $\\frac{a$.\n\n```\n$code$\n```";

export async function math(browser) {
  const llm = fakeLlm();
  const { page, context, notes } = await visit(browser, env("ESPALIER_URL"));
  const answer = byId(page, "message-assistant").last();
  const seen = () =>
    byId(answer, "formula").evaluateAll((all) => all.map((each) => `${each.dataset.display} ${each.firstElementChild.namespaceURI.split("/").at(-1)} ${each.textContent}`));

  await check("formulas are drawn as MathML, prices and code stay text, and a bad formula its source", async () => {
    await llm.script("", [{ text: ANSWER.match(/[^]{1,7}/g) }]);
    await send(page, llm.says("Explain"));
    await settled(page);
    await byId(answer, "formula").nth(2).waitFor();
    assertEqual((await seen()).map((words) => words.split(" ").slice(0, 2)), [["false", "MathML"], ["false", "MathML"], ["true", "MathML"]], "the formulas");
    assertEqual(await byId(answer, "formula-source").allInnerTexts(), ["$\\frac{a$"], "the formula that stays source");
    const words = await answer.innerText();
    for (const text of ["$5 and $10", "$\\frac{a$", "$code$"]) assert(words.includes(text), words);
    await shot(page, "math");
  });

  await check("the same after a reload", async () => {
    const live = await seen();
    await page.reload();
    await settled(page);
    await byId(answer, "formula").nth(2).waitFor();
    assertEqual(await seen(), live, "the formulas");
  });

  await check("no source of a formula is seen while it streams", async () => {
    await page.evaluate(() => {
      globalThis.sources = [];
      new MutationObserver(() => {
        const drawn = [...document.querySelectorAll('[data-testid="message-assistant"] .prose')].at(-1)?.innerText ?? "";
        if (/\\(int|sqrt)|\$x/.test(drawn)) globalThis.sources.push(drawn);
      }).observe(document.body, { subtree: true, childList: true, characterData: true });
    });
    await llm.script("slow", [{ text: ANSWER.slice(0, ANSWER.indexOf("It costs")).match(/[^]{1,3}/g) }]);
    await send(page, llm.says("Again", "slow"));
    await settled(page);
    assertEqual(await page.evaluate(() => globalThis.sources), [], "sources on screen");
  });
  await clean(page, "formulas");

  await check("a wide formula scrolls inside itself", async () => {
    await page.setViewportSize({ width: 390, height: 780 });
    await storedChat(page, env("ESPALIER_URL"), storedTurn("Wide", `$$${"x_1 + ".repeat(60)}y$$\n\nand $${"x_1 + ".repeat(60)}y$`));
    await byId(page, "formula").nth(1).waitFor();
    const drawn = await page.evaluate(() => document.documentElement.scrollWidth);
    assert(drawn <= 390, `the page is ${drawn} of 390 pixels wide`);
  });
  await quiet("formulas", notes);
  await context.close();
}

// Formulas: drawn as MathML, live and stored, within the page's policy.

import { assert, assertEqual, byId, check, env, fakeLlm, quiet, send, settled, shot, storedChat, storedTurn, visit } from "../harness.mjs";
import { clean } from "./access.mjs";

const ANSWER = "The root of $x^2 = 2$ is \\(\\sqrt{2}\\):\n\n$$\n\\int_0^1 x\\,dx\n= \\frac{1}{2}\n$$\n\nIt costs $5 and $10. Bad: $\\frac{a$.\n\n```\n$code$\n```";

/** From `globalThis.lastPiece` on, the page gets the rest of its turn's stream in one piece, when the stream has ended. */
async function oneLastPiece(page) {
  await page.evaluate(() => {
    const { fetch } = globalThis;
    globalThis.fetch = async (address, init) => {
      const response = await fetch(address, init);
      if (!response.body || new URL(address, location.href).pathname !== "/api/chat") return response;
      const rest = [];
      const pieces = new TransformStream({
        transform: (piece, stream) => (globalThis.lastPiece ? rest.push(piece) : stream.enqueue(piece)),
        flush: async (stream) => stream.enqueue(new Uint8Array(await new Blob(rest).arrayBuffer())),
      });
      return new Response(response.body.pipeThrough(pieces), response);
    };
  });
}

/** A turn whose last words reach the page together with its end. */
async function endsAtOnce(page, llm) {
  await check("nor when the end of the answer comes together with its last part", async () => {
    const answer = byId(page, "message-assistant").last();
    await oneLastPiece(page);
    const at = ANSWER.indexOf("\\frac{1}");
    const [begun, rest] = [ANSWER.slice(0, at), ANSWER.slice(at, ANSWER.indexOf("It costs"))];
    await llm.script("late", [{ text: [begun, rest], barrier: { name: llm.barrier("late"), after: 1 } }]);
    await send(page, llm.says("Once more", "late"));
    await byId(answer, "formula").nth(1).waitFor();
    await page.evaluate(() => (globalThis.lastPiece = true));
    await llm.release("late");
    await settled(page);
    await byId(answer, "formula").nth(2).waitFor();
    assertEqual(await page.evaluate(() => globalThis.sources), [], "sources on screen");
  });
}

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
    // Issue 53, fault 17
    await page.waitForFunction(() => [...document.fonts].some(({ family, status }) => family.includes("Espalier Math") && status === "loaded"));
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

  await endsAtOnce(page, llm);
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

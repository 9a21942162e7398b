// A line that is cut several times during a turn.

import { assert, assertEqual, byId, cards, check, cuttableLine, env, fakeLlm, openAll, send, settled, visit } from "../harness.mjs";

const CUTS = 5;

export async function lines(browser) {
  const llm = fakeLlm();
  const words = Array.from({ length: CUTS + 1 }, (_, index) => `word${index} `);
  await llm.script("", [{ calls: [llm.subtask("Look it up", "a")] }, { text: words, barrier: words.slice(1).map((_, index) => ({ name: llm.barrier(`w${index}`), after: index + 1 })) }]);
  await llm.script("a", [{ calls: [{ name: "calculate", arguments: { expression: "2+3" } }] }, { text: "Five." }]);
  const line = await cuttableLine(env("ESPALIER_URL"));
  const { page, context, notes } = await visit(browser, line.url);

  await check(`a line that is cut ${CUTS} times in a turn ends in the same view, and no message is sent twice`, async () => {
    await send(page, llm.says("Go through the tunnels"));
    const answer = byId(page, "message-assistant");
    for (let cut = 0; cut < CUTS; cut += 1) {
      await answer.filter({ hasText: words[cut].trim() }).waitFor();
      const again = page.waitForRequest("**/stream");
      line.cut();
      await again;
      await llm.release(`w${cut}`);
    }
    await settled(page);
    await openAll(page);
    const live = [await cards(page), await answer.locator(".prose").last().innerText(), await answer.locator(".answer-footer").innerText()];
    assertEqual(live[1].trim(), words.join("").trim(), "the answer");
    assertEqual(notes.chats.length, 1, "requests that start a turn");
    await page.reload();
    await settled(page);
    await openAll(page);
    const stored = [await cards(page), await answer.locator(".prose").last().innerText(), await answer.locator(".answer-footer").innerText()];
    assertEqual(stored, live, "the view after a reload");
    assert(live[0].length === 2 && live[0].every((card) => card.status === "done"), JSON.stringify(live[0]));
  });
  await context.close();
  line.close();
}

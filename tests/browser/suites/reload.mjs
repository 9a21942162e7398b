// A turn of each shape, before and after a reload: the answer is the one that the reader saw.

import { assert, assertEqual, byId, check, env, fakeLlm, openAll, quiet, send, settled, visit } from "../harness.mjs";
import { bringTool, erase } from "./approvals.mjs";
import { choose, makesPlan, planned, STEPS } from "./plans.mjs";

const calculate = (expression) => ({ name: "calculate", arguments: { expression } });

/** The last answer with all its cards and details open: its text, and its parts in order with their cards. */
async function shown(page) {
  await openAll(page);
  const answer = byId(page, "message-assistant").last();
  for (;;) {
    const closed = answer.locator('.disclosure-toggle[aria-expanded="false"]').first();
    if ((await closed.count()) === 0) break;
    await closed.click();
  }
  const parts = await answer.evaluate((root) =>
    [...root.querySelectorAll('[data-testid="tool-card"], .disclosure, .prose')].map((element) => {
      const card = element.parentElement.closest('[data-testid="tool-card"]');
      const words = element.dataset.toolName ?? element.innerText;
      return `${card?.dataset.toolCallId ?? "root"} ${element.className} ${element.dataset.status ?? ""} ${words}`;
    }),
  );
  return { text: await answer.innerText(), parts };
}

/** Compares the answer with the same after a reload. It has `words` in this order. `drawn`: an element of the code that
    draws it, which the page loads when it needs it. */
async function survives(page, words, drawn = "message-assistant") {
  await settled(page);
  await byId(page, drawn).last().waitFor();
  const before = await shown(page);
  let at = 0;
  for (const word of words) {
    const found = before.text.indexOf(word, at);
    assert(found >= 0, `${word} is not seen after ${at}:\n${before.text}`);
    at = found + word.length;
  }
  await page.reload();
  await settled(page);
  await byId(page, drawn).last().waitFor();
  const after = await shown(page);
  assertEqual(after.parts, before.parts, "the parts after the reload");
  assertEqual(after.text, before.text, "the text after the reload");
}

export async function reload(browser) {
  const { page, context, notes } = await visit(browser, env("ESPALIER_URL"));
  await answers(page);
  await stops(page);
  await quiet("reloaded turns", notes);
  await context.close();
  await plan(browser);
  await approval(browser);
}

/** Turns that come to their end. */
async function answers(page) {
  const llm = fakeLlm();
  await llm.script("", [{ reasoning: ["A greeting ", "is due."], text: ["Hello", " there."] }]);
  await check("reasoning", async () => {
    await send(page, llm.says("Greet me"));
    await survives(page, ["A greeting is due.", "Hello there."]);
  });

  const tools = fakeLlm();
  await tools.script("", [
    { reasoning: ["Numbers."], text: "First I add.", calls: [calculate("1+1"), calculate("2+2")] },
    { reasoning: ["More numbers."], text: "Then I multiply.", calls: [calculate("3*3")] },
    { text: "All is counted." },
  ]);
  await check("text before tools", async () => {
    await send(page, tools.says("Count"));
    await survives(page, ["Numbers.", "First I add.", "1+1", "2+2", "More numbers.", "Then I multiply.", "3*3", "All is counted."]);
  });

  const nested = fakeLlm();
  const long = `${"The route leads over the hills and along the river. ".repeat(20)}It is long.`;
  await nested.script("", [
    { text: "I ask two others.", calls: [nested.subtask("Plan the trip", "a"), nested.subtask("Book it", "b")] },
    { text: "All set." },
  ]);
  await nested.script("a", [
    { reasoning: ["Which way?"], text: "I look at the map.", calls: [nested.subtask("Find a route", "a/c")] },
    { text: long },
  ]);
  await nested.script("a/c", [{ text: "I measure.", calls: [calculate("120/60")] }, { text: "Two hours." }]);
  await nested.script("b", [{ reasoning: ["By phone."], calls: [calculate("1/0")] }, { text: "Booked." }]);
  await check("nested levels", async () => {
    await send(page, nested.says("Organize my trip"));
    await survives(page, ["I ask two others.", "Which way?", "I look at the map.", "I measure.", "Two hours.", "It is long.", "By phone.", "Booked.", "All set."]);
  });
}

/** Turns that do not. */
async function stops(page) {
  const failed = fakeLlm();
  await failed.script("", [{ text: "I begin.", calls: [calculate("5+5")] }, { reasoning: ["Oh."], text: "And now", overloaded: true }]);
  await check("a turn that fails", async () => {
    await send(page, failed.says("Fail halfway"));
    await byId(page, "turn-error").waitFor();
    await survives(page, ["I begin.", "5+5", "Oh.", "And now"]);
  });

  const stopped = fakeLlm();
  await stopped.script("", [{ reasoning: ["On it."], text: "I ask.", calls: [stopped.subtask("Wait", "a")] }]);
  await stopped.script("a", [{ reasoning: ["Slowly."], text: "I shall go on and on", hang: true }]);
  await check("a turn that is stopped", async () => {
    await send(page, stopped.says("Never stop"));
    await byId(page, "message-assistant").last().filter({ hasText: "on and on" }).waitFor();
    await byId(page, "stop").click();
    await page.locator('[data-testid="turn-error"][data-code="cancelled"]').waitFor();
    await survives(page, ["On it.", "I ask.", "Slowly.", "I shall go on and on"]);
  });
}

async function plan(browser) {
  const llm = fakeLlm();
  await llm.script("", [{ reasoning: ["A plan."], text: "I make a plan.", calls: [makesPlan(llm, "auto_execute")] }, { text: "Your pear is tied." }]);
  await llm.script("plan", [planned(llm, STEPS)]);
  await llm.script("measure", [{ reasoning: ["With a tape."], text: "I measure.", calls: [calculate("4*2")] }, { text: "Eight metres." }]);
  await llm.script("buy", [{ text: "Twenty metres of wire." }]);
  await llm.script("tie", [{ calls: [calculate("1/0")] }, { text: "Tied." }]);
  const { page, context, notes } = await visit(browser, env("ESPALIER_URL"));
  await check("a plan", async () => {
    await choose(page, "general");
    await send(page, llm.says("Train a pear"));
    await survives(page, ["A plan.", "I make a plan.", "Your pear is tied."], "plan");
  });
  await quiet("a reloaded plan", notes);
  await context.close();
}

async function approval(browser) {
  const llm = fakeLlm();
  await llm.script("", [{ text: "May I?", calls: [llm.subtask("Tidy up", "a")] }, { text: "All tidy." }]);
  await llm.script("a", [{ reasoning: ["Better ask."], calls: [erase("the first line")] }, { text: "Tidied." }]);
  const { page, context, notes } = await visit(browser, env("ESPALIER_URL"));
  await bringTool(page);
  await check("a call that was not allowed", async () => {
    await send(page, llm.says("Tidy up"));
    await byId(page, "approval").waitFor();
    await byId(page, "approval").getByRole("button", { name: "Deny" }).click();
    await survives(page, ["May I?", "Better ask.", "Tidied.", "All tidy."]);
  });
  await quiet("a reloaded approval", notes);
  await context.close();
}

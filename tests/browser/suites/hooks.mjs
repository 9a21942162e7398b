// Hooks: their cards in an answer, live, after a reload and in an export, and their part of the panel of agents.

import { assertEqual, byId, cards, check, env, exported, fakeLlm, openAll, quiet, send, settled, shot, visit } from "../harness.mjs";

/** Puts a hook of the chat that is open, as the reader. */
const put = (page, name, hook) =>
  page.evaluate(
    async ([name, hook]) => {
      const thread = new URLSearchParams(location.search).get("thread");
      const headers = { "content-type": "application/json" };
      const reply = await fetch(`/api/threads/${thread}/hooks/${name}`, { method: "PUT", headers, body: JSON.stringify(hook) });
      if (reply.status !== 200) throw new Error(await reply.text());
    },
    [name, hook],
  );

const verdict = (decision, text) => [{ calls: [{ name: "finish_subtask", arguments: { decision, text } }] }];

// Issue 20, sections 3 and 5. A-013 A-014 A-110
// Long: one visit, whose checks follow each other.
export async function hooks(browser) {
  const llm = fakeLlm();
  const { page, context, notes } = await visit(browser, env("ESPALIER_URL"));
  const head = (name) => page.locator(`[data-testid="tool-card"][data-tool-name="${name}"] > [data-testid="tool-card-toggle"]`);

  await check("a hook that blocks a call stands beside it, with its verdict and its cost", async () => {
    await llm.script("before", [{ text: "Yes?" }]);
    await send(page, llm.says("Hello", "before"));
    await settled(page);
    await put(page, "sums", { on: "action", match: ["calculate"], instructions: "No sums." });
    await put(page, "reader", { on: "result", match: ["memory_list"], instructions: "Say what is missing." });
    const sum = { name: "calculate", arguments: { expression: llm.says("1+1 #", "judge") } };
    const list = { name: "memory_list", arguments: { why: llm.says("", "reads") } };
    await llm.script("", [{ calls: [sum] }, { calls: [list] }, { text: "Enough." }]);
    await llm.script("judge", verdict("block", "no sums here"));
    await llm.script("reads", verdict("comment", "The list is empty."));
    await send(page, llm.says("Count"));
    await settled(page);
    await byId(page, "expand-all").last().click();
    await head("sums").filter({ hasText: "Hook sums" }).waitFor();
    await head("reader").filter({ hasText: "Hook reader" }).waitFor();
    await openAll(page);
    const said = byId(page, "hook-verdict");
    assertEqual(await said.allInnerTexts(), ["blocked it", "commented"], "the verdicts");
    for (const words of ["no sums here", "The list is empty.", "blocked by hook sums: no sums here"]) {
      await byId(page, "tool-card").filter({ hasText: words }).first().waitFor();
    }
    const shares = page.locator('[data-testid="tool-card"][data-tool-name="sums"] [data-testid="share"]');
    await shares.filter({ hasText: /^1 model call · / }).waitFor();
    await shot(page, "hooks");
  });

  const live = await cards(page);
  await check("the cards of hooks are there after a reload", async () => {
    await page.reload();
    await settled(page);
    await byId(page, "expand-all").last().click();
    await openAll(page);
    const told = (all) => all.map(({ name, depth, status, parent }) => ({ name, depth, status, parent }));
    assertEqual(told(await cards(page)), told(live), "the cards");
    assertEqual(await byId(page, "hook-verdict").allInnerTexts(), ["blocked it", "commented"], "the verdicts");
  });

  await check("an exported chat has its hooks", async () => {
    const { hooks } = await exported(page);
    assertEqual(hooks.map(({ name }) => name), ["sums", "reader"], "the hooks");
  });

  const row = (name) => page.locator(`[data-testid="hook"][data-hook="${name}"]`);
  await check("a hook is added in the panel, by the keyboard, and what is refused stands at its control", async () => {
    await byId(page, "agents-toggle").click();
    await row("sums").filter({ hasText: "A model judges · before a call" }).waitFor();
    await row("reader").filter({ hasText: "A model judges · after results of calls" }).waitFor();
    await byId(page, "hook-add").focus();
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => document.activeElement?.dataset.testid === "hook-name");
    await page.keyboard.type("sums");
    await byId(page, "hook-builtin").selectOption("loop_guard");
    await byId(page, "hook-save").click();
    await page.getByRole("alert").filter({ hasText: "There is a hook sums in this chat." }).waitFor();
    await page.waitForFunction(() => document.activeElement?.dataset.testid === "hook-name");
    await byId(page, "hook-name").fill("again");
    await byId(page, "hook-options.times").fill("many");
    await page.keyboard.press("Enter");
    await page.getByRole("alert").filter({ hasText: "expected a number from 1 to" }).waitFor();
    await page.waitForFunction(() => document.activeElement?.dataset.testid === "hook-options.times");
    await shot(page, "hooks-refused");
    await byId(page, "hook-options.times").fill("2");
    await page.keyboard.press("Enter");
    await row("again").filter({ hasText: "loop_guard · before a call" }).waitFor();
    await page.waitForFunction(() => document.activeElement?.dataset.testid === "hook-add");
  });

  await check("a hook is changed and deleted in the panel, also for a reload", async () => {
    await byId(row("again"), "hook-edit").click();
    await byId(page, "hook-of").selectOption("main");
    await byId(page, "hook-options.times").press("Escape");
    await row("again").filter({ hasNotText: "only the main agent" }).waitFor();
    await page.waitForFunction(() => document.activeElement?.dataset.testid === "hook-edit");
    await byId(row("again"), "hook-edit").click();
    assertEqual(await byId(page, "hook-options.times").inputValue(), "2", "the option");
    await byId(page, "hook-of").selectOption("main");
    await byId(page, "hook-save").click();
    // The form has these words as well.
    await byId(row("again"), "hook-edit").filter({ hasText: "only the main agent" }).waitFor();
    await byId(row("reader"), "hook-delete").click();
    await page.getByRole("group", { name: "Delete reader?" }).waitFor();
    await page.keyboard.press("Enter");
    await row("reader").waitFor({ state: "detached" });
    await page.reload();
    await settled(page);
    await byId(page, "agents-toggle").click();
    await row("again").filter({ hasText: "only the main agent" }).waitFor();
    const names = await byId(page, "hook").evaluateAll((all) => all.map(({ dataset }) => dataset.hook));
    assertEqual(names, ["sums", "again"], "the hooks after a reload");
  });

  // The browser itself tells of the refused option.
  await quiet("hooks", { ...notes, complaints: notes.complaints.filter((words) => !/status of 400/.test(words)) });
  await context.close();
}

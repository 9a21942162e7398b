// An answer that asks before it crosses a limit: the reader allows more, or ends it there. Issue 19, 4.

import { assert, assertEqual, byId, check, env, fakeLlm, quiet, send, settled, shot, visit } from "../harness.mjs";
import { clean } from "./access.mjs";

/** Sends the page's messages to the context whose turns have four tool calls and ask for more. */
const inContext = (page) =>
  page.route("**/api/chat", (route) => {
    const body = JSON.parse(route.request().postData());
    return route.continue({ postData: JSON.stringify({ ...body, chat_context: { context_type: "project_audit" } }) });
  });

const times = (count) => Array.from({ length: count }, () => ({ name: "current_time", arguments: {} }));

// Long: one visit, whose checks follow each other.
export async function limits(browser) {
  const { page, context, notes } = await visit(browser, env("ESPALIER_URL"));
  await inContext(page);
  const asked = byId(page, "limit-request");
  const answer = byId(page, "message-assistant").last();
  const llm = fakeLlm();

  await check("an answer at its limit asks in plain words, and waits", async () => {
    await llm.script("", [{ calls: [llm.subtask("Count on", "a")] }, { text: "All counted." }]);
    await llm.script("a", [{ calls: times(3) }, { calls: times(1) }, { text: "Counted." }]);
    await send(page, llm.says("Count the hours"));
    await asked.filter({ hasText: "Allow more than 4 tool calls?" }).waitFor();
    await asked.filter({ hasText: "Used so far: 3 model calls, 4 tool calls, 1 subtask, 45 tokens." }).waitFor();
    await asked.filter({ hasText: "the same budget once more: up to 8 tool calls. You can allow this 3 times." }).waitFor();
    await byId(asked, "approval-left").filter({ hasText: /^\d+ \w+ left to decide\.$/ }).waitFor();
    assertEqual(await asked.locator("button").allInnerTexts(), ["Allow more", "End here"], "the buttons");
    await byId(page, "announcer").filter({ hasText: "Allow more than 4 tool calls? The answer is paused until you decide." }).waitFor({ state: "attached" });
    await page.locator('[data-testid="status-chip"][data-state="waiting"]').waitFor();
    await shot(page, "limit-request");
  });
  await clean(page, "a question at a limit");

  await check("the question stands after a reload, and Allow goes on, by keyboard", async () => {
    await page.reload();
    await asked.filter({ hasText: "Allow more than 4 tool calls?" }).waitFor();
    await asked.getByRole("button", { name: "Allow more" }).focus();
    await page.keyboard.press("Enter");
    await answer.filter({ hasText: "All counted." }).waitFor();
    await settled(page);
    assertEqual(await asked.count(), 0, "the questions");
    assertEqual(await byId(page, "turn-error").count(), 0, "a granted answer is whole");
  });

  await check("a decision stands while the answer runs on, and its limits count", async () => {
    await llm.script("more", [{ calls: times(5) }, { text: ["Five, ", "in all."], barrier: { name: llm.barrier("hold"), after: 1 } }]);
    await send(page, llm.says("Count five", "more"));
    await asked.getByRole("button", { name: "Allow more" }).click();
    await byId(page, "limit-decided").filter({ hasText: "More was allowed: up to 8 tool calls." }).waitFor();
    await byId(page, "status-chip").click();
    await byId(page, "status-details").filter({ hasText: /Tool calls\s*5 of 8/ }).waitFor();
    await page.keyboard.press("Escape");
    await llm.release("hold");
    await settled(page);
    assertEqual(await byId(page, "limit-decided").count(), 0, "the decisions of an answer that is over");
  });

  await check("End here ends the answer as its limit does, and it can be continued", async () => {
    await llm.script("end", [{ calls: times(5) }, { text: ["The service writes this."] }, { text: ["And five."] }]);
    await send(page, llm.says("Count again", "end"));
    await asked.getByRole("button", { name: "End here" }).click();
    const notice = page.locator('[data-testid="turn-error"][data-code="budget_exceeded"]').last();
    const words = "This answer reached its limit of 4 tool calls. Finished work is kept.";
    await notice.filter({ hasText: words }).waitFor();
    await settled(page);
    await page.reload();
    await notice.filter({ hasText: words }).waitFor();
    assertEqual(await asked.count(), 0, "the questions");
    assertEqual(await byId(page, "continue").count(), 1, "the buttons to continue");
    assert((await answer.innerText()).includes("4 tool calls"), "the use of the answer");
  });
  await quiet("limits", notes);
  await context.close();
}

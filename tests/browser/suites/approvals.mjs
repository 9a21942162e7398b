// Calls that wait for the reader's decision, also after a reload and by keyboard.

import { assert, assertEqual, byId, cards, check, env, fakeLlm, openAll, quiet, send, settled, shot, visit } from "../harness.mjs";
import { clean } from "./access.mjs";

/** A tool that needs an approval. This test is its client. */
const ERASE = {
  name: "ui_erase",
  description: "Erases text.",
  input_schema: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
};

export const erase = (text) => ({ name: "ui_erase", arguments: { text } });

/** Adds that tool to the page's messages. */
export function bringTool(page) {
  return page.route("**/api/chat", (route) => {
    const body = JSON.parse(route.request().postData());
    const brought = { ...body, chat_context: { kind: "editor" }, client_tools: [ERASE] };
    return route.continue({ postData: JSON.stringify(brought) });
  });
}

/** Makes the page count its open event streams, until it is reloaded. */
const countStreams = (page) =>
  page.evaluate(() => {
    const plain = window.fetch;
    window.openStreams = 0;
    window.fetch = async (...request) => {
      const answer = await plain(...request);
      if (!answer.headers.get("content-type")?.startsWith("text/event-stream")) return answer;
      window.openStreams += 1;
      const counted = new TransformStream({ flush: () => void (window.openStreams -= 1) });
      return new Response(answer.body.pipeThrough(counted), answer);
    };
  });

const hasStreams = (page, count) => page.waitForFunction((count) => window.openStreams === count, count);

// N-107 N-108
// Long: one visit, whose checks follow each other.
export async function approvals(browser) {
  const llm = fakeLlm();
  const { page, context, notes } = await visit(browser, env("ESPALIER_URL"));
  await bringTool(page);
  const asked = byId(page, "approval");
  const decided = byId(page, "approval-decided");
  const waits = () => page.locator('[data-testid="status-chip"][data-state="waiting"]').waitFor();

  await check("a call that needs an approval asks, and the turn waits", async () => {
    await llm.script("", [{ calls: [llm.subtask("Tidy up", "a")] }, { text: "All tidy." }]);
    await llm.script("a", [{ calls: [erase("the first line")] }, { text: "Tidied." }]);
    await countStreams(page);
    await send(page, llm.says("Tidy up"));
    await asked.filter({ hasText: "Allow ui_erase to run?" }).filter({ hasText: "the first line" }).waitFor();
    await byId(asked, "approval-effect").filter({ hasText: "It will run in the app that you have connected, and may change the document that is open there." }).waitFor();
    await byId(asked, "approval-left").filter({ hasText: /^\d+ \w+ left to decide\.$/ }).waitFor();
    assertEqual(await asked.locator(".primary-button").allInnerTexts(), ["Allow once"], "the primary button");
    await hasStreams(page, 1);
    await waits();
    await byId(page, "announcer").filter({ hasText: "Allow ui_erase to run?" }).waitFor({ state: "attached" });
    await shot(page, "approval");
  });

  await check("a waiting turn has no open stream, and the page stays connected", async () => {
    await hasStreams(page, 0);
    await waits();
    assertEqual(await asked.count(), 1, "the questions");
  });

  await check("a call that waits asks again after a reload", async () => {
    await page.reload();
    await asked.filter({ hasText: "the first line" }).waitFor();
    await waits();
    assertEqual(await asked.count(), 1, "the questions");
  });

  await check("a call can be allowed with the keyboard, and shows the decision, also after a reload", async () => {
    await asked.getByRole("button", { name: "Allow once" }).focus();
    await page.keyboard.press("Enter");
    await decided.filter({ hasText: "ui_erase was allowed once." }).waitFor();
    assertEqual(await asked.count(), 0, "the questions");
    await page.waitForFunction(() => document.activeElement?.id === "composer");
    await waits();
    await page.reload();
    await decided.filter({ hasText: "ui_erase was allowed once." }).waitFor();
    assertEqual(await asked.count(), 0, "the questions after the reload");
  });

  await check("the turn goes on with the client's answer", async () => {
    await byId(page, "expand-all").click();
    const call = page.locator('[data-testid="tool-card"][data-tool-name="ui_erase"]');
    const tool_call_id = await call.getAttribute("data-tool-call-id");
    const thread = new URL(page.url()).searchParams.get("thread");
    await page.evaluate(
      async ([path, body]) => {
        const headers = { "content-type": "application/json" };
        const answer = await fetch(path, { method: "POST", headers, body: JSON.stringify(body) });
        if (!answer.ok) throw new Error(await answer.text());
        // The page does not hear from this client. It asks when the reader comes back to the tab.
        document.dispatchEvent(new Event("visibilitychange"));
      },
      [`/api/threads/${thread}/tool_results`, { tool_call_id, result: "erased" }],
    );
    await byId(page, "message-assistant").filter({ hasText: "All tidy." }).waitFor();
    await settled(page);
    assertEqual(await decided.count(), 0, "a turn that is over has its cards for that");
    await openAll(page);
    const live = await cards(page);
    await page.reload();
    await settled(page);
    await openAll(page);
    assertEqual(await cards(page), live, "the cards after a reload");
    await byId(page, "decision").filter({ hasText: "You allowed this call once." }).waitFor();
  });

  await check("a denied call does not run, and its card shows the decision", async () => {
    await llm.script("no", [{ calls: [erase("everything")] }, { text: "Then not." }]);
    await send(page, llm.says("Erase all", "no"));
    await asked.getByRole("button", { name: "Deny" }).click();
    await byId(page, "message-assistant").last().filter({ hasText: "Then not." }).waitFor();
    await settled(page);
    await openAll(page);
    const last = (await cards(page)).at(-1);
    assertEqual([last.name, last.status], ["ui_erase", "error"], "the card");
    const words = await page.locator(`[data-tool-call-id="${last.id}"]`).innerText();
    assert(words.includes("You did not allow this call. It did not run."), words);
    const denied = page.locator('[data-tool-name="ui_erase"] [data-mark="denied"]');
    assertEqual(await denied.count(), 1, "the mark of a denial");
    await page.reload();
    await settled(page);
    await openAll(page);
    assertEqual(await denied.count(), 1, "the mark of a denial after a reload");
  });

  // Issue 53, fault 3
  await check("words deny a call, after the composer has said so, and the model is told why", async () => {
    await llm.script("why", [{ calls: [erase("everything")] }, { text: "The other one, then." }]);
    await send(page, llm.says("Erase all", "why"));
    const bar = byId(page, "asked-bar");
    await bar.filter({ hasText: "What you send now denies ui_erase, and tells the model why." }).waitFor();
    await clean(page, "words that deny a call");
    await byId(page, "composer").fill("x".repeat(2_001));
    await bar.filter({ hasText: "This is too long for a reason." }).waitFor();
    assertEqual(await byId(page, "deny").isEnabled(), false, "the button of a reason that is too long");
    await byId(page, "composer").fill("Use the <other> line instead");
    assertEqual(await byId(page, "deny").innerText(), "Deny with these words", "the button");
    await page.keyboard.press("Enter");
    await byId(page, "message-assistant").last().filter({ hasText: "The other one, then." }).waitFor();
    await settled(page);
    assertEqual(await byId(page, "composer").inputValue(), "", "the draft");
    for (const moment of ["live", "after a reload"]) {
      await openAll(page);
      await byId(page, "denied-reason").last().filter({ hasText: "You said: Use the <other> line instead" }).waitFor();
      if (moment === "live") await page.reload();
      await settled(page);
    }
  });

  await check("words can wait for the answer instead, and the call be allowed beside them", async () => {
    await llm.script("wait", [{ calls: [erase("a line")] }, { text: "Then not." }]);
    await llm.script("next", [{ text: "Next." }]);
    await send(page, llm.says("Erase it", "wait"));
    await byId(page, "asked-bar").waitFor();
    await byId(page, "composer").fill(llm.says("And then", "next"));
    await byId(page, "asked-queue").click();
    await byId(page, "queued-message").waitFor();
    await asked.getByRole("button", { name: "Deny" }).click();
    await byId(page, "message-assistant").last().filter({ hasText: "Next." }).waitFor();
    await settled(page);
  });

  await check("invisible characters are written out", async () => {
    await llm.script("hidden", [{ calls: [erase("harm\u202eless")] }, { text: "Then not." }]);
    await send(page, llm.says("Erase it", "hidden"));
    await asked.filter({ hasText: "harm\\u{202e}less" }).waitFor();
    await asked.getByRole("button", { name: "Deny" }).click();
    await settled(page);
  });

  await check("tools allowed for the chat are listed, and ask again after the approval is withdrawn", async () => {
    const settings = async () => {
      await byId(page, "settings").click();
      await page.getByRole("button", { name: "Tools allowed in this chat" }).click();
    };
    await settings();
    await byId(page, "standing-approvals").filter({ hasText: "No tools are always allowed" }).waitFor();
    await page.keyboard.press("Escape");
    await llm.script("good", [{ calls: [erase("a line")] }]);
    await send(page, llm.says("Erase a line", "good"));
    await asked.getByRole("button", { name: "Allow in this chat" }).click();
    await decided.filter({ hasText: "was allowed in this chat." }).waitFor();
    await byId(page, "stop").click();
    await settled(page);
    await settings();
    const standing = byId(page, "standing-approval");
    await standing.filter({ hasText: "ui_erase" }).waitFor();
    await shot(page, "standing-approvals");
    await byId(page, "withdraw-approval").click();
    await byId(page, "standing-approvals").filter({ hasText: "No tools are always allowed" }).waitFor();
    await page.keyboard.press("Escape");
    await llm.script("again", [{ calls: [erase("another line")] }, { text: "Then not." }]);
    await send(page, llm.says("Erase another", "again"));
    await asked.filter({ hasText: "another line" }).waitFor();
    await asked.getByRole("button", { name: "Deny" }).click();
    await settled(page);
  });

  await check("a turn that waits can be stopped", async () => {
    await llm.script("stop", [{ calls: [erase("all")] }]);
    await countStreams(page);
    await send(page, llm.says("Erase", "stop"));
    await asked.waitFor();
    await hasStreams(page, 1);
    await hasStreams(page, 0);
    await waits();
    await byId(page, "stop").click();
    await page.locator('[data-testid="turn-error"][data-code="cancelled"]').waitFor();
    await settled(page);
    assertEqual(await asked.count(), 0, "the questions");
  });
  await quiet("approvals", notes);
  await context.close();
}

// Messages that the person writes while an answer is in progress, and notifications.
//
// Issue 19, item 5.

import { assert, assertEqual, byId, check, env, fakeLlm, quiet, send, settled, visit } from "../harness.mjs";
import { clean } from "./access.mjs";
import { bringTool, erase } from "./approvals.mjs";

const words = (page) => byId(page, "queued-message").locator(".queue-words p:first-child").allInnerTexts();
/** The questions, without the heading that only screen readers see. */
const asked = async (page) => (await byId(page, "message-user").allInnerTexts()).map((text) => text.replace(/^You\n/, ""));
/** Waits until the focus is there. */
const focused = (page, id) => page.waitForFunction((id) => document.activeElement?.dataset["testid"] === id, id);

/** A chat whose answer waits for an approval: its clock stands still, however slow the machine is. */
async function busy(browser) {
  const llm = fakeLlm();
  await llm.script("", [{ calls: [erase("the first line")] }, { text: "Done." }]);
  for (const path of ["a", "b", "c"]) await llm.script(path, [{ text: [`Answer ${path}.`] }]);
  const seen = await visit(browser, env("ESPALIER_URL"));
  await bringTool(seen.page);
  await send(seen.page, llm.says("Count"));
  await byId(seen.page, "approval").waitFor();
  return { llm, ...seen };
}

/** Types a message, and puts it behind the answer that waits: Enter would deny the call. */
async function write(page, text) {
  await byId(page, "composer").fill(text);
  await byId(page, "asked-queue").click();
}

export async function queue(browser) {
  const { llm, page, context, notes } = await busy(browser);
  const [a, b, c] = ["a", "b", "c"].map((path) => llm.says(`Say ${path}`, path));

  await check("messages are queued while an answer waits for its person", async () => {
    await write(page, a);
    await write(page, b);
    await byId(page, "queued-message").nth(1).waitFor();
    assertEqual(await words(page), [a, b], "the list");
    assertEqual(await byId(page, "composer").inputValue(), "", "the composer");
    await focused(page, "composer");
    assert(await byId(page, "stop").isVisible(), "the answer can be stopped");
  });
  await clean(page, "the queue");

  await check("the list is there after a reload, and in another tab", async () => {
    await page.reload();
    await byId(page, "queued-message").nth(1).waitFor();
    const other = await context.newPage();
    await other.goto(page.url());
    await byId(other, "queued-message").nth(1).waitFor();
    await byId(other, "queued-remove").nth(1).click();
    await byId(other, "queued-message").nth(1).waitFor({ state: "detached" });
    await byId(page, "queued-message").nth(1).waitFor({ state: "detached" });
    assertEqual(await words(page), [a], "the first tab");
    await other.close();
    await page.bringToFront();
  });

  await check("a message is edited in its place, with the keyboard", async () => {
    await byId(page, "queued-edit").click();
    await focused(page, "queued-text");
    await page.keyboard.press("Escape");
    await byId(page, "queued-edit").waitFor();
    await focused(page, "queued-edit");
    assert(await byId(page, "stop").isVisible(), "Escape stopped nothing");
    await page.keyboard.press("Enter");
    await byId(page, "queued-text").fill(c);
    await clean(page, "a queued message that is edited");
    await page.keyboard.press("Enter");
    await byId(page, "queued-edit").waitFor();
    assertEqual(await words(page), [c], "the words");
    await focused(page, "queued-edit");
  });

  await check("the next message is sent when the answer is complete, and an edit that comes too late is in the composer", async () => {
    await byId(page, "queued-edit").click();
    await byId(page, "queued-text").fill("Rather this");
    await byId(page, "approval").getByRole("button", { name: "Deny" }).click();
    await byId(page, "message-assistant").filter({ hasText: "Answer c." }).waitFor();
    await settled(page);
    assertEqual(await asked(page), [llm.says("Count"), c], "the questions");
    assertEqual(await byId(page, "queue").count(), 0, "the list");
    assertEqual(await byId(page, "composer").inputValue(), "Rather this", "the composer");
    await focused(page, "composer");
  });
  await quiet("the queue", notes);
  await context.close();
}

export async function sending(browser) {
  const llm = fakeLlm();
  await llm.script("", [{ text: ["Well, ", "done."], barrier: { name: llm.barrier("never"), after: 1 } }]);
  for (const path of ["a", "b", "c"]) await llm.script(path, [{ text: [`Answer ${path}.`] }]);
  const { page, context, notes } = await visit(browser, env("ESPALIER_URL"));
  await bringTool(page);
  const [a, b] = ["a", "b"].map((path) => llm.says(`Say ${path}`, path));

  await check("Enter queues a message while an answer is written, and “Send now” goes before it", async () => {
    await send(page, llm.says("Count"));
    await byId(page, "message-assistant").filter({ hasText: "Well," }).waitFor();
    await byId(page, "composer").fill(a);
    await page.keyboard.press("Enter");
    await byId(page, "queued-message").waitFor();
    await byId(page, "composer").fill(b);
    await byId(page, "send-now").click();
    await byId(page, "message-assistant").filter({ hasText: "Answer a." }).waitFor();
    await settled(page);
    assertEqual(await asked(page), [llm.says("Count"), b, a], "the questions");
    await page.locator("text=Replaced by a newer message.").first().waitFor();
  });

  await check("a stop holds the queue until the person resumes it", async () => {
    await llm.script("slow", [{ calls: [erase("the second line")] }]);
    await send(page, llm.says("Slowly", "slow"));
    await byId(page, "approval").waitFor();
    await write(page, llm.says("Say c", "c"));
    await byId(page, "queued-message").waitFor();
    await byId(page, "stop").click();
    await page.locator('[data-testid="queue"][data-held="true"]').waitFor();
    await clean(page, "a queue that is held");
    await page.reload();
    await byId(page, "queue-resume").click();
    await byId(page, "message-assistant").filter({ hasText: "Answer c." }).waitFor();
    await settled(page);
  });

  await check("after a sign-out the words of an edit are kept nowhere", async () => {
    await llm.script("last", [{ calls: [erase("the third line")] }]);
    await send(page, llm.says("Once more", "last"));
    await byId(page, "approval").waitFor();
    await write(page, "The next one");
    await byId(page, "queued-edit").click();
    await byId(page, "queued-text").fill("Half a thought");
    const other = await context.newPage();
    await other.goto(env("ESPALIER_URL"));
    await other.evaluate(() => new BroadcastChannel("espalier").postMessage({ what: "signed_out" }));
    await page.waitForURL(new URL("/", env("ESPALIER_URL")).href);
    await byId(page, "composer").waitFor();
    assertEqual(await page.evaluate(() => JSON.stringify(sessionStorage).includes("Half a thought")), false, "the edit");
  });
  await quiet("sending now", notes);
  await context.close();
}

/** A page whose notifications are recorded, and which can seem hidden. */
async function recorded(context) {
  await context.addInitScript(() => {
    globalThis.shown = [];
    globalThis.asked = 0;
    globalThis.Notification = class {
      static permission = sessionStorage.getItem("permission") ?? "default";
      static async requestPermission() {
        globalThis.asked += 1;
        this.permission = "granted";
        sessionStorage.setItem("permission", "granted");
      }
      constructor(title, { body }) {
        globalThis.shown.push({ title, body });
      }
      close() {}
    };
    globalThis.hide = (hidden) => {
      Object.defineProperty(document, "visibilityState", { configurable: true, get: () => (hidden ? "hidden" : "visible") });
      document.dispatchEvent(new Event("visibilitychange"));
    };
  });
}

export async function notified(browser) {
  const llm = fakeLlm();
  await llm.script("", [{ text: ["One ", "two."], barrier: { name: llm.barrier("hold"), after: 1 } }]);
  await llm.script("a", [{ text: ["Three ", "four."], barrier: { name: llm.barrier("again"), after: 1 } }]);
  const { page, context, notes } = await visit(browser, env("ESPALIER_URL"));
  await recorded(context);
  await page.reload();

  await check("the permission is asked at the click alone", async () => {
    await byId(page, "settings").click();
    await byId(page, "notifications").waitFor();
    assertEqual(await page.evaluate(() => globalThis.asked), 0, "before the click");
    await byId(page, "notifications").check();
    assertEqual(await page.evaluate(() => globalThis.asked), 1, "at the click");
    await clean(page, "the settings, with notifications");
    await page.keyboard.press("Escape");
  });

  await check("an answer that ends in a hidden tab is told once, by the chat's title", async () => {
    await send(page, llm.says("Count"));
    await byId(page, "message-assistant").filter({ hasText: "One" }).waitFor();
    await byId(page, "thread-item").filter({ hasText: "Count" }).waitFor();
    await page.evaluate(() => globalThis.hide(true));
    await llm.release("hold");
    await page.waitForFunction(() => globalThis.shown.length > 0);
    await page.evaluate(() => globalThis.hide(false));
    await settled(page);
    const [{ title, body }, ...others] = await page.evaluate(() => globalThis.shown);
    assert(title.startsWith("Count"), title);
    assertEqual([body, others], ["The answer is complete.", []], "the notification");
  });

  await check("an answer that the person sees end is not told", async () => {
    await send(page, llm.says("Go on", "a"));
    await byId(page, "message-assistant").filter({ hasText: "Three" }).waitFor();
    await llm.release("again");
    await settled(page);
    assertEqual(await page.evaluate(() => globalThis.shown.length), 1, "the notifications");
  });
  await quiet("notifications", notes);
  await context.close();
}

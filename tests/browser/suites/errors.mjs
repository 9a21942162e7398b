// Failures in human words, and how a person goes on from them.

import { alive, assert, assertEqual, byId, check, env, fakeLlm, send, settled, shot, visit } from "../harness.mjs";
import { clean } from "./access.mjs";

const problem = (status, code, headers = {}) => (route) =>
  route.fulfill({ status, headers, contentType: "application/problem+json", body: JSON.stringify({ status, code, detail: "too many requests of ip:198.51.100.1" }) });

// Long: one visit, whose checks follow each other.
export async function errors(browser) {
  const llm = fakeLlm();
  await llm.script("", [{ text: "Here I am." }]);
  const { page, context } = await visit(browser, env("ESPALIER_URL"));
  const banner = byId(page, "banner");
  const retry = byId(banner, "retry");

  await check("a refusal is told in plain words, and its wait is counted down", async () => {
    await page.route("**/api/chat", problem(429, "rate_limited", { "retry-after": "3" }));
    await send(page, llm.says("Are you there?"));
    await banner.filter({ hasText: "Too many requests in a short time." }).waitFor();
    assert(!(await banner.innerText()).includes("198.51.100.1"), "the service's words");
    assertEqual(await retry.isDisabled(), true, "the button waits");
    assert(/Try again in [123] s/.test(await retry.innerText()), await retry.innerText());
    await shot(page, "retry");
    await clean(page, "a refusal with its wait");
    await page.locator('[data-testid="retry"]:enabled').waitFor();
    assertEqual(await retry.innerText(), "Try again", "after the wait");
  });

  await check("one button tries again", async () => {
    await page.unrouteAll();
    await retry.click();
    await byId(page, "message-assistant").filter({ hasText: "Here I am." }).waitFor();
    await settled(page);
    assertEqual([await banner.count(), await byId(page, "composer").inputValue()], [0, ""], "the banner and the draft");
  });

  await check("a refusal that would come again offers no such button", async () => {
    await page.route("**/api/chat", problem(403, "too_many_threads"));
    await send(page, "And now?");
    await banner.filter({ hasText: "too many chats" }).waitFor();
    assertEqual(await retry.count(), 0, "buttons");
    await page.unrouteAll();
  });

  await check("the banner of a lost connection goes when the connection is back", async () => {
    await page.route("**/api/**", (route) => route.abort());
    await byId(page, "composer").fill("Hello?");
    await byId(page, "send").click();
    await banner.filter({ hasText: "cannot be reached" }).waitFor();
    await page.unrouteAll();
    await page.evaluate(() => window.dispatchEvent(new Event("online")));
    await banner.waitFor({ state: "detached" });
    assertEqual(await byId(page, "composer").inputValue(), "Hello?", "the draft");
  });

  await check("a chat that cannot be loaded is loaded by a button, and by itself when the connection is back", async () => {
    const address = page.url();
    await page.route("**/messages?*", problem(500, "internal"));
    await page.goto(address);
    await page.getByText("This chat could not be loaded").waitFor();
    await page.unrouteAll();
    await byId(page, "retry").click();
    await byId(page, "message-assistant").waitFor();
    await page.route("**/api/threads/*", (route) => route.abort());
    await page.reload();
    await page.getByText("This chat could not be loaded").waitFor();
    await page.unrouteAll();
    await page.evaluate(() => window.dispatchEvent(new Event("online")));
    await byId(page, "message-assistant").waitFor();
  });
  await context.close();
}

/** A message that is sent before its chat has loaded. */
export async function early(browser) {
  const llm = fakeLlm();
  await llm.script("", [{ text: "The first." }]);
  await llm.script("next", [{ text: "The second." }]);
  const { page, context, notes } = await visit(browser, env("ESPALIER_URL"));
  await send(page, llm.says("One"));
  await settled(page);

  /** Opens the chat again, with its messages held back until the returned function is called. */
  const held = async () => {
    let release = () => {};
    const released = new Promise((resolve) => (release = resolve));
    await page.route("**/messages?*", async (route) => {
      await released;
      await route.continue();
    });
    await page.reload();
    await alive(page);
    return release;
  };

  await check("Enter while the chat is loading sends the message when it has loaded", async () => {
    const release = await held();
    await byId(page, "composer").fill(llm.says("Two", "next"));
    await page.keyboard.press("Enter");
    await page.locator('[data-testid="send"][title*="when the chat has loaded"]').waitFor();
    assertEqual(notes.chats.length, 1, "messages before it has loaded");
    await clean(page, "a message that waits for its chat");
    release();
    await byId(page, "message-assistant").last().filter({ hasText: "The second." }).waitFor();
    await settled(page);
    assertEqual([notes.chats.length, await byId(page, "message-user").count(), await byId(page, "composer").inputValue()], [2, 2, ""], "messages");
    await page.unrouteAll();
  });

  await check("a message that is changed meanwhile is not sent by itself", async () => {
    const release = await held();
    await byId(page, "composer").fill("Not");
    await page.keyboard.press("Enter");
    await page.keyboard.type(" yet");
    release();
    await byId(page, "message-assistant").nth(1).waitFor();
    await page.locator('[data-testid="send"]:enabled').waitFor();
    assertEqual([notes.chats.length, await byId(page, "composer").inputValue()], [2, "Not yet"], "messages and the draft");
    await page.unrouteAll();
  });
  await context.close();
}

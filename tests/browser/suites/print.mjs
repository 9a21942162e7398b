// A chat on paper. Issue 53, fault 6.

import { assertEqual, byId, check, env, quiet, storedChat, storedTurn, visit } from "../harness.mjs";

const EXCHANGES = 150;

export async function print(browser) {
  const { page, context, notes } = await visit(browser, env("ESPALIER_URL"));
  const long = "x".repeat(400);
  const turns = Array.from({ length: EXCHANGES }, (_, index) => storedTurn(`Question ${index}`, `Answer ${index}\n\n\`\`\`js\nconst a = "${long}";\n\`\`\``));
  await storedChat(page, env("ESPALIER_URL"), turns.flat());
  await byId(page, "message-user").filter({ hasText: `Question ${EXCHANGES - 1}` }).waitFor();
  // The event comes to this listener after that of the page, which has drawn by then.
  await page.evaluate(() => {
    globalThis.printed = [];
    window.addEventListener("beforeprint", () => globalThis.printed.push(document.querySelectorAll('[data-testid="message-user"]').length));
    window.print = () => globalThis.printed.push("asked");
  });
  const drawn = () => byId(page, "message-user").count();

  await check("a print has all exchanges of a long chat, which the screen draws in part", async () => {
    const before = await drawn();
    await page.pdf();
    assertEqual([before < EXCHANGES, await page.evaluate(() => globalThis.printed)], [true, [EXCHANGES]], "the exchanges on paper");
    await page.waitForFunction((all) => document.querySelectorAll('[data-testid="message-user"]').length < all, EXCHANGES);
  });

  await check("a print has no buttons and no list of chats, and its code wraps", async () => {
    await page.emulateMedia({ media: "print" });
    const seen = (selector) => page.locator(selector).first().isVisible();
    for (const selector of [".sidebar", ".top-bar", ".dock", ".question-acts", ".answer-footer"]) assertEqual(await seen(selector), false, selector);
    const wide = await page.evaluate(() => [...document.querySelectorAll("pre")].some((code) => code.scrollWidth > code.clientWidth + 1));
    assertEqual(wide, false, "code that is cut off");
    await page.emulateMedia({ media: null });
  });

  await check("the menu of a chat prints it", async () => {
    await page.evaluate(() => void globalThis.printed.splice(0));
    await byId(page, "thread-item").first().hover();
    await byId(page, "thread-menu").first().click();
    await byId(page, "thread-print").click();
    await page.waitForFunction(() => globalThis.printed.includes("asked"));
  });
  await quiet("a chat on paper", notes);
  await context.close();
}

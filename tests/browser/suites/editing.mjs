// Acts on a message: editing it, asking again, attaching files, leaving it unsent.

import { alive, assert, assertEqual, byId, check, env, fakeLlm, quiet, send, settled, visit } from "../harness.mjs";

// Long: one visit, whose checks follow each other.
export async function editing(browser) {
  const llm = fakeLlm();
  await llm.script("one", [{ text: "The first answer." }]);
  await llm.script("two", [{ text: "The second answer." }]);
  await llm.script("three", [{ text: "The third answer." }]);
  const { page, context, notes } = await visit(browser, env("ESPALIER_URL"));
  const questions = byId(page, "message-user");
  const answers = byId(page, "message-assistant");

  await check("a message can be edited, and a new answer takes the place of the old one", async () => {
    await send(page, llm.says("What is first?", "one"));
    await settled(page);
    await send(page, llm.says("And then?", "two"));
    await settled(page);
    assertEqual(await byId(page, "edit").count(), 2, "each message can be edited");
    await questions.last().hover();
    await byId(page, "edit").last().click();
    await byId(page, "edit-box").fill(llm.says("And at last?", "three"));
    await page.keyboard.press("Enter");
    await answers.last().filter({ hasText: "The third answer." }).waitFor();
    await settled(page);
    const seen = async () => [await questions.allInnerTexts(), await answers.count()];
    const [texts, count] = await seen();
    assertEqual(texts.map((text) => text.replace(/^You\s*/, "").split(" [[")[0]), ["What is first?", "And at last?"], "the questions");
    assertEqual(count, 2, "the answers");
    await page.reload();
    await settled(page);
    assertEqual(await seen(), [texts, count], "after a reload");
  });

  await check("a person can ask for another answer, which takes the place of the old one", async () => {
    await byId(page, "again").last().click();
    await settled(page);
    assertEqual(await answers.count(), 2, "the answers");
    const [before, last] = notes.chats.slice(-2);
    assert(last.replaces_message_id && last.content === before.content, JSON.stringify(last));
  });

  await check("the up arrow edits the last message, and Escape cancels", async () => {
    await byId(page, "composer").focus();
    await page.keyboard.press("ArrowUp");
    await byId(page, "edit-box").waitFor();
    assert((await byId(page, "edit-box").inputValue()).startsWith("And at last?"), "the message is in the box");
    await page.keyboard.press("Escape");
    await byId(page, "edit-box").waitFor({ state: "detached" });
    assertEqual(await questions.count(), 2, "the questions");
  });

  await check("the copy button copies the answer's text", async () => {
    await context.grantPermissions(["clipboard-read", "clipboard-write"]);
    await answers.last().locator(".answer-footer").getByTestId("copy").click();
    await page.waitForFunction(async () => (await navigator.clipboard.readText()) === "The third answer.");
  });

  await check("text files are part of a message, and others are refused by name", async () => {
    await byId(page, "file-input").setInputFiles([
      { name: "notes.txt", mimeType: "text/plain", buffer: Buffer.from("Pears keep well.\n") },
      { name: "photo.raw", mimeType: "application/octet-stream", buffer: Buffer.from([0x89, 0x50, 0, 0xff]) },
    ]);
    await byId(page, "attached").filter({ hasText: "notes.txt" }).waitFor();
    await page.getByRole("alert").filter({ hasText: "“photo.raw” is not a text file." }).waitFor();
    await page.reload();
    await byId(page, "attached").filter({ hasText: "notes.txt" }).waitFor();
    await llm.script("file", [{ text: "I have read it." }]);
    await send(page, llm.says("Read this", "file"));
    await answers.last().filter({ hasText: "I have read it." }).waitFor();
    await settled(page);
    const content = notes.chats.at(-1).content;
    assert(content.includes("Attached file: notes.txt") && content.includes("Pears keep well."), content);
    const file = questions.last().locator("summary", { hasText: "notes.txt" });
    await file.click();
    await questions.last().locator("pre", { hasText: "Pears keep well." }).waitFor();
    assertEqual(await byId(page, "attached").count(), 0, "the composer is empty again");
  });

  await check("a draft survives a reload, one for each chat", async () => {
    await byId(page, "composer").fill("half a thought");
    await byId(page, "new-chat").click();
    await byId(page, "composer").fill("another");
    await page.reload();
    await alive(page);
    assertEqual(await byId(page, "composer").inputValue(), "another", "the new chat's draft");
    await byId(page, "thread-item").first().getByRole("link").click();
    await questions.last().waitFor();
    assertEqual(await byId(page, "composer").inputValue(), "half a thought", "the chat's draft");
  });
  await quiet("editing", notes);
  await context.close();

  const lost = await visit(browser, env("ESPALIER_URL"));
  await check("an unsent message comes back, with words that tell the next step", async () => {
    await lost.page.route("**/api/chat", (route) => route.abort());
    await send(lost.page, "Are you there?");
    await byId(lost.page, "banner").filter({ hasText: "Check your connection" }).waitFor();
    assertEqual(await byId(lost.page, "composer").inputValue(), "Are you there?", "the composer");
    assertEqual(await byId(lost.page, "message-user").count(), 0, "the questions");
  });
  await lost.context.close();
}

// Versions of messages and answers: their pickers, by mouse, keyboard and touch. Issue 19, item 2.

import { assertEqual, byId, check, env, fakeLlm, quiet, send, settled, visit } from "../harness.mjs";
import { clean } from "./access.mjs";

// Long: one visit, whose checks follow each other.
export async function versions(browser) {
  const llm = fakeLlm();
  for (const [path, text] of [["one", "The first answer."], ["two", "The second answer."], ["edited", "An edited answer."]]) {
    await llm.script(path, [{ text }]);
  }
  const { page, context, notes } = await visit(browser, env("ESPALIER_URL"), { reducedMotion: "reduce" });
  const questions = byId(page, "message-user");
  const answers = byId(page, "message-assistant");
  const ofMessage = byId(page, "versions-message");
  const ofAnswer = byId(page, "versions-answer");
  const seen = async () => (await questions.allInnerTexts()).map((text) => text.replace(/^You\s*/, "").split(" [[")[0]);
  const place = (picker) => picker.locator("[aria-hidden=true]:not(svg)").innerText();
  const way = (picker, name) => picker.getByRole("button", { name });

  await check("an earlier message can be edited, and what came after it stays as a version", async () => {
    await send(page, llm.says("What is first?", "one"));
    await settled(page);
    await send(page, llm.says("And then?", "two"));
    await settled(page);
    assertEqual([await ofMessage.count(), await ofAnswer.count()], [0, 0], "no picker without versions");
    await questions.first().hover();
    await byId(page, "edit").first().click();
    await page.locator(".question-editor", { hasText: "kept as a version" }).waitFor();
    await byId(page, "edit-box").fill(llm.says("What comes first?", "edited"));
    await page.keyboard.press("Enter");
    await answers.last().filter({ hasText: "An edited answer." }).waitFor();
    await settled(page);
    assertEqual(await seen(), ["What comes first?"], "the questions");
    assertEqual(await place(ofMessage), "2/2", "the place");
  });

  await check("the picker leads back by the keyboard, and the focus stays in it", async () => {
    await way(ofMessage, "Previous version").focus();
    await page.keyboard.press("Enter");
    await answers.last().filter({ hasText: "The second answer." }).waitFor();
    assertEqual(await seen(), ["What is first?", "And then?"], "the whole version");
    assertEqual(await place(ofMessage), "1/2", "the place");
    await page.waitForFunction(() => document.activeElement?.getAttribute("data-way") === "next");
    await page.keyboard.press("Enter");
    await answers.last().filter({ hasText: "An edited answer." }).waitFor();
    await page.waitForFunction(() => document.activeElement?.getAttribute("data-way") === "previous");
  });

  await check("a reload shows the version that was chosen", async () => {
    await way(ofMessage, "Previous version").click();
    await answers.last().filter({ hasText: "The second answer." }).waitFor();
    await page.reload();
    await settled(page);
    assertEqual(await seen(), ["What is first?", "And then?"], "after a reload");
    assertEqual(await place(ofMessage), "1/2", "the place");
  });

  await check("another answer is a version of the answer", async () => {
    await llm.script("two", [{ text: "A better answer." }]);
    await answers.last().getByTestId("again").click();
    await answers.last().filter({ hasText: "A better answer." }).waitFor();
    await settled(page);
    assertEqual(notes.chats.at(-1).content, llm.says("And then?", "two"), "the same words");
    assertEqual([await place(ofAnswer), await ofMessage.count()], ["2/2", 1], "the pickers");
    await way(ofAnswer, "Previous version").click();
    await answers.last().filter({ hasText: "The second answer." }).waitFor();
    assertEqual(await place(ofAnswer), "1/2", "the place");
    await ofAnswer.getByText("Version 1 of 2").waitFor({ state: "attached" });
  });

  await check("another tab follows the choice", async () => {
    const other = await context.newPage();
    await other.goto(page.url());
    await byId(other, "message-assistant").last().filter({ hasText: "The second answer." }).waitFor();
    await page.bringToFront();
    await way(ofAnswer, "Next version").click();
    await byId(other, "message-assistant").last().filter({ hasText: "A better answer." }).waitFor();
    assertEqual(await byId(other, "versions-answer").locator("[aria-hidden=true]:not(svg)").innerText(), "2/2", "the other tab");
    await other.close();
  });

  await clean(page, "versions of a message and of an answer");

  await check("no version can be chosen while a turn runs", async () => {
    await llm.script("hold", [{ text: ["Wait ", "for it."], barrier: { name: llm.barrier("versions"), after: 1 } }]);
    await send(page, llm.says("And now?", "hold"));
    await answers.last().filter({ hasText: "Wait" }).waitFor();
    assertEqual(await way(ofMessage, "Next version").isDisabled(), true, "the button");
    await llm.release("versions");
    await settled(page);
    assertEqual(await way(ofMessage, "Next version").isDisabled(), false, "the button after the turn");
  });

  await check("the export has all versions", async () => {
    const item = byId(page, "thread-item").first();
    await item.hover();
    await byId(item, "thread-menu").click();
    const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("menuitem", { name: /JSON/ }).click()]);
    const chunks = [];
    for await (const chunk of await download.createReadStream()) chunks.push(chunk);
    const file = JSON.parse(Buffer.concat(chunks).toString());
    const answersOf = file.messages.filter(({ role }) => role === "assistant").map(({ content }) => content);
    const all = ["The first answer.", "The second answer.", "An edited answer.", "A better answer.", "Wait for it."];
    assertEqual(answersOf, all, "the answers");
    assertEqual(file.versions.length, 4, "the turns that have versions");
  });
  await quiet("versions", notes);
  await context.close();

  const phone = await visit(browser, env("ESPALIER_URL"), { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true });
  await check("the pickers have 44 pixels on a touch screen", async () => {
    await llm.script("again", [{ text: "One." }]);
    // Enter begins a line here.
    await byId(phone.page, "composer").fill(llm.says("Again?", "again"));
    await byId(phone.page, "send").tap();
    await settled(phone.page);
    await llm.script("again", [{ text: "Two." }]);
    await byId(phone.page, "again").tap();
    await byId(phone.page, "message-assistant").last().filter({ hasText: "Two." }).waitFor();
    await settled(phone.page);
    for (const button of await byId(phone.page, "versions-answer").getByRole("button").all()) {
      const { width, height } = await button.boundingBox();
      assertEqual([width >= 44, height >= 44], [true, true], `${width} × ${height}`);
    }
  });
  await quiet("versions on a phone", phone.notes);
  await phone.context.close();
}

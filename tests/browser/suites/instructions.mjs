// Custom instructions: a person writes their own in the settings, and those of a project in its panel. Issue 23, 8.

import { assertEqual, byId, check, env, fakeLlm, quiet, send, settled, shot, visit } from "../harness.mjs";
import { clean } from "./access.mjs";

// Long: one visit, whose checks follow each other.
export async function instructions(browser) {
  const llm = fakeLlm();
  const { page, context, notes } = await visit(browser, env("ESPALIER_URL"));
  const text = byId(page, "instructions-text");
  const save = byId(page, "instructions-save");
  const read = (path) => page.evaluate((path) => fetch(path).then((answer) => answer.json()), path);
  const saved = () => byId(page, "instructions").getByRole("status").filter({ hasText: "Saved." }).waitFor();
  const open = async () => {
    await byId(page, "settings").click();
    await page.getByRole("button", { name: "How should Espalier answer you?" }).click();
    await text.waitFor();
  };

  await check("instructions are written in the settings, and a text that is too long is not sent", async () => {
    await open();
    assertEqual(await save.isDisabled(), true, "the button while nothing has changed");
    await text.fill("é".repeat(10_001));
    await byId(page, "instructions").getByRole("alert").filter({ hasText: "20002 of 20000 bytes" }).waitFor();
    assertEqual(await save.isDisabled(), true, "the button beside a text that is too long");
    await clean(page, "the form of instructions");
    await text.fill("Answer in <b>Dutch</b>.");
    await save.click();
    await saved();
    await shot(page, "instructions");
  });

  await check("a text that is not saved outlasts the settings, and its selection does not close them", async () => {
    await text.fill("Answer in Frisian.");
    const [box, dialog] = [await text.boundingBox(), await byId(page, "settings-dialog").boundingBox()];
    await page.mouse.move(box.x + box.width / 2, box.y + 20);
    await page.mouse.down();
    await page.mouse.move(dialog.x / 2, box.y + 20);
    await page.mouse.up();
    await text.waitFor();
    await page.mouse.click(dialog.x / 2, box.y + 20);
    await text.waitFor({ state: "detached" });
    await open();
    assertEqual(await text.inputValue(), "Answer in Frisian.", "the text");
    await text.fill("Answer in <b>Dutch</b>.");
  });

  await check("a chat begins with them, and a reload shows them", async () => {
    await page.keyboard.press("Escape");
    await llm.script("", [{ text: "Hallo." }]);
    await send(page, llm.says("Hello"));
    await settled(page);
    const { messages } = await read(`/api/threads/${notes.chats.at(-1).thread_id}/messages`);
    const told = { of: "user", content_preview: "Answer in <b>Dutch</b>.", bytes: 23 };
    assertEqual(messages[1].execution_tree.instructions, [told], "the instructions in the tree");
    await page.reload();
    await settled(page);
    await open();
    assertEqual(await text.inputValue(), "Answer in <b>Dutch</b>.", "the text after a reload");
    await text.fill("");
    await save.click();
    await saved();
    await page.keyboard.press("Escape");
  });

  await check("a project has its own", async () => {
    await byId(page, "projects-open").click();
    await byId(page, "project-new").click();
    const made = { name: "Garden", description: "Pears", template_id: "template_blank" };
    await llm.script("project", [{ calls: [{ name: "create_project", arguments: made }] }, { text: "It is there." }]);
    await send(page, llm.says("A new project, please", "project"));
    await settled(page);
    await byId(page, "project").click();
    await page.getByRole("button", { name: "How should Espalier answer about this project?" }).click();
    await text.fill("Metric units.");
    await save.click();
    await saved();
    const [{ id }] = (await read("/api/projects")).projects;
    assertEqual((await read(`/api/projects/${id}/instructions`)).content, "Metric units.", "the project's");
    assertEqual((await read("/api/me/instructions")).content, "", "the person's");
  });
  await quiet("custom instructions", notes);
  await context.close();
}

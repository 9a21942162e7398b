// Projects, which the agent keeps and a person reads; the subject of a chat; and usage.

import { assert, assertEqual, byId, check, env, fakeLlm, quiet, send, settled, shot, visit } from "../harness.mjs";
import { clean } from "./access.mjs";

const call = (name, args) => ({ calls: [{ name, arguments: args }] });

const focused = (page, id) => page.waitForFunction((id) => document.activeElement?.dataset.testid === id, id);

/** Issue 19, item 12: a person edits and deletes, by keyboard too. The list of projects is open before and after. */
// Long: one visit, whose checks follow each other.
async function changes(page) {
  const tasks = byId(page, "project-task");
  const save = () => byId(page, "edit-save").click();
  await check("a project is edited, and the focus returns to its button", async () => {
    await byId(page, "project").click();
    await byId(page, "project-edit").click();
    await focused(page, "edit-name");
    await clean(page, "the form of a project");
    await page.keyboard.press("Escape");
    await focused(page, "project-edit");
    await page.keyboard.press("Enter");
    await byId(page, "edit-name").fill("The <b>orchard</b>");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "The <b>orchard</b>" }).waitFor();
    await focused(page, "project-edit");
    await byId(page, "projects").filter({ hasText: "Pears along three walls" }).waitFor();
  });

  await check("a task is edited, a blocked one is not done, and one is deleted after a question", async () => {
    await byId(tasks.nth(2), "task-edit").click();
    await byId(page, "edit-status").selectOption("done");
    await save();
    await byId(page, "projects").getByRole("alert").filter({ hasText: "This task waits for: Design it" }).waitFor();
    await clean(page, "the form of a task");
    await page.keyboard.press("Escape");
    await focused(page, "task-edit");
    await byId(tasks.nth(1), "task-edit").click();
    await byId(page, "edit-status").selectOption("done");
    await byId(page, "edit-notes").fill("Drawn.");
    await save();
    await page.locator('[data-testid="project-task"][data-state="done"]').nth(1).filter({ hasText: "Drawn." }).waitFor();
    await focused(page, "task-edit");
    await byId(tasks.nth(4), "task-delete").click();
    await byId(page, "confirm").click();
    await tasks.nth(4).waitFor({ state: "detached" });
    await focused(page, "task-edit");
    assertEqual(await tasks.count(), 4, "the tasks");
  });

  await check("a document is edited and deleted, and the project goes with all that is left", async () => {
    await byId(page, "project-document").click();
    await byId(page, "document-edit").click();
    await byId(page, "edit-title").fill("Plan");
    await byId(page, "edit-content").fill("# Pears\n\nOn the **south** wall.");
    await clean(page, "the form of a document");
    await save();
    await byId(page, "project-page").locator("strong").filter({ hasText: "south" }).waitFor();
    await focused(page, "document-edit");
    await page.reload();
    await byId(page, "projects-open").click();
    await byId(page, "project").click();
    await byId(page, "project-document").filter({ hasText: "Plan" }).click();
    await byId(page, "document-delete").click();
    await byId(page, "confirm").click();
    await focused(page, "projects-back");
    await byId(page, "projects").filter({ hasText: "No documents." }).waitFor();
    await byId(page, "project-use").click();
    await byId(page, "subject").filter({ hasText: "orchard" }).waitFor();
    await byId(page, "project-delete").click();
    await byId(page, "confirm").click();
    await focused(page, "project-new");
    await byId(page, "projects").filter({ hasText: "No projects yet." }).waitFor();
    assertEqual(await byId(page, "subject").count(), 0, "subjects of a project that is gone");
  });
}

// Long: one visit, whose checks follow each other.
export async function projects(browser) {
  const { page, context, notes } = await visit(browser, env("ESPALIER_URL"));
  const llm = fakeLlm();
  const rows = byId(page, "project");
  const tasks = byId(page, "project-task");
  const read = (path) => page.evaluate((path) => fetch(path).then((answer) => answer.json()), path);

  await check("a project that a chat made is listed, with its tasks", async () => {
    await byId(page, "projects-open").click();
    await byId(page, "projects").filter({ hasText: "No projects yet." }).waitFor();
    await byId(page, "project-new").click();
    await byId(page, "subject").filter({ hasText: "New project" }).waitFor();
    await page.waitForFunction(() => document.activeElement?.id === "composer");
    const made = { name: "The <i>garden</i>", description: "Pears along three walls", template_id: "template_software" };
    await llm.script("", [call("create_project", made), { text: "It is there." }]);
    await send(page, llm.says("A new project, please"));
    // The page reads the list again when the turn has ended.
    await rows.filter({ hasText: "The <i>garden</i>" }).filter({ hasText: "Pears along three walls" }).waitFor();
    await settled(page);
    await rows.click();
    await tasks.nth(4).waitFor();
    await page.getByRole("heading", { name: "The <i>garden</i>" }).waitFor();
    await byId(page, "projects").filter({ hasText: "No documents." }).waitFor();
  });

  const [project] = (await read("/api/projects")).projects;
  const first = (await read(`/api/projects/${project.id}`)).tasks[0];
  await check("a chat can be about a project, each message names it, and its cross removes it", async () => {
    await byId(page, "project-use").click();
    await byId(page, "subject").filter({ hasText: "Project: The <i>garden</i>" }).waitFor();
    await llm.script("on", [
      { calls: [{ name: "update_task", arguments: { task_id: first.id, status: "done", notes: "Eight metres." } }] },
      call("publish_context_document", { project_id: project.id, title: "Brief", content: "# Walls\n\nEast, **north** and west." }),
      { text: "Noted." },
    ]);
    await send(page, llm.says("The first task is done", "on"));
    await settled(page);
    const sent = { kind: "thread", context_type: "project", entity_id: project.id };
    assertEqual(notes.chats.at(-1).chat_context, sent, "the sent context");
    await page.locator('[data-testid="project-task"][data-state="done"]').filter({ hasText: "[x]" }).filter({ hasText: "Eight metres." }).waitFor();
    await shot(page, "project");
    await page.reload();
    await settled(page);
    await byId(page, "subject").filter({ hasText: "The <i>garden</i>" }).waitFor();
    await byId(page, "subject").getByRole("button").click();
    await llm.script("plain", [{ text: "Hello." }]);
    await send(page, llm.says("Hello", "plain"));
    await settled(page);
    assert(!("chat_context" in notes.chats.at(-1)), "the sent context");
    await byId(page, "new-chat").click();
    assertEqual(await byId(page, "subject").count(), 0, "the subject of a new chat");
  });

  await check("documents of a project can be read, and a button leads back", async () => {
    await byId(page, "projects-open").click();
    await rows.click();
    await byId(page, "project-document").filter({ hasText: "Brief" }).click();
    const paper = byId(page, "project-page");
    await paper.locator("h1, h2, h3, h4").filter({ hasText: "Walls" }).waitFor();
    await paper.locator("strong").filter({ hasText: "north" }).waitFor();
    await byId(page, "projects-back").filter({ hasText: "The <i>garden</i>" }).click();
    await tasks.first().waitFor();
    await byId(page, "projects-back").filter({ hasText: "All projects" }).click();
    await rows.waitFor();
  });

  await check("a project that cannot be read shows the reason", async () => {
    await page.route("**/api/projects/*", (route) =>
      route.fulfill({ status: 404, contentType: "application/json", body: '{"code": "project_not_found", "detail": "This project no longer exists."}' }),
    );
    await rows.click();
    await byId(page, "projects").getByRole("alert").filter({ hasText: "This project no longer exists." }).waitFor();
    await page.unrouteAll();
    await byId(page, "projects-back").click();
  });
  await changes(page);
  await page.keyboard.press("Escape");

  await check("usage is shown by day, operation, model and context", async () => {
    await page.waitForFunction(async () => {
      const { usage } = await fetch("/api/usage").then((answer) => answer.json());
      return new Set(usage.map(({ context_type }) => context_type)).size === 3;
    });
    await byId(page, "settings").click();
    await page.getByRole("button", { name: "Your usage" }).click();
    const table = byId(page, "usage");
    const names = () => table.locator("tbody th").allInnerTexts();
    await table.waitFor();
    const today = await page.evaluate(() => new Date().toISOString().slice(0, 10));
    assertEqual(await names(), [today], "the days");
    await byId(page, "usage-by").selectOption("context_type");
    assertEqual((await names()).sort(), ["project", "project_create", "thread"], "the contexts");
    await byId(page, "usage-by").selectOption("operation_type");
    assertEqual((await names()).sort(), ["chat", "planner_stream"], "the operations");
    const calls = (rows) => rows.map((row) => Number(row.split("\t")[1] ?? Number.NaN));
    const each = calls(await table.locator("tbody tr").allInnerTexts());
    assertEqual(calls(await table.locator("tfoot tr").allInnerTexts()), [each.reduce((sum, next) => sum + next, 0)], "the sum");
    await shot(page, "usage");
    await page.keyboard.press("Escape");
  });
  await quiet("projects and usage", { ...notes, complaints: notes.complaints.filter((words) => !/40[49]/.test(words)) });
  await context.close();
}

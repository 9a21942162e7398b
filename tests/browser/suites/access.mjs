// The rules of WCAG 2.2 AA that a machine can check, on every view, in both colour schemes and in every size.

import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
import { alive, assertEqual, byId, check, env, fakeLlm, knowledge, send, settled, storedChat, storedPlan, storedTurn, visit } from "../harness.mjs";
import { bringTool, erase } from "./approvals.mjs";
import { passage } from "./safety.mjs";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];

async function findings(page) {
  // The debugger loads it: the page's policy does not apply to the debugger.
  await page.evaluate(AXE);
  return page.evaluate(async (values) => {
    const { violations } = await globalThis.axe.run(document, { runOnly: { type: "tag", values } });
    return violations.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html.slice(0, 120)).join(" | ")}`);
  }, RULES);
}

const SIZES = { wide: { width: 1280, height: 860 }, tablet: { width: 820, height: 1180 }, phone: { width: 360, height: 740 } };

/** No colour of a text depends on the size, and no size on the colours: two looks have all of both but the tablet. */
const TWO = [["light", "wide"], ["dark", "phone"]];
const ALL = [...TWO, ["light", "tablet"], ["light", "phone"], ["dark", "wide"]];
/** The looks of a view: its name, and the options of a visit. LOOKS=all has each of them, in `make nightly`. */
export const LOOKS = (process.env.LOOKS === "all" ? ALL : TWO).map(([colorScheme, size]) => ({
  how: `${colorScheme}, ${size}`,
  options: { colorScheme, viewport: SIZES[size], reducedMotion: "reduce" },
}));

export const clean = (page, view) =>
  check(`axe finds nothing: ${view}`, async () => assertEqual(await findings(page), [], view));

const ANSWER = `# A heading

Some **bold** words, [a link](https://example.com), \`code\`, and a list:

- [x] done
- [ ] open

| a | b |
|---|---|
| 1 | 2 |

> A quotation.

\`\`\`rust
fn main() { println!("hello"); } // a comment
\`\`\``;

const PIXEL = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const LOOK = [{ type: "text", text: "Show me" }, { type: "image", data: PIXEL }, { type: "file", name: "a.pdf", data: "data:application/pdf;base64,JVBERi0x" }];

export async function access(browser) {
  for (const { how, options } of LOOKS) await views(browser, options, how);
}

/** The panels and the settings, filled. */
async function beside(page, how) {
  await page.unrouteAll();
  await knowledge(page, ["pears.md", "notes/a long name of a file that is about frost.txt"]);
  const nodes = [{ id: "s", parent_id: null, name: "search_collection", result_preview: passage("pears.md", "Conference keeps."), duration_ms: 1, started_ms: 0 }];
  await storedChat(page, env("ESPALIER_URL"), storedTurn("Hello", "Hello.", { execution_tree: { version: 1, nodes } }));
  await settled(page);
  await byId(page, "expand-all").click();
  await byId(page, "citation").waitFor();
  await byId(page, "files-toggle").click();
  await byId(page, "file").nth(1).waitFor();
  await byId(page, "upload-input").setInputFiles([
    { name: "pears.md", mimeType: "text/plain", buffer: Buffer.from("x") },
    { name: "large.bin", mimeType: "text/plain", buffer: Buffer.alloc(1_048_577) },
  ]);
  await byId(page, "upload-row").nth(1).waitFor();
  await byId(page, "file-delete").first().click();
  await clean(page, `the files, with uploads that are held and a question, ${how}`);
  await page.keyboard.press("Escape");
  await page.keyboard.press("Escape");
  await byId(page, "add").click();
  await byId(page, "choose-collections").click();
  await byId(page, "collection-use").first().check();
  await page.getByRole("button", { name: "New collection" }).click();
  await clean(page, `the collections, ${how}`);
  await byId(page, "collection-open").first().click();
  await byId(page, "document").nth(1).waitFor();
  await byId(page, "add-documents-input").setInputFiles([{ name: "a.png", mimeType: "image/png", buffer: Buffer.from("x") }]);
  await byId(page, "documents-refused").waitFor();
  await byId(page, "collection-delete").click();
  await clean(page, `the documents of a collection, ${how}`);
  await page.keyboard.press("Escape");
  await page.keyboard.press("Escape");
  const menu = page.locator(".menu-button");
  if (!(await byId(page, "settings").isVisible())) await menu.click();
  await byId(page, "settings").click();
  await page.getByRole("button", { name: "Your memories" }).click();
  await byId(page, "memory").nth(1).waitFor();
  await page.getByRole("button", { name: "Your usage" }).click();
  await byId(page, "usage").waitFor();
  await clean(page, `the settings with memories and usage, ${how}`);
  await page.keyboard.press("Escape");
  if (!(await byId(page, "projects-open").isVisible())) await menu.click();
  await byId(page, "projects-open").click();
  await byId(page, "project").nth(1).waitFor();
  await clean(page, `the projects, ${how}`);
  await byId(page, "project").first().click();
  await byId(page, "project-task").nth(1).waitFor();
  await clean(page, `a project, ${how}`);
  await byId(page, "project-document").first().click();
  await byId(page, "project-page").waitFor();
  await clean(page, `a document of a project, ${how}`);
  await page.keyboard.press("Escape");
  await page.unrouteAll();
}

/** Plans with finished, failed and skipped steps, and a waiting draft, all steps open. */
async function plans(page, how) {
  const turns = [storedPlan("Measure the wall"), storedPlan("Plant a fig", { status: "pending_review", review: { verdict: "needs_changes", notes: "Say **who**." } })];
  await storedChat(page, env("ESPALIER_URL"), turns.flatMap((tree) => storedTurn("A plan", "So.", { execution_tree: { version: 1, ...tree } })));
  await byId(page, "plan-ask").waitFor();
  await byId(page, "plan-change").click();
  await clean(page, `plans, one of them being changed, ${how}`);
  for (const all of await byId(page, "expand-all").all()) await all.click();
  for (const step of await byId(page, "plan-step-toggle").all()) await step.click();
  await clean(page, `plans with all that they say, ${how}`);
  const [drawn, width] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
  assertEqual(drawn <= width, true, `${drawn} of ${width} pixels`);
  await byId(page, "add").click();
  await byId(page, "subject-project").filter({ hasText: "tasks and documents of a project" }).waitFor();
  await clean(page, `the menu of modes, ${how}`);
  await byId(page, "subject-project").click();
  await byId(page, "subject").waitFor();
  await clean(page, `a chat with a mode, ${how}`);
  await byId(page, "choose-model").click();
  await byId(page, "model-secondary").waitFor();
  await clean(page, `the menu of models, ${how}`);
  await page.keyboard.press("Escape");
  await page.unrouteAll();
}

// Long: one visit, whose checks follow each other.
async function views(browser, options, how) {
  const llm = fakeLlm();
  const hold = { name: llm.barrier("hold"), after: 1 };
  await llm.script("", [
    { text: "Let me see.", calls: [llm.subtask("Look it up", "a"), { name: "calculate", arguments: { expression: "1/0" } }] },
    { text: ["Half an ", "answer."], barrier: hold, hang: true },
  ]);
  await llm.script("a", [{ calls: [{ name: "current_time", arguments: {} }] }, { text: ANSWER }]);
  const { page, context } = await visit(browser, env("ESPALIER_URL"), options);
  await clean(page, `the first screen, ${how}`);

  await send(page, llm.says("Look"));
  await byId(page, "message-assistant").filter({ hasText: "Half an" }).waitFor();
  await byId(page, "timeline-toggle").click();
  await byId(page, "timeline").waitFor();
  await byId(page, "expand-all").click();
  await byId(page, "status-chip").click();
  await clean(page, `a running turn with all its cards, its timeline and the budget, ${how}`);
  await page.keyboard.press("Escape");
  await byId(page, "stop").click();
  await settled(page);
  await byId(page, "edit").last().click();
  await clean(page, `a stopped turn, its message being edited, ${how}`);

  await page.route("**/messages/*/content", (route) => route.fulfill({ contentType: "application/json", body: JSON.stringify({ content: LOOK }) }));
  await storedChat(page, env("ESPALIER_URL"), [...storedTurn("Show me\n\n[image/png, 1 kB]\n\n[a.pdf, 1 kB]", ANSWER), ...storedTurn("Again", "x", { finish_reason: "error", stop: { code: "provider_network", message: "No line." } })]);
  await page.locator(".hljs-keyword").first().waitFor();
  await byId(page, "medium").locator("img").waitFor();
  await byId(page, "file-input").setInputFiles([{ name: "notes.txt", mimeType: "text/plain", buffer: Buffer.from("Pears.") }]);
  await byId(page, "attached").waitFor();
  await clean(page, `an answer with everything that Markdown has, images and files, ${how}`);

  const menu = page.locator(".menu-button");
  if (await menu.isVisible()) await menu.click();
  await byId(page, "thread-menu").first().click();
  await clean(page, `the list of chats with a menu, ${how}`);
  await page.keyboard.press("Escape");
  if (!(await byId(page, "settings").isVisible())) await menu.click();
  await byId(page, "settings").click();
  await byId(page, "settings-dialog").waitFor();
  await clean(page, `the settings, ${how}`);
  await page.keyboard.press("Escape");

  await beside(page, how);
  await plans(page, how);

  await llm.script("ask", [{ calls: [erase("the first line")] }]);
  await page.goto(env("ESPALIER_URL"));
  await alive(page);
  await bringTool(page);
  await send(page, llm.says("Erase it", "ask"));
  await byId(page, "approval").waitFor();
  await clean(page, `a call that waits for the reader's word, ${how}`);
  await byId(page, "stop").click();
  await settled(page);

  await page.goto(`${new URL(env("ESPALIER_URL")).origin}/?thread=${crypto.randomUUID()}`);
  await page.getByText("Chat not found").waitFor();
  await clean(page, `a chat that is not there, ${how}`);
  await context.close();
}

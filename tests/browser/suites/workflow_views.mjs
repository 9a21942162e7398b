// Workflows as their readers see them: what a machine can check of WCAG 2.2 AA in both colour schemes and on a phone, texts
// from right to left, and hostile texts. The service's answers are the suite's own.

import { readFileSync } from "node:fs";
import { assert, assertEqual, byId, check, env, pressAll, quiet, settled, storedChat, storedTurn, visit } from "../harness.mjs";
import { clean, LOOKS } from "./access.mjs";
import { harm } from "./safety.mjs";

const CORPUS = JSON.parse(readFileSync(new URL("xss.json", import.meta.url), "utf8"));
/** The hostile texts of one load of the page. */
const TOGETHER = 23;
const ARABIC = "شجرة التعريش";

/** A session as `GET /api/threads/{id}` has it; every text is `text`. */
const session = (text, change = {}) => ({
  session_id: "s", workflow_id: "w", version: 1, name: text, mode: "service", status: "stuck", reason: "no_advance", goal: text, step: 1,
  steps: [text, text, text].map((title, at) => ({ id: `${at}`, title })),
  notes: [{ step_id: "0", notes: text, artifacts: [text] }],
  updated_at: Date.now(), ...change,
});

/** The calls of a session in the tree of a stored turn. */
function tree(text) {
  const node = (name, args, result = text, more = {}) => ({ id: `${name} ${text}`, parent_id: null, name, args_preview: JSON.stringify(args), result_preview: result, duration_ms: 1, started_ms: 0, ...more });
  const written = { notesMarkdown: text, artifacts: [text], contextUpdates: { [text]: text } };
  return {
    version: 1,
    nodes: [
      node("complete_step", written),
      node("verify_step", { step: text }, JSON.stringify({ assessment: "retry", reasoning: text, retry_instruction: text })),
      node("review_step", { step: text, title: text, notes: text, plan: [{ action: text, args: { [text]: text }, expected_outcome: text }] }, text, { decision: "deny", is_error: true }),
      node("planned_step", { title: text }, JSON.stringify({ notesMarkdown: text }), { title: text }),
      { ...node("calculate", { expression: text }), parent_id: `planned_step ${text}` },
      node("__step_output__", { thought: text, notesMarkdown: text, isComplete: true, toolCalls: [] }, text, { is_error: true }),
    ],
  };
}

/** Answers for the panel: one workflow of the user and one built in, all of whose texts are these. */
async function listed(page, text) {
  const summary = (workflow_id, built_in) => ({ workflow_id, name: text, steps: 2, version: 3, built_in, ...(built_in ? {} : { updated_at: Date.now() }) });
  const own = ["a", "b"].map((id) => ({ id, title: text, instructions: text, type: "planned", review: true, tools: [text], verifier: { threshold: "low" } }));
  const json = (route, body, status = 200) => route.fulfill({ status, contentType: "application/json", body: JSON.stringify(body) });
  await page.route("**/api/workflows", (route) => json(route, { workflows: [summary("own", false), summary("built", true)], max: 100 }));
  await page.route("**/api/workflows/*", (route) =>
    route.request().method() === "GET"
      ? json(route, { ...summary("own", false), definition: { name: text, goal: text, steps: own } })
      : json(route, { code: "invalid_request", field: "steps[1].title", detail: text }, 400),
  );
}

/** A stored chat with a session, its cards open. Each of `texts` has a turn. */
async function opened(page, text, change, texts = [text]) {
  const turns = texts.flatMap((each) => storedTurn("Hello", "Hello.", { execution_tree: tree(each) }));
  await storedChat(page, env("ESPALIER_URL"), turns, { workflow_session: session(text, change) });
  await byId(page, "workflow-session").waitFor();
  await settled(page);
  await byId(page, "expand-all").nth(texts.length - 1).waitFor();
  await pressAll(byId(page, "expand-all"));
  await byId(page, "workflow-verdict").nth(texts.length - 1).waitFor();
  const toggle = byId(page, "workflow-toggle");
  if ((await toggle.getAttribute("aria-expanded")) === "false") await toggle.click();
  await byId(page, "workflow-step-toggle").first().waitFor();
  await pressAll(byId(page, "workflow-step-toggle"));
  await byId(page, "workflow-notes").first().waitFor();
}

/** Opens the panel, and in it a workflow whose definition was refused. Calls `at` at each view. */
async function panel(page, at) {
  const button = byId(page, "workflows-open");
  if (!(await button.isVisible())) await page.locator(".menu-button").click();
  await button.click();
  await byId(page, "workflow").nth(1).waitFor();
  await at("the list");
  await byId(page, "workflow-open").first().click();
  await byId(page, "workflow-edit").waitFor();
  for (const more of await byId(page, "workflows").locator(".disclosure-toggle").all()) await more.click();
  await at("a workflow");
  await byId(page, "workflow-edit").click();
  await byId(page, "workflow-save").click();
  await byId(page, "workflow-told").getByRole("alert").waitFor();
  await at("a refused definition");
  await byId(page, "workflow-cancel").click();
}

/** Nothing is wider than the window. */
async function fits(page, view) {
  const [drawn, width] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
  assert(drawn <= width, `${view}: ${drawn} of ${width} pixels`);
}

// Issue 21, "Wire and page".
export async function workflowViews(browser) {
  for (const { how, options } of LOOKS) await looks(browser, options, how);
  await hostile(browser);
}

async function looks(browser, options, how) {
  const { page, context, notes } = await visit(browser, env("ESPALIER_URL"), options);
  const seen = async (view) => {
    await clean(page, `${view}, ${how}`);
    await check(`nothing is wider than the window: ${view}, ${how}`, () => fits(page, view));
  };
  await listed(page, "Measure the wall, **carefully**");
  await opened(page, "Measure the wall, **carefully**");
  await seen("a session and its cards");
  await byId(page, "workflow-end").click();
  await seen("the question whether to end a session");
  await page.keyboard.press("Escape");
  await panel(page, seen);
  await page.keyboard.press("Escape");
  for (const change of [{ status: "waiting", reason: "plan_denied" }, { status: "complete", step: 3 }, { status: "failed" }]) {
    await page.unrouteAll();
    await opened(page, "Measure the wall", change);
    await seen(`a session that is ${change.status}`);
  }
  await page.unrouteAll();
  await quiet(`workflows, ${how}`, { ...notes, complaints: notes.complaints.filter((words) => !/status of 400/.test(words)) });
  await context.close();
}

// Long: one visit, whose checks follow each other.
async function hostile(browser) {
  const { page, context } = await visit(browser, env("ESPALIER_URL"));
  await check("texts from right to left have their own direction, and JSON stays from left to right", async () => {
    await listed(page, ARABIC);
    await opened(page, ARABIC);
    const of = (selector) => page.locator(selector).evaluateAll((all) => [...new Set(all.map((each) => getComputedStyle(each).direction))]);
    assertEqual(await of(".workflow-name, .workflow-step bdi, .workflow-goal bdi"), ["rtl"], "the names of a session");
    assertEqual(await of(".workflow-notes .prose > *, .workflow-artifacts li"), ["rtl"], "the notes");
    await panel(page, async (view) => {
      if (view === "the list") assertEqual(await of('[data-testid="workflow"] .row-name'), ["rtl"], "the list");
      if (view === "a workflow") assertEqual(await of(".workflow-text, .workflow-outline .row-name"), ["rtl"], "a workflow");
      if (view === "a refused definition") assertEqual(await of('[data-testid="workflow-json"], .code-lines'), ["ltr"], "the editor");
    });
    assertEqual(await of(".app"), ["ltr"], "the page");
    await page.keyboard.press("Escape");
  });

  await check(`${CORPUS.length} attempts to inject a script stay text in sessions, their cards and their panel`, async () => {
    for (let at = 0; at < CORPUS.length; at += TOGETHER) {
      const some = CORPUS.slice(at, at + TOGETHER);
      const all = some.join("\n\n");
      await page.unrouteAll();
      await listed(page, all);
      await opened(page, all, {
        steps: some.map((title, step) => ({ id: `${step}`, title })), step: some.length,
        notes: some.map((text, step) => ({ step_id: `${step}`, notes: text, artifacts: [text] })),
      }, some);
      await byId(page, "workflow-notes").nth(some.length - 1).waitFor();
      assertEqual(await harm(page), [], `in sessions, from ${at} on`);
      await panel(page, async (view) => assertEqual(await harm(page), [], `${view}, from ${at} on`));
      await page.keyboard.press("Escape");
    }
  });
  await page.unrouteAll();
  await context.close();
}

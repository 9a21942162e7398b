// The tools of the page's checks: a browser, watched pages, scripts of the fake LLM, a tally.

import { AsyncLocalStorage } from "node:async_hooks";
import { existsSync, mkdirSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { chromium } from "playwright-core";

export { cuttableLine } from "./line.mjs";

/** A check waits until something is seen, and gives up after this time. */
const PATIENCE_MS = 30_000;

const counts = { passed: 0, failed: 0 };
/** The lines of the suite that runs: several run at once, and each is printed as a whole. */
const lines = new AsyncLocalStorage();

export function say(line) {
  lines.getStore().push(line);
}

/** Runs a suite and prints the results of its checks. The other suites run even if one breaks off. */
export async function report(name, suite) {
  const began = performance.now();
  await lines.run([], async () => {
    try {
      await suite();
    } catch (error) {
      failed("it ran to its end", error);
    }
    console.log([`-- ${name}, ${((performance.now() - began) / 1000).toFixed(1)} s`, ...lines.getStore()].join("\n"));
  });
}

function failed(name, error) {
  counts.failed += 1;
  say(`FAIL ${name}\n     ${String(error?.message ?? error).replaceAll("\n", "\n     ")}`);
}

/** Prints one line for each check. After a failed check the others run. */
export async function check(name, run) {
  try {
    await run();
    counts.passed += 1;
    say(`ok   ${name}`);
  } catch (error) {
    failed(name, error);
  }
}

/** The closing line, and the exit code. */
export function finish() {
  console.log(`${counts.passed} passed, ${counts.failed} failed`);
  process.exitCode = counts.failed > 0 || counts.passed === 0 ? 1 : 0;
}

export function assert(condition, message) {
  if (!condition) throw new Error(message);
}

export function assertEqual(actual, expected, what) {
  const [left, right] = [JSON.stringify(actual), JSON.stringify(expected)];
  assert(left === right, `${what}:\n  ${left}\ninstead of\n  ${right}`);
}

export function env(name) {
  const value = process.env[name];
  if (!value) throw new Error(`${name} is not set: the page is tested under e2e, see \`make browser\``);
  return value;
}

/** Ends a visit: the console must be empty, and all requests must have gone to the service. */
export function quiet(where, notes) {
  return check(`an empty console and no request to others: ${where}`, async () => {
    assertEqual(notes.complaints, [], "the console");
    assertEqual(notes.foreign, [], "requests to others");
  });
}

const SHOTS = "target/e2e";

/** A picture that helps to understand a failed run. */
export async function shot(page, name) {
  mkdirSync(SHOTS, { recursive: true });
  await page.screenshot({ path: `${SHOTS}/${name}.png` });
}

/** The JSON file of the newest chat. */
export async function exported(page) {
  const item = byId(page, "thread-item").first();
  await item.hover();
  await byId(item, "thread-menu").click();
  const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("menuitem", { name: /JSON/ }).click()]);
  return JSON.parse(await readFile(await download.path(), "utf8"));
}

/**
 * Opens a chat that only these intercepted requests know, for the page with many messages or hostile ones. It is the
 * first in the list of chats.
 */
export async function storedChat(page, base, messages, thread = {}) {
  const id = crypto.randomUUID();
  const summary = { id, title: "A stored chat", created_at: 1, updated_at: Date.now(), ...thread };
  const json = (route, body) => route.fulfill({ contentType: "application/json", body: JSON.stringify(body) });
  await page.route(`**/api/threads/${id}`, (route) =>
    json(route, { ...summary, last_seq: 9, running_turn_id: null, running_ms: null }),
  );
  await page.route(`**/api/threads/${id}/messages?*`, (route) => {
    const at = Number(new URL(route.request().url()).searchParams.get("cursor") ?? 0);
    const next = at + 200 < messages.length ? String(at + 200) : null;
    return json(route, { messages: messages.slice(at, at + 200), next_cursor: next });
  });
  await page.route("**/api/threads?*", (route) => json(route, { threads: [summary], next_cursor: null }));
  await page.goto(`${new URL(base).origin}/?thread=${id}`);
  return id;
}

/** Answers requests for files, memories, collections, documents, projects and usage with one item for each name. */
export async function knowledge(page, names) {
  const answers = (pattern, body) =>
    page.route(pattern, (route) =>
      route.request().method() === "GET"
        ? route.fulfill({ contentType: "application/json", body: JSON.stringify(body) })
        : route.fulfill({ status: 412, contentType: "application/json", body: '{"code": "precondition_failed", "detail": "No."}' }),
    );
  const times = { created_at: 1, updated_at: Date.now() };
  const each = (make) => names.map((name, index) => ({ id: `id-${index}`, ...times, ...make(name) }));
  const next_cursor = null;
  await answers("**/api/threads/*/files*", { files: each((path) => ({ path, bytes: 12_000, version: "1" })) });
  await answers("**/api/threads/*/files/**", {});
  await answers("**/api/memories?*", { memories: each((content) => ({ content })), next_cursor });
  await answers("**/api/collections?*", {
    collections: each((name) => ({ name, description: name, documents: 2, bytes: 900 })),
    next_cursor,
  });
  await answers("**/api/collections/*/documents*", {
    documents: each((name) => ({ name, media_type: "text/plain", bytes: 450, chunks: 1 })),
    next_cursor,
  });
  const about = (name) => ({ name, description: name, template_id: null });
  const states = ["open", "in_progress", "done"];
  await answers("**/api/projects", { projects: each(about) });
  await answers("**/api/projects/*", {
    ...each(about)[0],
    tasks: each((title) => ({ title, notes: title, blocked_by: ["id-0"] })).map((task, at) => ({ ...task, status: states[at % 3] })),
    documents: each((title) => ({ title })),
  });
  await answers("**/api/projects/*/documents/*", { ...each((title) => ({ title }))[0], content: names.join("\n\n") });
  const used = (name) => ({ day: name, operation_type: name, provider: name, model: name, context_type: name, calls: 2, input_tokens: 900, cached_tokens: 0, output_tokens: 90, cost_usd: null });
  await answers("**/api/usage", { from: 0, usage: names.map(used) });
}

/** A plan as the service stores it with its turn; every text is `text`. `nodes` are the calls of its first steps. */
export function storedPlan(text, change = {}) {
  const [id, call] = [`plan ${text}`, `call ${text}`];
  const args = (index) => JSON.stringify({ title: text, plan_id: id, step_id: `${index}`, index, instructions: text });
  const common = { result_preview: text, duration_ms: 1, started_ms: 0 };
  return {
    nodes: [
      { ...common, id: call, parent_id: null, name: "agent_create_plan", args_preview: text, result_preview: `{"next":${JSON.stringify(text)},"plan_id":${JSON.stringify(id)}` },
      { ...common, id: `${call} 0`, parent_id: call, name: "plan_step", title: text, args_preview: args(0) },
      { ...common, id: `${call} 1`, parent_id: call, name: "plan_step", title: text, args_preview: args(1), is_error: true },
      { ...common, id: `${call} 2`, parent_id: `${call} 0`, name: text, args_preview: text },
    ],
    plans: [
      {
        id, objective: text, reasoning: text, context_type: text, intent_label: text, execution_mode: "agent_review", status: "partial", revision: 1, created_at: 1,
        steps: ["completed", "failed", "skipped", "pending"].map((status, at) => ({ id: `${at}`, title: text, instructions: text, depends_on: at > 1 ? ["0", "1"] : [], status })),
        review: { verdict: "approved", notes: text },
        ...change,
      },
    ],
  };
}

/** A turn as the service stores it. */
export function storedTurn(question, answer, change = {}) {
  const turn_id = crypto.randomUUID();
  const common = { turn_id, created_at: Date.now() };
  const usage = {
    llm_calls: 1, tool_calls: 0, subtasks: 0, input_tokens: 10, cached_tokens: 0, output_tokens: 5, cost_usd: null, by_model: {},
  };
  return [
    { ...common, id: crypto.randomUUID(), role: "user", content: question },
    { ...common, id: crypto.randomUUID(), role: "assistant", content: answer, finish_reason: "stop", usage, ...change },
  ];
}

export function launch() {
  const known = [process.env.CHROMIUM_BIN, process.env.CHROMIUM, "/usr/bin/chromium"];
  const executablePath = known.find((path) => path && existsSync(path));
  return chromium.launch({
    ...(executablePath ? { executablePath } : { channel: "chrome" }),
    args: ["--no-sandbox", "--disable-gpu", "--disable-background-networking"],
    // In the locale C, Chromium saves a file whose name is not ASCII as "download".
    env: { ...process.env, LC_ALL: "C.UTF-8" },
  });
}

/** A setting of the page: the cards of calls are shown, without a click on the line that stands for them. */
const SHOWS_WORK = () => {
  try {
    localStorage.setItem("espalier.work", "open");
  } catch {
    // A page without a storage, such as an empty one.
  }
};

/**
 * A new visitor, who wants to see the cards of calls unless `options.folds`. `notes` records the requests of the page and the messages in its console. `there` waits until the page
 * is drawn.
 */
export async function visit(browser, base, { folds = false, ...options } = {}, there = alive) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 860 }, ...options });
  if (!folds) await context.addInitScript(SHOWS_WORK);
  context.setDefaultTimeout(PATIENCE_MS);
  const page = await context.newPage();
  const notes = { complaints: [], foreign: [], chats: [], deletions: 0 };
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) notes.complaints.push(message.text());
  });
  page.on("pageerror", (error) => notes.complaints.push(String(error)));
  page.on("request", (request) => {
    const { origin, protocol, pathname } = new URL(request.url());
    if (!["data:", "blob:"].includes(protocol) && origin !== new URL(base).origin) notes.foreign.push(request.url());
    if (request.method() === "DELETE") notes.deletions += 1;
    if (pathname === "/api/chat") notes.chats.push(JSON.parse(request.postData() ?? "{}"));
  });
  await page.goto(base);
  await there(page);
  return { page, context, notes };
}

/** Waits until the script runs: it draws the list of chats. The first screen is seen before. */
export async function alive(page) {
  await byId(page, "composer").waitFor();
  await page.locator('[data-testid="thread-item"], .sidebar-note:not(:empty)').first().waitFor({ state: "attached" });
}

export function byId(scope, id) {
  return scope.locator(`[data-testid="${id}"]`);
}

/** Presses all these buttons at once, without the wait of a click for a button that stands still. */
export function pressAll(buttons) {
  return buttons.evaluateAll((all) => all.forEach((button) => button.click()));
}

/** Writes with the keyboard, as a person does, and sends with Enter as soon as the page can send. */
export async function send(page, text) {
  await byId(page, "composer").focus();
  await page.keyboard.type(text);
  await page.locator('[data-testid="send"]:enabled').waitFor();
  await page.keyboard.press("Enter");
}

/** Waits until every answer has its footer, the code that draws answers has come, and no turn runs. */
export async function settled(page) {
  await page.waitForFunction(() => {
    const all = (id) => document.querySelectorAll(`[data-testid="${id}"]`);
    const [answers, footers] = [all("message-assistant").length, all("cost-summary").length];
    if (document.querySelector('[data-testid="message-assistant"] > .plain')) return false;
    return answers > 0 && answers === footers && ["idle", "waiting"].includes(all("status-chip")[0]?.dataset.state);
  });
}

/** All tool cards in the order of the page, each with its enclosing card. */
export function cards(page) {
  return byId(page, "tool-card").evaluateAll((all) =>
    all.map((card) => ({
      id: card.dataset.toolCallId,
      name: card.dataset.toolName,
      depth: Number(card.dataset.depth),
      status: card.dataset.status,
      parent: card.parentElement.closest('[data-testid="tool-card"]')?.dataset.toolCallId ?? null,
      open: card.querySelector('[data-testid="tool-card-toggle"]').getAttribute("aria-expanded") === "true",
    })),
  );
}

/** The toggle of a card, without those of the cards inside it. */
export function toggle(page, id) {
  return byId(page.locator(`[data-testid="tool-card"][data-tool-call-id="${id}"]`), "tool-card-toggle").first();
}

/** Opens every card. Inner cards appear after the outer ones are open. */
export async function openAll(page) {
  for (;;) {
    const closed = (await cards(page)).find((card) => !card.open);
    if (!closed) return;
    await toggle(page, closed.id).click();
    await page.locator(
      `[data-tool-call-id="${closed.id}"] > [data-testid="tool-card-toggle"][aria-expanded="true"]`,
    ).waitFor();
  }
}

/** The fake LLM under a marker of its own; see tests/support. */
export function fakeLlm() {
  const url = env("ESPALIER_FAKE_LLM_URL");
  const marker = `page-${crypto.randomUUID()}`;
  const post = async (path, body) => {
    const reply = await fetch(url + path, { method: "POST", body: JSON.stringify(body) });
    assert(reply.ok, `${path}: ${await reply.text()}`);
  };
  const at = (path) => (path ? `${marker}/${path}` : marker);
  return {
    /** Gives the model's replies at this level. */
    script: (path, steps) => post("/_fake/scripts", { [at(path)]: { steps } }),
    /** A text with the marker of the level's script. */
    says: (text, path = "") => `${text} [[fake:${at(path)}]]`,
    barrier: (name) => `${marker}-${name}`,
    release: (name) => post("/_fake/release", { barrier: `${marker}-${name}` }),
    /** A call of run_subtask whose child plays the script of this path. */
    subtask: (title, path) => ({
      name: "run_subtask",
      arguments: { title, instructions: `${title} [[fake:${at(path)}]]` },
    }),
    /** Resolves when the client of a reply has closed its connection. */
    aborted: async (path = "") => {
      const reply = await fetch(`${url}/_fake/wait?marker=${at(path)}&count=1&outcome=aborted`);
      assert(reply.ok, "the provider's stream was not closed");
    },
  };
}

// What the checks of the page stand on: a browser, watched pages, the fake LLM's scripts, a tally.

import { existsSync } from "node:fs";
import { chromium } from "playwright-core";

/** No check waits for a time, only for something to be seen; this is when it gives up. */
const PATIENCE_MS = 30_000;

const counts = { passed: 0, failed: 0 };

/** One line a check. A check that fails does not keep the others from running. */
export async function check(name, run) {
  try {
    await run();
    counts.passed += 1;
    console.log(`ok   ${name}`);
  } catch (error) {
    counts.failed += 1;
    console.log(`FAIL ${name}\n     ${String(error?.message ?? error).replaceAll("\n", "\n     ")}`);
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

export function launch() {
  const known = [process.env.CHROMIUM_BIN, process.env.CHROMIUM, "/usr/bin/chromium"];
  const executablePath = known.find((path) => path && existsSync(path));
  return chromium.launch({
    ...(executablePath ? { executablePath } : { channel: "chrome" }),
    args: ["--no-sandbox", "--disable-gpu", "--disable-background-networking"],
  });
}

/**
 * A new visitor. Everything that a page does behind the scenes is noted: what it asks of whom, and what it
 * complains about.
 */
export async function visit(browser, base, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 860 }, ...options });
  context.setDefaultTimeout(PATIENCE_MS);
  const page = await context.newPage();
  const notes = { complaints: [], foreign: [], chats: [] };
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) notes.complaints.push(message.text());
  });
  page.on("pageerror", (error) => notes.complaints.push(String(error)));
  page.on("request", (request) => {
    const { origin, protocol, pathname } = new URL(request.url());
    if (!["data:", "blob:"].includes(protocol) && origin !== new URL(base).origin) notes.foreign.push(request.url());
    if (pathname === "/api/chat") notes.chats.push(JSON.parse(request.postData() ?? "{}"));
  });
  await page.goto(base);
  await byId(page, "composer").waitFor();
  return { page, context, notes };
}

export function byId(scope, id) {
  return scope.locator(`[data-testid="${id}"]`);
}

/** Writes with the keyboard, as a person does, and sends with Enter. */
export async function send(page, text) {
  await byId(page, "composer").focus();
  await page.keyboard.type(text);
  await page.keyboard.press("Enter");
}

/** Waits until every answer has its footer and the page says that nothing is running. */
export async function settled(page) {
  await page.waitForFunction(() => {
    const all = (id) => document.querySelectorAll(`[data-testid="${id}"]`);
    const [answers, footers] = [all("message-assistant").length, all("cost-summary").length];
    return answers > 0 && answers === footers && all("status-chip")[0]?.dataset.state === "idle";
  });
}

/** Every tool card on the page with the card that it lies in, in the order of the page. */
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

/** The toggle of one card, not those of the cards inside it. */
export function toggle(page, id) {
  return byId(page.locator(`[data-testid="tool-card"][data-tool-call-id="${id}"]`), "tool-card-toggle").first();
}

/** Opens every card, the inner ones too, which appear only when the outer ones are open. */
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
    /** What the model says at this level. */
    script: (path, steps) => post("/_fake/scripts", { [at(path)]: { steps } }),
    /** A text that leads to the level's script. */
    says: (text, path = "") => `${text} [[fake:${at(path)}]]`,
    barrier: (name) => `${marker}-${name}`,
    release: (name) => post("/_fake/release", { barrier: `${marker}-${name}` }),
    /** A call of run_subtask whose child plays the script of this path. */
    subtask: (title, path) => ({
      name: "run_subtask",
      arguments: { title, instructions: `${title} [[fake:${at(path)}]]` },
    }),
    /** Returns when the client of a reply has gone away. */
    aborted: async (path = "") => {
      const reply = await fetch(`${url}/_fake/wait?marker=${at(path)}&count=1&outcome=aborted`);
      assert(reply.ok, "the provider's stream was not closed");
    },
  };
}

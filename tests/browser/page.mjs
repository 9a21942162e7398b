// The page in a real browser: what a person sees, from the first question to the deleted chat.
//
//   e2e -- node tests/browser/page.mjs [--update-screenshot]
//
// N-003 N-014 N-117 N-121 N-128 N-132 N-133 N-134 N-206 N-220 N-222

import { mkdirSync } from "node:fs";
import { assert, assertEqual, byId, cards, check, env, fakeLlm, finish, launch, openAll, send, settled, toggle, visit } from "./harness.mjs";

const SHOTS = "target/e2e";
const DIVISIBLE = "Research apples, pears and figs, then compare them";

mkdirSync(SHOTS, { recursive: true });
const browser = await launch();
try {
  await demo(browser);
  await streaming(browser);
  await nesting(browser);
  await stopping(browser);
  await chats(browser);
  await narrow(browser);
} finally {
  await browser.close();
}
finish();

/** What a newcomer meets: nothing configured, the demo model, the examples of the first screen. */
async function demo(browser) {
  const base = env("ESPALIER_DEMO_URL");
  const { page, context, notes } = await visit(browser, base);
  await page.screenshot({ path: `${SHOTS}/empty.png` });

  // N-003 N-220
  await check("there is one composer, and nothing to choose a mode or tools with", async () => {
    assertEqual(await byId(page, "composer").count(), 1, "composers");
    const choosers = "select, input[type=radio], input[type=checkbox], [role=combobox], [role=listbox], [role=switch], [role=tab], [role=radiogroup], [role=menu]";
    assertEqual(await page.locator(choosers).count(), 0, "controls that choose something");
  });

  await check("a question typed and sent with Enter is answered, with its tool call", async () => {
    await send(page, "What is 17 * 23?");
    await byId(page, "message-user").filter({ hasText: "17 * 23" }).waitFor();
    await settled(page);
    const [card] = await cards(page);
    assertEqual([card.name, card.depth, card.status], ["calculate", 0, "done"], "the card");
    const answer = await byId(page, "message-assistant").last().innerText();
    assert(answer.includes("391"), answer);
  });

  await check("a card opens and shows arguments and result", async () => {
    const [card] = await cards(page);
    assert(!card.open, "a plain call starts folded");
    await toggle(page, card.id).click();
    const text = await byId(page, "tool-card").innerText();
    assert(text.includes("17 * 23") && text.includes("391"), text);
  });

  // N-014 N-222
  await check("work that is divided shows its subtasks as nested cards", async () => {
    await byId(page, "new-chat").click();
    await send(page, DIVISIBLE);
    await settled(page);
    const all = await cards(page);
    const subtasks = all.filter((card) => card.name === "run_subtask" && card.depth === 0);
    assert(subtasks.length >= 3, JSON.stringify(all));
    assert(all.every((card) => card.status === "done"), JSON.stringify(all));
  });
  await page.screenshot({ path: `${SHOTS}/subtasks.png` });
  if (process.argv.includes("--update-screenshot")) {
    mkdirSync("docs/images", { recursive: true });
    await page.screenshot({ path: "docs/images/page.png" });
  }

  // N-121 N-128 N-133
  await check("a reload shows the same tree, from the stored message", async () => {
    await openAll(page);
    const live = await cards(page);
    const answer = await byId(page, "message-assistant").last().locator(".answer-footer").innerText();
    await page.reload();
    await settled(page);
    await openAll(page);
    assertEqual(await cards(page), live, "the cards after the reload");
    assertEqual(await byId(page, "message-assistant").last().locator(".answer-footer").innerText(), answer, "the footer");
  });

  // N-006 N-110
  await check("the requests carry no mode and no tools", async () => {
    assert(notes.chats.length >= 2, "no chats were seen");
    for (const body of notes.chats) {
      for (const member of ["agent_mode", "tools", "mode"]) assert(!(member in body), JSON.stringify(body));
    }
  });
  await quiet("the demo instance", notes);
  await context.close();
}

/** N-040: the answer grows while the model is still speaking. */
async function streaming(browser) {
  const llm = fakeLlm();
  await llm.script("", [{ text: ["Once upon ", "a **time**."], barrier: { name: llm.barrier("hold"), after: 1 } }]);
  const { page, context, notes } = await visit(browser, env("ESPALIER_URL"));
  await check("the answer streams in, and the chip says what is going on", async () => {
    await send(page, llm.says("Tell me a story"));
    const answer = byId(page, "message-assistant").last();
    await answer.filter({ hasText: "Once upon" }).waitFor();
    assert(!(await answer.innerText()).includes("time"), "the rest has not been said yet");
    assertEqual(await byId(page, "status-chip").getAttribute("data-state"), "thinking", "the chip");
    assert(await byId(page, "stop").isVisible(), "a running turn can be stopped");
    await llm.release("hold");
    await answer.filter({ hasText: "Once upon a time." }).waitFor();
    await settled(page);
    assert(await byId(page, "send").isVisible(), "the next message can be sent");
  });
  await quiet("the stream", notes);
  await context.close();
}

/** N-132 N-133 N-134: three levels, while they run and afterwards. */
async function nesting(browser) {
  const llm = fakeLlm();
  await llm.script("", [{ calls: [llm.subtask("Plan the trip", "a"), llm.subtask("Book it", "b")] }, { text: "All set." }]);
  await llm.script("a", [{ calls: [llm.subtask("Find a route", "a/c")] }, { text: "Planned." }]);
  await llm.script("a/c", [
    { calls: [{ name: "calculate", arguments: { expression: "120/60" } }] },
    { text: ["Two ", "hours."], barrier: { name: llm.barrier("hold"), after: 1 } },
  ]);
  await llm.script("b", [{ calls: [{ name: "calculate", arguments: { expression: "1/0" } }] }, { text: "Booked." }]);
  const { page, context, notes } = await visit(browser, env("ESPALIER_URL"));
  let live = [];

  await check("while it runs, cards lie in their parents' cards and are folded below the root", async () => {
    await send(page, llm.says("Organize my trip"));
    const inner = page.locator('[data-testid="tool-card"][data-depth="1"][data-tool-name="run_subtask"]');
    await inner.waitFor();
    const all = await cards(page);
    const [plan] = all;
    assertEqual([plan.name, plan.depth, plan.status, plan.open], ["run_subtask", 0, "running", true], "the first subtask");
    for (const card of all.filter((card) => card.depth > 0)) assert(!card.open, `${card.name} is open`);
    await toggle(page, await inner.getAttribute("data-tool-call-id")).click();
    // The text of a subtask is inside its card, never in the answer.
    await inner.filter({ hasText: "Two" }).waitFor();
    const deep = page.locator('[data-testid="tool-card"][data-depth="2"]');
    assertEqual(await deep.getAttribute("data-status"), "done", "the call inside");
    await page.screenshot({ path: `${SHOTS}/nested-running.png` });
    await llm.release("hold");
    await settled(page);
  });

  await check("a failed call says so, and its siblings do not mind", async () => {
    await openAll(page);
    live = await cards(page);
    const shape = live.map(({ name, depth, status }) => `${depth} ${name} ${status}`);
    assertEqual(
      shape,
      ["0 run_subtask done", "1 run_subtask done", "2 calculate done", "0 run_subtask done", "1 calculate error"],
      "the cards",
    );
    for (const card of live) {
      assertEqual(card.parent === null, card.depth === 0, `the parent of ${card.name} at depth ${card.depth}`);
    }
    await page.screenshot({ path: `${SHOTS}/nested-done.png` });
  });

  await check("after a reload the same cards lie in the same cards", async () => {
    await page.reload();
    await settled(page);
    for (const card of await cards(page)) assertEqual(card.open, card.name === "run_subtask" && card.depth === 0, `open: ${card.name}`);
    await openAll(page);
    assertEqual(await cards(page), live, "the cards after the reload");
  });
  await quiet("the nested turn", notes);
  await context.close();
}

async function stopping(browser) {
  const llm = fakeLlm();
  await llm.script("", [{ text: "I shall go on and on", hang: true }]);
  const { page, context, notes } = await visit(browser, env("ESPALIER_URL"));
  await check("the stop button stops the turn at once and keeps what was said", async () => {
    await send(page, llm.says("Never stop"));
    await byId(page, "message-assistant").filter({ hasText: "on and on" }).waitFor();
    await byId(page, "stop").click();
    await llm.aborted();
    await page.locator('[data-testid="turn-error"][data-code="cancelled"]').waitFor();
    await settled(page);
    assert((await byId(page, "message-assistant").innerText()).includes("on and on"), "the partial answer is gone");
    await page.reload();
    await page.locator('[data-testid="turn-error"][data-code="cancelled"]').waitFor();
    assert((await byId(page, "message-assistant").innerText()).includes("on and on"), "it is gone after a reload");
  });

  const back = fakeLlm();
  await back.script("", [{ text: ["first half, ", "second half"], barrier: { name: back.barrier("hold"), after: 1 } }]);
  await check("a reload in mid-turn picks up the running turn", async () => {
    await send(page, back.says("In two halves"));
    await byId(page, "message-assistant").last().filter({ hasText: "first half" }).waitFor();
    await page.reload();
    await byId(page, "message-assistant").last().filter({ hasText: "first half" }).waitFor();
    await back.release("hold");
    await byId(page, "message-assistant").last().filter({ hasText: "first half, second half" }).waitFor();
    await settled(page);
  });

  const broken = fakeLlm();
  await broken.script("", [{ status: { code: 401 } }]);
  await check("a provider that refuses leads to an error that a person can read", async () => {
    await send(page, broken.says("Hello?"));
    await page.locator('[data-testid="turn-error"][data-code="provider_auth"]').waitFor();
    await byId(page, "send").waitFor();
  });
  await quiet("stopped and failed turns", notes);
  await context.close();
}

async function chats(browser) {
  const { page, context, notes } = await visit(browser, env("ESPALIER_DEMO_URL"));
  const items = byId(page, "thread-item");
  await check("chats are listed, newest first, and can be opened again", async () => {
    await send(page, "What is 1 + 1?");
    await settled(page);
    await byId(page, "new-chat").click();
    await send(page, "What is 2 + 2?");
    await settled(page);
    await items.nth(1).waitFor();
    assert((await items.first().innerText()).includes("2 + 2"), await items.first().innerText());
    await items.filter({ hasText: "1 + 1" }).getByRole("link").click();
    await byId(page, "message-user").filter({ hasText: "1 + 1" }).waitFor();
    await settled(page);
  });

  await check("a chat is deleted after a question, and stays deleted", async () => {
    const first = items.filter({ hasText: "1 + 1" });
    const id = await first.getAttribute("data-thread-id");
    const gone = page.locator(`[data-thread-id="${id}"]`);
    await gone.hover();
    await byId(gone, "thread-delete").click();
    await byId(gone, "thread-delete-confirm").click();
    await gone.waitFor({ state: "detached" });
    await page.reload();
    await items.filter({ hasText: "2 + 2" }).waitFor();
    assertEqual(await gone.count(), 0, "the deleted chat's items");
  });
  await quiet("the list of chats", notes);
  await context.close();
}

/** The same page on a phone, in the dark. */
async function narrow(browser) {
  const { page, context, notes } = await visit(browser, env("ESPALIER_DEMO_URL"), {
    viewport: { width: 390, height: 844 },
    colorScheme: "dark",
  });
  await check("on a phone nothing is wider than the screen", async () => {
    await send(page, DIVISIBLE);
    await settled(page);
    await openAll(page);
    const width = await page.evaluate(() => document.documentElement.scrollWidth);
    assert(width <= 390, `the page is ${width} pixels wide`);
    await page.screenshot({ path: `${SHOTS}/phone.png` });
  });
  await quiet("the phone", notes);
  await context.close();
}

function quiet(where, notes) {
  return check(`no complaints in the console and no request to anybody else: ${where}`, async () => {
    assertEqual(notes.complaints, [], "the console");
    assertEqual(notes.foreign, [], "requests to others");
  });
}

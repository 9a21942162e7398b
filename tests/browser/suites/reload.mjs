// A turn of each shape, before and after a reload: the answer is the one that the reader saw.

import { readFile } from "node:fs/promises";
import { assert, assertEqual, byId, check, env, fakeLlm, openAll, quiet, send, settled, visit } from "../harness.mjs";
import { clean } from "./access.mjs";
import { bringTool, erase } from "./approvals.mjs";
import { choose, makesPlan, planned, STEPS } from "./plans.mjs";

const calculate = (expression) => ({ name: "calculate", arguments: { expression } });

/** The last answer with all its cards and details open: its text, and its parts in order with their cards. */
async function shown(page) {
  await openAll(page);
  const answer = byId(page, "message-assistant").last();
  for (;;) {
    const closed = answer.locator('.disclosure-toggle[aria-expanded="false"]').first();
    if ((await closed.count()) === 0) break;
    await closed.click();
  }
  // The page loads what draws markdown, arguments and results when it first needs it.
  await page.waitForFunction(() => !document.querySelector('.prose > .plain, .tool-body [aria-busy="true"]'));
  const parts = await answer.evaluate((root) =>
    [...root.querySelectorAll('[data-testid="tool-card"], .disclosure, .prose')].map((element) => {
      const card = element.parentElement.closest('[data-testid="tool-card"]');
      const words = element.dataset.toolName ?? element.innerText;
      return `${card?.dataset.toolCallId ?? "root"} ${element.className} ${element.dataset.status ?? ""} ${words}`;
    }),
  );
  return { text: await answer.innerText(), parts };
}

/** Compares the answer with the same after a reload. It has `words` in this order. `drawn`: an element of the code that
    draws it, which the page loads when it needs it. */
async function survives(page, words, drawn = "message-assistant") {
  await settled(page);
  await byId(page, drawn).last().waitFor();
  const before = await shown(page);
  let at = 0;
  for (const word of words) {
    const found = before.text.indexOf(word, at);
    assert(found >= 0, `${word} is not seen after ${at}:\n${before.text}`);
    at = found + word.length;
  }
  await page.reload();
  await settled(page);
  await byId(page, drawn).last().waitFor();
  const after = await shown(page);
  assertEqual(after.parts, before.parts, "the parts after the reload");
  assertEqual(after.text, before.text, "the text after the reload");
}

export async function reload(browser) {
  const { page, context, notes } = await visit(browser, env("ESPALIER_URL"));
  await answers(page);
  await stops(page);
  await quiet("reloaded turns", notes);
  await context.close();
  await longDetails(browser);
  await sources(browser);
  await plan(browser);
  await approval(browser);
  await interrupted(browser);
  await summary(browser);
}

/** Turns that come to their end. */
async function answers(page) {
  const llm = fakeLlm();
  await llm.script("", [{ reasoning: ["A greeting ", "is due."], text: ["Hello", " there."] }]);
  await check("reasoning", async () => {
    await send(page, llm.says("Greet me"));
    await survives(page, ["A greeting is due.", "Hello there."]);
  });

  const tools = fakeLlm();
  await tools.script("", [
    { reasoning: ["Numbers."], text: "First I add.", calls: [calculate("1+1"), calculate("2+2")] },
    { reasoning: ["More numbers."], text: "Then I multiply.", calls: [calculate("3*3")] },
    { text: "All is counted." },
  ]);
  await check("text before tools", async () => {
    await send(page, tools.says("Count"));
    await survives(page, ["Numbers.", "First I add.", "1+1", "2+2", "More numbers.", "Then I multiply.", "3*3", "All is counted."]);
  });

  const nested = fakeLlm();
  const long = `${"The route leads over the hills and along the river. ".repeat(20)}It is long.`;
  await nested.script("", [
    { text: "I ask two others.", calls: [nested.subtask("Plan the trip", "a"), nested.subtask("Book it", "b")] },
    { text: "All set." },
  ]);
  await nested.script("a", [
    { reasoning: ["Which way?"], text: "I look at the map.", calls: [nested.subtask("Find a route", "a/c")] },
    { text: long },
  ]);
  await nested.script("a/c", [{ text: "I measure.", calls: [calculate("120/60")] }, { text: "Two hours." }]);
  await nested.script("b", [{ reasoning: ["By phone."], calls: [calculate("1/0")] }, { text: "Booked." }]);
  await check("nested levels", async () => {
    await send(page, nested.says("Organize my trip"));
    await survives(page, ["I ask two others.", "Which way?", "I look at the map.", "I measure.", "Two hours.", "It is long.", "By phone.", "Booked.", "All set."]);
  });
}

/** Turns that do not. */
async function stops(page) {
  const failed = fakeLlm();
  await failed.script("", [{ text: "I begin.", calls: [calculate("5+5")] }, { reasoning: ["Oh."], text: "And now", overloaded: true }]);
  await check("a turn that fails", async () => {
    await send(page, failed.says("Fail halfway"));
    await byId(page, "turn-error").waitFor();
    await survives(page, ["I begin.", "5+5", "Oh.", "And now"]);
  });

  const stopped = fakeLlm();
  await stopped.script("", [{ reasoning: ["On it."], text: "I ask.", calls: [stopped.subtask("Wait", "a")] }]);
  await stopped.script("a", [{ reasoning: ["Slowly."], text: "I shall go on and on", hang: true }]);
  await check("a turn that is stopped", async () => {
    await send(page, stopped.says("Never stop"));
    await byId(page, "message-assistant").last().filter({ hasText: "on and on" }).waitFor();
    await byId(page, "stop").click();
    await page.locator('[data-testid="turn-error"][data-code="cancelled"]').waitFor();
    await survives(page, ["On it.", "I ask.", "Slowly.", "I shall go on and on"]);
  });
}

/** Arguments and results that are longer than the previews of the tree, and a result that is longer than the card. */
async function longDetails(browser) {
  const llm = fakeLlm();
  const tool = (name, args) => ({ name, arguments: args });
  const pears = (count) => Array.from({ length: count }, (_, index) => `Pear number ${index}.`).join("\n");
  const { page, context, notes } = await visit(browser, env("ESPALIER_URL"));
  await check("long arguments and results", async () => {
    await llm.script("", [
      { text: "I write it down.", calls: [tool("write_file", { path: "pears.txt", content: pears(150) })] },
      { text: "I read it.", calls: [tool("read_file", { path: "pears.txt" })] },
      { text: "It stands there." },
    ]);
    await send(page, llm.says("Keep a list"));
    await survives(page, ["I write it down.", "Pear number 149.", "I read it.", "Pear number 149.", "It stands there."]);
    assertEqual(await byId(page, "cut").count(), 0, "notes of a cut");
  });
  await check("a result that is longer than its card says so, before and after a reload", async () => {
    await page.evaluate(async (body) => {
      const { threads } = await (await fetch("/api/threads")).json();
      await fetch(`/api/threads/${threads[0].id}/files/all.txt`, { method: "PUT", body });
    }, pears(600));
    await llm.script("all", [{ text: "I read all.", calls: [tool("read_file", { path: "all.txt" })] }, { text: "It is long." }]);
    await send(page, llm.says("Read all", "all"));
    await survives(page, ["I read all.", "Pear number 100.", "The result is longer. This is its beginning.", "It is long."]);
    await clean(page, "a result that is cut");
  });
  await quiet("reloaded arguments and results", notes);
  await context.close();
}

/** Passages that are longer than the part of a result that is stored. Its card shows less after a reload, and says so. */
async function sources(browser) {
  const llm = fakeLlm();
  await llm.script("", [{ text: "I look.", calls: [{ name: "search_collection", arguments: { query: "pears" } }] }, { text: "They keep until March." }]);
  const { page, context, notes } = await visit(browser, env("ESPALIER_URL"));
  await check("the sources of an answer", async () => {
    await page.evaluate(async () => {
      const post = (path, type, body) => fetch(path, { method: "POST", headers: { "content-type": type }, body }).then((answer) => answer.json());
      const { id } = await post("/api/collections", "application/json", JSON.stringify({ name: "Garden" }));
      for (const name of ["cellar.md", "frost.md", "walls.md"]) {
        await post(`/api/collections/${id}/documents?name=${name}`, "text/markdown", `# ${name}\n\n${`The pears of ${name} keep well. `.repeat(25)}`);
      }
    });
    await byId(page, "collections-open").click();
    await byId(page, "collection-use").check();
    await page.keyboard.press("Escape");
    await send(page, llm.says("Which pears keep?"));
    await settled(page);
    const seen = async () => [await byId(page, "message-assistant").innerText(), (await byId(page, "sources").locator("cite").allInnerTexts()).sort()];
    const before = await seen();
    assertEqual(before[1], ["cellar.md", "frost.md", "walls.md"], "the sources");
    await page.reload();
    await settled(page);
    await byId(page, "sources").waitFor();
    assertEqual(await seen(), before, "the answer after the reload");
  });
  await check("the sources in the exported chat", async () => {
    const exported = async (format) => {
      const item = byId(page, "thread-item").first();
      await item.hover();
      await byId(item, "thread-menu").click();
      const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("menuitem", { name: format }).click()]);
      return readFile(await download.path(), "utf8");
    };
    const listed = (await exported(/Markdown/)).match(/^Sources: (.*)$/m)?.[1].split(", ").sort();
    assertEqual(listed, ["cellar.md", "frost.md", "walls.md"], "the sources in Markdown");
    const { messages } = JSON.parse(await exported(/JSON/));
    const kept = messages.flatMap(({ parts = [] }) => parts.flatMap(({ sources = [] }) => sources.map(({ title }) => title)));
    assertEqual(kept.sort(), ["cellar.md", "frost.md", "walls.md"], "the sources in JSON");
  });
  await quiet("reloaded sources", notes);
  await context.close();
}

async function plan(browser) {
  const llm = fakeLlm();
  await llm.script("", [{ reasoning: ["A plan."], text: "I make a plan.", calls: [makesPlan(llm, "auto_execute")] }, { text: "Your pear is tied." }]);
  await llm.script("plan", [planned(llm, STEPS)]);
  await llm.script("measure", [{ reasoning: ["With a tape."], text: "I measure.", calls: [calculate("4*2")] }, { text: "Eight metres." }]);
  await llm.script("buy", [{ text: "Twenty metres of wire." }]);
  await llm.script("tie", [{ calls: [calculate("1/0")] }, { text: "Tied." }]);
  const { page, context, notes } = await visit(browser, env("ESPALIER_URL"));
  await check("a plan", async () => {
    await choose(page, "general");
    await send(page, llm.says("Train a pear"));
    await survives(page, ["A plan.", "I make a plan.", "Your pear is tied."], "plan");
  });
  await check("a reloaded plan is drawn at once, however late its code comes", async () => {
    // All else that an answer needs is there, and the page had the time to draw it.
    const rest = Promise.all([/RichText/, /\/messages\?/].map(async (address) => (await page.waitForResponse(address)).finished()));
    await page.route(/PlanBody/, async (route) => {
      await rest;
      await page.evaluate(() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))));
      await route.continue();
    });
    await page.reload();
    await byId(page, "message-assistant").last().waitFor();
    assertEqual(await byId(page, "plan").count(), 1, "plans when the answer appears");
  });
  await quiet("a reloaded plan", notes);
  await context.close();
}

/** A turn that the service has given up, as its rules say (docs/wire-protocol.md): nothing that this suite can do to a
    service leads to one, so the test plays the service. */
function lostTurn({ thread_id, turn_id, content }) {
  const root = { parent_id: null, depth: 0 };
  const inside = { parent_id: "c1", depth: 1 };
  const message = "The service lost this turn and could not take it up again. Send the message again.";
  const result = "The call was stopped and its result is unknown; it may have run.";
  const usage = { llm_calls: 0, tool_calls: 0, subtasks: 0, input_tokens: 0, cached_tokens: 0, output_tokens: 0, cost_usd: null, by_model: {} };
  const text = (model_call_id, part_id, content, place, kind) => ({ type: "chunk", content, model_call_id, part_id, done: true, ...(kind ? { kind } : {}), ...place });
  const asked = (id, started_ms, place) => ({ type: "model_call_update", model_call_id: id, model: "m", status: "start", started_ms, ...place });
  const ended = (id, started_ms, finish_reason, place) => ({ ...asked(id, started_ms, place), status: "end", duration_ms: 0, finish_reason });
  const call = { tool_call_id: "c1", name: "run_subtask", ...root };
  const told = [
    { type: "session", thread_id, user_message_id: "u", assistant_message_id: "a", provider: "p", model: "m" },
    { type: "agent_state", state: "thinking", context_type: "thread" },
    asked("m0", 0, root),
    text("m0", "m0-0", "Let me see.", root, "reasoning"),
    text("m0", "m0-1", "I ask another.", root),
    ended("m0", 0, "tool_calls", root),
    { type: "tool_call_update", status: "start", started_ms: 5, args: { title: "Look around" }, ...call },
    asked("m1", 5, inside),
    text("m1", "m1-0", "This text is lost with its run", inside),
    { type: "model_call_reset", model_call_id: "m1", reason: "interrupted", ...inside },
    ended("m1", 5, "aborted", inside),
    { type: "tool_call_update", status: "end", result, is_error: true, duration_ms: 0, ...call },
    { type: "error", code: "interrupted", message, retryable: true },
    { type: "cost_summary", ...usage },
    { type: "done", message_id: "a", finish_reason: "interrupted", usage },
  ];
  const line = (event, index) => `id: ${index + 1}\nevent: ${event.type}\ndata: ${JSON.stringify({ ...event, seq: index + 1, turn_id })}\n\n`;
  const said = { turn_id, created_at: 1 };
  const node = { id: "c1", parent_id: null, name: "run_subtask", title: "Look around", args_preview: '{"title":"Look around"}' };
  const model = { model: "m", duration_ms: 0 };
  const answer = {
    ...said, id: "a", role: "assistant", content: "I ask another.", finish_reason: "interrupted", stop: { code: "interrupted", message }, usage,
    parts: [{ type: "reasoning", text: "Let me see." }, { type: "text", text: "I ask another." }, { type: "call", tool_call_id: "c1" }],
    execution_tree: {
      version: 1,
      nodes: [{ ...node, result_preview: result, is_error: true, started_ms: 5, duration_ms: 0 }],
      model_calls: [
        { ...model, id: "m0", parent_id: null, started_ms: 0, finish_reason: "tool_calls" },
        { ...model, id: "m1", parent_id: "c1", started_ms: 5, finish_reason: "aborted" },
      ],
    },
  };
  return {
    events: told.map(line).join(""),
    thread: { id: thread_id, title: "Lost", created_at: 1, updated_at: 1, last_seq: told.length, running_turn_id: null, running_turn_first_seq: null, running_ms: null },
    messages: { messages: [{ ...said, id: "u", role: "user", content }, answer], next_cursor: null },
  };
}

async function interrupted(browser) {
  const { page, context, notes } = await visit(browser, env("ESPALIER_URL"));
  let lost = null;
  await page.route("**/api/chat", (route) => {
    lost = lostTurn(JSON.parse(route.request().postData()));
    return route.fulfill({ contentType: "text/event-stream", body: lost.events });
  });
  await page.route(/\/api\/threads\/[^/?]+$/, (route) => route.fulfill({ json: lost.thread }));
  await page.route(/\/api\/threads\/[^/?]+\/messages/, (route) => route.fulfill({ json: lost.messages }));
  await check("a turn that the service gave up", async () => {
    await send(page, "Look around");
    await page.locator('[data-testid="turn-error"][data-code="interrupted"]').waitFor();
    await survives(page, ["Let me see.", "I ask another.", "Look around", "its result is unknown"]);
    assert(!(await byId(page, "message-assistant").innerText()).includes("This text is lost"), "the text of a lost run");
  });
  await quiet("a reloaded turn that was given up", notes);
  await context.close();
}

/** Sends messages in a context whose requests are short, with much text that nobody needs to type. */
const fillRequests = (page) =>
  page.route("**/api/chat", (route) => {
    const body = JSON.parse(route.request().postData());
    const content = `${body.content} ${"and so on ".repeat(2_000)}`;
    const filled = { ...body, content, chat_context: { context_type: "project_audit" } };
    return route.continue({ postData: JSON.stringify(filled) });
  });

/** Issue 19, item 3: earlier messages leave the model's view for a summary. */
async function summary(browser) {
  const { page, context, notes } = await visit(browser, env("ESPALIER_URL"));
  await fillRequests(page);
  const note = page.getByRole("button", { name: "Earlier messages were summarised" });
  await check("a summary of earlier messages", async () => {
    for (let turn = 1; turn <= 8 && (await note.count()) === 0; turn += 1) {
      const llm = fakeLlm();
      await llm.script("", [{ text: turn === 1 ? "The user is Ada." : "I see." }]);
      await send(page, llm.says(turn === 1 ? "My name is Ada" : "Go on"));
      await byId(page, "cost-summary").nth(turn - 1).waitFor();
      await settled(page);
    }
    // The fake answers the request for a summary as it answered the first of the messages in it.
    await survives(page, ["Earlier messages were summarised", "The user is Ada.", "I see."]);
    await clean(page, "a summary of earlier messages, open");
  });
  await quiet("a summary of earlier messages", notes);
  await context.close();
}

async function approval(browser) {
  const llm = fakeLlm();
  await llm.script("", [{ text: "May I?", calls: [llm.subtask("Tidy up", "a")] }, { text: "All tidy." }]);
  await llm.script("a", [{ reasoning: ["Better ask."], calls: [erase("the first line")] }, { text: "Tidied." }]);
  const { page, context, notes } = await visit(browser, env("ESPALIER_URL"));
  await bringTool(page);
  await check("a call that was not allowed", async () => {
    await send(page, llm.says("Tidy up"));
    await byId(page, "approval").waitFor();
    await byId(page, "approval").getByRole("button", { name: "Deny" }).click();
    await survives(page, ["May I?", "Better ask.", "Tidied.", "All tidy."]);
  });
  await quiet("a reloaded approval", notes);
  await context.close();
}

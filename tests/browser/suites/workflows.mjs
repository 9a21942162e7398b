// Workflows: their panel with the errors of a definition where they are, a session as a checklist, live and after a reload,
// its reviews, and the cards of its calls.

import { assert, assertEqual, byId, cards, check, env, fakeLlm, openAll, quiet, send, settled, shot, visit } from "../harness.mjs";

/** Notes that are long enough. */
const notes = (about) => `**${about}** is done: all of it was looked at, and this came of it.`;
const complete = (about, more = {}) => ({ name: "complete_step", arguments: { notesMarkdown: notes(about), ...more } });
const calculate = (expression) => ({ name: "calculate", arguments: { expression } });

/** A step whose model plays the script of its own id. */
const step = (llm, id, title, more = {}) => ({ id, title, instructions: llm.says(`${title}, carefully.`, id), ...more });

/** The script of the words after the last step: their place in it depends on how many notes go before them. */
const lastWords = (text) => Array.from({ length: 9 }, () => ({ text }));

const dock = (page) => byId(page, "workflow-session");
const status = (page, value) => page.locator(`[data-testid="workflow-session"][data-status="${value}"]`).waitFor();
/** The chat itself says that the session waits, and offers no act that the service would refuse while it is open. */
async function waits(page) {
  await page.locator('[data-testid="status-chip"][data-state="waiting"]').filter({ hasText: "Workflow waits" }).waitFor();
  assertEqual([await byId(page, "again").count(), await byId(page, "edit").count()], [0, 0], "ways to replace a message");
}
const said = (page, text) => byId(page, "workflow-words").filter({ hasText: text }).waitFor();

/** A session that is over is folded. */
async function unfold(page) {
  const toggle = byId(page, "workflow-toggle");
  if ((await toggle.getAttribute("aria-expanded")) === "false") await toggle.click();
  await byId(page, "workflow-step").first().waitFor();
}

/** The lines of the checklist as a reader sees them. */
async function checklist(page) {
  await unfold(page);
  return byId(page, "workflow-step").evaluateAll((all) =>
    all.map((each) => `${each.querySelector(".step-mark").textContent} ${each.querySelector(".step-title").textContent}`),
  );
}

/** Waits until the checklist has these lines: its titles come a moment after the first news. */
async function lists(page, lines) {
  await unfold(page);
  const last = byId(page, "workflow-step").nth(lines.length - 1);
  await last.filter({ hasText: lines.at(-1).slice(4) }).waitFor();
  for (const [at, line] of lines.entries()) await byId(page, "workflow-step").nth(at).locator(".step-mark", { hasText: line.slice(0, 3) }).waitFor();
  assertEqual(await checklist(page), lines, "the checklist");
}

async function openPanel(page) {
  const button = byId(page, "workflows-open");
  if (!(await button.isVisible())) await page.locator(".menu-button").click();
  await button.click();
  await byId(page, "workflow").first().waitFor();
}

const row = (page, id) => page.locator(`[data-testid="workflow"][data-workflow="${id}"]`);

/** Puts a definition, as the reader. */
const put = (page, id, definition) =>
  page.evaluate(
    async ([id, definition]) => {
      const headers = { "content-type": "application/json" };
      const reply = await fetch(`/api/workflows/${id}`, { method: "PUT", headers, body: JSON.stringify(definition) });
      if (!reply.ok) throw new Error(await reply.text());
    },
    [id, definition],
  );

/** Starts a session of a workflow in a new chat, by the panel. */
async function start(page, id, message) {
  await byId(page, "new-chat").click();
  await openPanel(page);
  await byId(row(page, id), "workflow-open").click();
  await byId(page, "workflow-start").click();
  await byId(page, "workflow-chosen").waitFor();
  await send(page, message);
}

/** The next message of the page gets the marker of a script. */
async function marked(page, says, act) {
  const { promise: sent, resolve } = Promise.withResolvers();
  await page.route("**/api/chat", async (route) => {
    const body = JSON.parse(route.request().postData());
    await route.continue({ postData: JSON.stringify({ ...body, content: `${body.content} ${says}` }) });
    resolve();
  });
  await act();
  await sent;
  await page.unrouteAll({ behavior: "wait" });
}

// Issue 21, "Wire and page". N-019 W-021 W-026 W-031 W-040 W-042 W-105
export async function workflows(browser) {
  const { page, context, notes: seen } = await visit(browser, env("ESPALIER_URL"));
  await definitions(page);
  await course(page, seen);
  await reviews(page);
  await planned(page);
  await structured(page);
  await ended(page);
  // The browser itself tells of the refused definitions.
  await quiet("workflows", { ...seen, complaints: seen.complaints.filter((words) => !/status of 400/.test(words)) });
  await context.close();
}

// Long: one visit, whose checks follow each other.
async function definitions(page) {
  const box = byId(page, "workflow-json");
  const told = byId(page, "workflow-told");
  const selected = () => box.evaluate((area) => area.value.slice(area.selectionStart, area.selectionEnd));

  await check("the panel lists the workflows of the service, each with its steps", async () => {
    await openPanel(page);
    const rows = await byId(page, "workflow").allInnerTexts();
    assert(rows.length >= 3 && rows.every((text) => /\d+ steps? · built in/.test(text)), rows.join("; "));
    await byId(page, "workflow-open").first().click();
    await byId(page, "workflow-start").waitFor();
    assert((await page.locator(".workflow-outline li").count()) > 1, "the steps");
    await byId(page, "workflows-back").click();
    await byId(page, "workflow-new").waitFor();
    await shot(page, "workflows");
  });

  await check("a new workflow is refused at its id, at a mistake of its JSON, and at the member that is wrong", async () => {
    await byId(page, "workflow-new").click();
    await page.waitForFunction(() => document.activeElement?.dataset.testid === "workflow-id");
    await byId(page, "workflow-id").fill("Not an id");
    await byId(page, "workflow-save").click();
    await page.getByRole("alert").filter({ hasText: "1 to 64 of a-z" }).waitFor();
    await byId(page, "workflow-id").fill("pears");
    const steps = [{ id: "a", title: "Ask", instructions: "Ask." }, { id: "a", title: "Look", instructions: "Look." }];
    const text = JSON.stringify({ name: "Pears", steps }, null, 2);
    await box.fill(text.replace('"Pears",', '"Pears"'));
    await told.filter({ hasText: "Line 3, column 3: a comma" }).waitFor();
    await box.fill(text);
    await told.filter({ hasText: "The JSON is well formed." }).waitFor();
    await byId(page, "workflow-save").click();
    await told.getByRole("alert").filter({ hasText: "Line 10, column 13: steps[1].id:" }).waitFor();
    await page.waitForFunction(() => document.activeElement?.dataset.testid === "workflow-json");
    assertEqual(await selected(), '"a"', "the selected value");
    assertEqual(await page.locator('.code-line[data-wrong="true"]').count(), 1, "the marked lines");
    await shot(page, "workflow-refused");
    await page.keyboard.type('"b"');
    await byId(page, "workflow-save").click();
    await byId(page, "workflow-saved").filter({ hasText: "Saved as version 1." }).waitFor();
  });

  await check("a workflow is changed and deleted, also for a reload, and a draft outlives its panel", async () => {
    await byId(page, "workflow-edit").click();
    await box.fill((await box.inputValue()).replace('"Pears"', '"Pears and figs", "colour": "red"'));
    await page.keyboard.press("Escape");
    await byId(page, "workflows-open").click();
    assert((await box.inputValue()).includes("Pears and figs"), "the draft");
    await byId(page, "workflow-save").click();
    await byId(page, "workflow-saved").filter({ hasText: "Saved as version 2. These members have no effect: colour." }).waitFor();
    await page.reload();
    await openPanel(page);
    await row(page, "pears").filter({ hasText: "Pears and figs" }).filter({ hasText: "2 steps · version 2" }).waitFor();
    await byId(row(page, "pears"), "workflow-open").click();
    await byId(page, "workflow-delete").click();
    await page.getByRole("group", { name: "Delete this workflow?" }).waitFor();
    await page.keyboard.press("Enter");
    await row(page, "pears").waitFor({ state: "detached" });
    await page.waitForFunction(() => document.activeElement?.dataset.testid === "workflow-new");
    await page.keyboard.press("Escape");
    await byId(page, "workflows").waitFor({ state: "detached" });
  });
}

// Long: one visit, whose checks follow each other.
async function course(page, seen) {
  const llm = fakeLlm();
  const held = { name: llm.barrier("hold"), after: 1 };
  await put(page, "course", { name: "Train a pear", steps: [step(llm, "measure", "Measure the wall"), step(llm, "buy", "Buy wires"), step(llm, "tie", "Tie the branches")] });
  await llm.script("measure", [{ text: ["I ", "measure."], barrier: held, calls: [calculate("4*2")] }, { calls: [complete("Measured", { artifacts: ["wall.md"] })] }]);
  await llm.script("buy", [{ text: "I think it is done." }, { text: "It is done, is it not?" }]);
  await llm.script("tie", [{ calls: [complete("Tied")] }]);

  await check("the next message of a new chat starts a session, which is a checklist", async () => {
    await start(page, "course", llm.says("A pear along my wall", "end"));
    await status(page, "running");
    const { workflow_target, workflow_id, content } = seen.chats.at(-1);
    assertEqual([workflow_target, workflow_id, content.startsWith("A pear")], ["workflow", "course", true], "the request");
    assertEqual(await byId(page, "workflow-chosen").count(), 0, "the choice, which is used");
    await dock(page).filter({ hasText: "Train a pear" }).filter({ hasText: "Step 1 of 3" }).waitFor();
    await lists(page, ["[>] 1. Measure the wall", "[ ] 2. Buy wires", "[ ] 3. Tie the branches"]);
    assertEqual(await byId(page, "workflow-step").first().getAttribute("aria-current"), "step", "the step for screen readers");
    await shot(page, "workflow-running");
  });

  await check("a session that does not advance is stuck, and says so in plain words", async () => {
    await llm.release("hold");
    await status(page, "stuck");
    await settled(page);
    await lists(page, ["[x] 1. Measure the wall", "[~] 2. Buy wires", "[ ] 3. Tie the branches"]);
    await said(page, "The model wrote an answer but did not finish the step. Your next message continues it.");
    await waits(page);
  });

  await check("the notes of a finished step open, with their artifacts", async () => {
    await byId(page, "workflow-step-toggle").first().click();
    const open = byId(page, "workflow-notes");
    await open.locator("strong", { hasText: "Measured" }).waitFor();
    await open.filter({ hasText: "wall.md" }).waitFor();
    assertEqual(await byId(page, "workflow-step-toggle").count(), 1, "steps with notes");
  });

  await check("a reload shows the same checklist, reason and notes", async () => {
    const before = [await checklist(page), await byId(page, "workflow-words").innerText()];
    await page.reload();
    await status(page, "stuck");
    assertEqual([await checklist(page), await byId(page, "workflow-words").innerText()], before, "the session");
    await waits(page);
    await byId(page, "workflow-step-toggle").first().click();
    await byId(page, "workflow-notes").locator("strong", { hasText: "Measured" }).waitFor();
  });

  await check("the panel names the open session, and Continue goes on with it", async () => {
    await openPanel(page);
    await byId(page, "workflow-here").filter({ hasText: "“Train a pear” is not finished in this chat." }).waitFor();
    await byId(row(page, "course"), "workflow-open").click();
    assertEqual(await byId(page, "workflow-start").count(), 0, "a second session in this chat");
    await byId(page, "workflows-back").click();
    await llm.script("buy", [{ calls: [complete("Bought")] }]);
    await llm.script("end", lastWords("Your pear is trained."));
    await marked(page, llm.says("", "end"), () => byId(page, "workflow-resume").click());
    await byId(page, "message-assistant").last().filter({ hasText: "Your pear is trained." }).waitFor();
    await settled(page);
    const { content, workflow_target } = seen.chats.at(-1);
    assertEqual([content, workflow_target ?? null], ["Continue the workflow.", null], "the message");
    await status(page, "complete");
    await lists(page, ["[x] 1. Measure the wall", "[x] 2. Buy wires", "[x] 3. Tie the branches"]);
  });

  await check("a complete session is the same after a reload, and can be hidden", async () => {
    await page.reload();
    await status(page, "complete");
    await dock(page).filter({ hasText: "All 3 steps done" }).waitFor();
    await page.locator('[data-testid="status-chip"][data-state="idle"]').waitFor({ state: "attached" });
    assertEqual(await byId(page, "again").count(), 0, "ways to ask a step again");
    await byId(page, "workflow-hide").click();
    await dock(page).waitFor({ state: "detached" });
    await page.reload();
    await settled(page);
    assertEqual(await dock(page).count(), 0, "a session that was hidden");
  });
}

// Long: one visit, whose checks follow each other.
async function reviews(page) {
  const llm = fakeLlm();
  const asked = byId(page, "approval");
  const verdict = (assessment) => ({ calls: [{ name: "finish_subtask", arguments: { assessment, reasoning: "The *heights* are missing." } }] });
  const proposes = (path) => ({ calls: [{ name: "complete_step", arguments: { notesMarkdown: llm.says(notes("Measured"), path) } }] });
  await put(page, "review", { name: "Reviewed", steps: [step(llm, "measure", "Measure the wall", { verifier: { threshold: "high" } })] });
  await llm.script("measure", [proposes("first"), proposes("second")]);
  await llm.script("first", [verdict("escalate")]);
  await llm.script("second", [verdict("escalate")]);
  await llm.script("end", lastWords("All is measured."));

  await check("a step whose check asks for a person waits, with its notes and two answers", async () => {
    await start(page, "review", llm.says("Measure it", "end"));
    await asked.filter({ hasText: "Does the step “Measure the wall” pass?" }).waitFor();
    await asked.filter({ hasText: "The check could not decide about the work of this step." }).waitFor();
    await asked.locator("strong", { hasText: "Measured" }).waitFor();
    assertEqual(await asked.locator("button[data-decision]").allInnerTexts(), ["It passes", "Send it back"], "the answers");
    await status(page, "needs_human_review");
    await lists(page, ["[?] 1. Measure the wall"]);
    await byId(page, "announcer").filter({ hasText: "Does the step “Measure the wall” pass?" }).waitFor({ state: "attached" });
    await shot(page, "workflow-review");
  });

  await check("the question is there after a reload", async () => {
    await page.reload();
    await asked.filter({ hasText: "Does the step “Measure the wall” pass?" }).waitFor();
    await status(page, "needs_human_review");
    assertEqual(await asked.count(), 1, "the questions");
  });

  await check("a step that is sent back is worked on again, and one that passes ends", async () => {
    await asked.getByRole("button", { name: "Send it back" }).click();
    await byId(page, "approval-decided").filter({ hasText: "You sent the step back." }).waitFor();
    await asked.waitFor();
    await asked.getByRole("button", { name: "It passes" }).click();
    await byId(page, "message-assistant").last().filter({ hasText: "All is measured." }).waitFor();
    await settled(page);
    await status(page, "complete");
  });

  await check("the cards of checks and reviews say the verdict, also after a reload", async () => {
    const heads = () => page.locator('[data-tool-name="verify_step"] > .tool-head, [data-tool-name="review_step"] > .tool-head').allInnerTexts();
    const live = (await heads()).map((head) => head.replace(/\s*\d.*$/s, ""));
    assertEqual(live.map((head) => head.replace(/\s+/g, " ").trim()), [
      "done: Check of the step needs your review", "denied: Your review of the step Measure the wall: sent back",
      "done: Check of the step needs your review", "done: Your review of the step Measure the wall: passes",
    ], "the cards");
    await openAll(page);
    await byId(page, "workflow-verdict").first().locator("em", { hasText: "heights" }).waitFor();
    await page.reload();
    await settled(page);
    assertEqual((await heads()).map((head) => head.replace(/\s*\d.*$/s, "")), live, "the cards after a reload");
  });
}

async function planned(page) {
  const llm = fakeLlm();
  const asked = byId(page, "approval");
  const action = { action: "calculate", args: { expression: "4*2" }, expected_outcome: llm.says("Eight.", "notes") };
  const plan = { plan: [action, { action: "complete_step", args: {}, expected_outcome: "The end." }] };
  await put(page, "planned", { name: "Planned", steps: [step(llm, "measure", "Measure the wall", { type: "planned", review: true })] });
  await llm.script("measure", [{ calls: [{ name: "finish_subtask", arguments: plan }] }]);
  await llm.script("notes", [{ calls: [{ name: "finish_subtask", arguments: { notesMarkdown: notes("Eight metres") } }] }]);
  await llm.script("end", lastWords("Eight metres it is."));

  await check("a plan is seen with all of its arguments before it runs", async () => {
    await start(page, "planned", llm.says("Measure it", "end"));
    await asked.filter({ hasText: "Run the plan of the step “Measure the wall”?" }).waitFor();
    const shown = await byId(page, "workflow-plan").innerText();
    assert(shown.includes("calculate") && shown.includes('"expression": "4*2"') && shown.includes("Expected: Eight."), shown);
    assertEqual((await cards(page)).filter(({ name }) => name === "calculate").length, 0, "calls before the answer");
    await asked.getByRole("button", { name: "Run the plan" }).click();
    await byId(page, "message-assistant").last().filter({ hasText: "Eight metres it is." }).waitFor();
    await settled(page);
    await status(page, "complete");
  });

  await check("the card of a planned step has its calls and its notes, also after a reload", async () => {
    const sketch = async () => (await cards(page)).map(({ name, depth, status }) => `${depth} ${name} ${status}`);
    const outer = page.locator('[data-tool-name="planned_step"]');
    await outer.locator("strong", { hasText: "Eight metres" }).waitFor();
    const live = await sketch();
    assert(live.includes("0 planned_step done") && live.includes("1 calculate done"), live.join("; "));
    await page.reload();
    await settled(page);
    assertEqual(await sketch(), live, "the cards after a reload");
    await outer.locator("strong", { hasText: "Eight metres" }).waitFor();
  });
}

async function structured(page) {
  const llm = fakeLlm();
  const output = { thought: "Count first.", notesMarkdown: notes("Eight metres"), isComplete: true, toolCalls: [{ tool: "calculate", params: { expression: "4*2" } }] };
  await put(page, "structured", { name: "Structured", steps: [step(llm, "measure", "Measure the wall", { output_mode: "structured_output" })] });
  await llm.script("measure", [{ calls: [{ name: "__step_output__", arguments: output }] }]);
  await llm.script("end", lastWords("Done."));

  await check("a structured reply is a card with its calls, its notes and its reasoning", async () => {
    await start(page, "structured", llm.says("Measure it", "end"));
    await byId(page, "message-assistant").last().filter({ hasText: "Done." }).waitFor();
    await settled(page);
    const card = page.locator('[data-tool-name="__step_output__"]');
    await card.filter({ hasText: "1 call, step finished" }).waitFor();
    assertEqual((await cards(page)).map(({ name, depth, status }) => `${depth} ${name} ${status}`), ["0 __step_output__ done", "1 calculate done"], "the cards");
    await card.getByRole("button", { name: "Reasoning" }).click();
    await card.filter({ hasText: "Count first." }).locator("strong", { hasText: "Eight metres" }).waitFor();
  });
}

async function ended(page) {
  const llm = fakeLlm();
  await put(page, "ended", { name: "Ended", steps: [step(llm, "measure", "Measure the wall")] });
  await llm.script("measure", [{ text: "I am lost." }, { text: "Still lost." }]);

  await check("a person ends a session that is stuck, after a question", async () => {
    await start(page, "ended", llm.says("Measure it", "end"));
    await status(page, "stuck");
    await settled(page);
    await byId(page, "workflow-end").click();
    await page.getByRole("group", { name: "End this workflow?" }).waitFor();
    await page.keyboard.press("Enter");
    await status(page, "failed");
    await lists(page, ["[!] 1. Measure the wall"]);
    assertEqual(await byId(page, "workflow-continue").count(), 0, "ways to go on");
    await page.locator('[data-testid="status-chip"][data-state="idle"]').waitFor({ state: "attached" });
  });
}

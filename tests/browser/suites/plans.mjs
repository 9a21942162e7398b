// Plans: a checklist that follows the work, a draft that waits for a message, a reviewer's verdict, a stop.

import { assert, assertEqual, byId, cards, check, env, fakeLlm, openAll, quiet, send, settled, shot, visit } from "../harness.mjs";

const calculate = (expression) => ({ name: "calculate", arguments: { expression } });

/** The root's call that makes a plan. Its planner plays the script `plan`. */
export const makesPlan = (llm, mode, more = {}) => ({
  name: "agent_create_plan",
  arguments: { objective: llm.says("Train a pear along the wall.", "plan"), execution_mode: mode, ...more },
});

/** A planner's reply. A step plays the script of its own id, a reviewer the script `review`. */
export const planned = (llm, steps, reasoning = "The wires must hold before the tree is tied to them.") => ({
  calls: [
    {
      name: "finish_subtask",
      arguments: {
        reasoning: llm.says(reasoning, "review"),
        steps: steps.map(([id, title, depends_on = []]) => ({ id, title, instructions: llm.says(`${title}, carefully.`, id), depends_on })),
      },
    },
  ],
});

export const STEPS = [["measure", "Measure the wall"], ["buy", "Buy wires"], ["tie", "Tie the branches", ["measure", "buy"]]];

/** The last plan as a reader sees it: each step's mark and title. The page loads the code for plans with the first plan. */
export async function checklist(page) {
  const steps = byId(page, "plan").last().locator('[data-testid="plan-step"]');
  await steps.first().waitFor();
  return steps.evaluateAll((all) =>
    all.map((step) => `${step.querySelector(".step-mark").textContent} ${step.querySelector(".step-title").textContent}`),
  );
}

/** Gives the chat a subject. */
export async function choose(page, subject) {
  await byId(page, "add").click();
  await byId(page, `subject-${subject}`).click();
  await byId(page, "subject").waitFor();
  // Issue 53, fault 19: the menu marks the chosen one.
  await byId(page, "add").click();
  await byId(page, `subject-${subject}`).waitFor();
  const marked = await page.locator('[role="menuitemradio"][aria-checked="true"]').evaluateAll((all) => all.map((item) => item.dataset.testid));
  assertEqual(marked, [`subject-${subject}`], "the marked mode");
  await page.keyboard.press("Escape");
}

/** The same by a line of the composer. */
async function chooseByLine(page) {
  await send(page, "/plan");
  await byId(page, "subject").filter({ hasText: "General" }).waitFor();
  assertEqual(await byId(page, "composer").inputValue(), "", "the line");
  await byId(page, "subject").getByRole("button").click();
}

const chip = (page, state) => page.locator(`[data-testid="status-chip"][data-state="${state}"]`);
const step = (page, number) => byId(page, "plan").last().locator('[data-testid="plan-step"]').nth(number - 1);
const state = (page, number, value) =>
  page.locator(`[data-testid="plan-step"][data-state="${value}"]`).filter({ hasText: `${number}. ` }).last().waitFor();

// B-044 B-059 B-099 B-104 S-035 S-036 S-037 S-038 S-039 S-040 S-041 S-042
export async function plans(browser) {
  const { page, context, notes } = await visit(browser, env("ESPALIER_URL"));
  await check("a line of the composer chooses the mode", () => chooseByLine(page));
  await running(page, notes);
  await drafts(page, notes);
  await reviewed(page);
  await stopped(page);
  await quiet("plans", notes);
  await context.close();
}

// Long: one visit, whose checks follow each other.
async function running(page, notes) {
  const llm = fakeLlm();
  await llm.script("", [{ calls: [makesPlan(llm, "auto_execute")] }, { text: "Your pear is tied." }]);
  await llm.script("plan", [planned(llm, STEPS)]);
  const held = (name) => ({ name: llm.barrier(name), after: 1 });
  await llm.script("measure", [{ calls: [calculate("4*2")] }, { text: ["Eight ", "metres."], barrier: held("hold") }]);
  await llm.script("buy", [{ text: ["Twenty ", "metres of wire."], barrier: held("hold") }]);
  await llm.script("tie", [{ calls: [calculate("1/0")] }, { text: ["Tied", "."], barrier: held("tie") }]);

  await check("a plan is a numbered checklist: the running step is marked, with its calls below it", async () => {
    await choose(page, "general");
    await send(page, llm.says("Train a pear"));
    await step(page, 1).getByTestId("step-activity").filter({ hasText: /^> calculate: 4\*2$/ }).waitFor();
    await state(page, 2, "active");
    assertEqual(await checklist(page), ["[>] 1. Measure the wall", "[>] 2. Buy wires", "[ ] 3. Tie the branches"], "the checklist");
    assertEqual(await step(page, 1).locator(".spinner").count(), 1, "spinners of a step that runs");
    assertEqual(await step(page, 1).getAttribute("aria-current"), "step", "the step for screen readers");
    assert((await step(page, 3).innerText()).includes("after 1, 2"), "the steps that it waits for");
    assertEqual(notes.chats.at(-1).chat_context, { kind: "thread", context_type: "general" }, "the sent context");
    await shot(page, "plan-running");
  });

  await check("the chip names the running step", async () => {
    await chip(page, "plan").filter({ hasText: "Running plan · steps 1, 2 of 3" }).waitFor();
    await byId(page, "status-chip").click();
    await byId(page, "status-details").filter({ hasText: "0 of 3 steps are done. Now: 1. Measure the wall; 2. Buy wires." }).waitFor();
    await page.keyboard.press("Escape");
  });

  await check("a finished step shows its mark and its result, and the next one begins", async () => {
    await llm.release("hold");
    await step(page, 3).getByTestId("step-activity").filter({ hasText: /^> calculate: 1\/0 \(failed\)$/ }).waitFor();
    assertEqual(await checklist(page), ["[x] 1. Measure the wall", "[x] 2. Buy wires", "[>] 3. Tie the branches"], "the checklist");
    await step(page, 1).getByTestId("step-result").filter({ hasText: "Eight metres." }).waitFor();
    await chip(page, "plan").filter({ hasText: "step 3 of 3" }).waitFor();
    await byId(page, "plan-stop").waitFor();
  });

  await check("a reload during a plan shows its present state", async () => {
    const before = await checklist(page);
    await page.reload();
    await state(page, 3, "active");
    assertEqual(await checklist(page), before, "the checklist");
  });

  await check("the end of a plan is the same live and after a reload", async () => {
    await llm.release("tie");
    await byId(page, "message-assistant").filter({ hasText: "Your pear is tied." }).waitFor();
    await settled(page);
    await byId(page, "plan-progress").filter({ hasText: "3 of 3 done" }).waitFor();
    assertEqual(await byId(page, "plan-stop").count(), 0, "ways to stop it");
    const [list, words] = [await checklist(page), await byId(page, "step-result").allInnerTexts()];
    assertEqual(words, ["Eight metres.", "Twenty metres of wire.", "Tied."], "the results");
    await openAll(page);
    const live = await cards(page);
    assertEqual(
      live.map(({ name, depth, status }) => `${depth} ${name} ${status}`),
      ["0 agent_create_plan done", "1 plan_step done", "2 calculate done", "1 plan_step done", "1 plan_step done", "2 calculate error"],
      "the cards",
    );
    await page.reload();
    await settled(page);
    assertEqual(await checklist(page), list, "the checklist after the reload");
    assertEqual(await byId(page, "step-result").allInnerTexts(), words, "the results after the reload");
    await openAll(page);
    assertEqual(await cards(page), live, "the cards after the reload");
    await shot(page, "plan-done");
  });
}

// B-045 B-059 B-100 B-101 B-114
// Long: one visit, whose checks follow each other.
async function drafts(page, notes) {
  const llm = fakeLlm();
  await llm.script("", [{ calls: [makesPlan(llm, "draft_only")] }, { text: "Shall I?" }]);
  await llm.script("plan", [planned(llm, STEPS.slice(0, 2), "**Wires** come first.")]);
  const ask = byId(page, "plan-ask");
  const seen = async () => [await checklist(page), await byId(page, "plan").last().locator(".prose").first().innerText(), await ask.count()];
  /** Decides by a button; the message gets the marker of the model's script. */
  const decide = async (act, says, change = null) => {
    // The page tells of a request before its route runs, so the end of the route is what to wait for.
    const { promise: sent, resolve } = Promise.withResolvers();
    await page.route("**/api/chat", async (route) => {
      const body = JSON.parse(route.request().postData());
      await route.continue({ postData: JSON.stringify({ ...body, content: `${body.content} ${says}` }) });
      resolve();
    });
    await byId(ask, `plan-${act}`).click();
    if (change !== null) {
      await byId(ask, "plan-change-text").fill(change);
      await page.keyboard.press("Enter");
    }
    await sent;
    await page.unrouteAll({ behavior: "wait" });
  };

  await check("a draft is shown as pending, with its reasoning, and waits for a decision", async () => {
    await byId(page, "new-chat").click();
    await choose(page, "project");
    await send(page, llm.says("Plan it"));
    await chip(page, "waiting").waitFor();
    await ask.filter({ hasText: "This is a draft." }).waitFor();
    await page.locator('[data-tool-name="agent_create_plan"] [data-mark="waiting"]').waitFor();
    await byId(page, "plan-progress").filter({ hasText: "draft, 2 steps" }).waitFor();
    const [list, reasoning] = await seen();
    assertEqual(list, ["[ ] 1. Measure the wall", "[ ] 2. Buy wires"], "the checklist");
    assert(reasoning.includes("Wires come first."), reasoning);
    await step(page, 1).getByTestId("plan-step-toggle").click();
    await step(page, 1).filter({ hasText: "Measure the wall, carefully." }).waitFor();
    await byId(page, "announcer").filter({ hasText: "A plan is waiting for your decision." }).waitFor({ state: "attached" });
    await shot(page, "plan-draft");
  });

  await check("the draft is the same after a reload", async () => {
    const live = await seen();
    await page.reload();
    await chip(page, "waiting").waitFor();
    await ask.waitFor();
    assertEqual(await seen(), live, "the draft");
  });

  const id = await byId(page, "plan").getAttribute("data-plan-id");
  const acts = (action, changes = "") => ({ calls: [{ name: "agent_update_plan", arguments: { plan_id: id, action, changes } }] });

  await check("Change sends what should change, and the changed draft waits", async () => {
    await llm.script("change", [acts("change", "a milestone first"), { text: "Like this?" }]);
    await byId(page, "composer").fill("half a thought");
    await decide("change", llm.says("", "change"), "a milestone first.");
    assertEqual(notes.chats.at(-1).content, "Change the plan: a milestone first.", "the message");
    await byId(page, "message-assistant").last().filter({ hasText: "Like this?" }).waitFor();
    await chip(page, "waiting").waitFor();
    assertEqual(await byId(page, "plan").count(), 2, "the plans");
    assertEqual(await ask.count(), 1, "the waiting draft");
    await byId(page, "plan").first().filter({ hasText: "No longer waiting." }).waitFor();
    assertEqual(await page.locator('[data-mark="waiting"]').count(), 1, "the pending draft");
    assertEqual(await byId(page, "composer").inputValue(), "half a thought", "what was written stays");
    await byId(page, "composer").fill("");
  });

  await check("Run runs the stored plan, the same after a reload", async () => {
    await llm.script("run", [acts("run"), { text: "Done." }]);
    await llm.script("measure", [{ text: "Eight metres." }]);
    await llm.script("buy", [{ status: { code: 400 } }]);
    await decide("run", llm.says("", "run"));
    assertEqual(notes.chats.at(-1).content, "Run the plan.", "the message");
    await byId(page, "message-assistant").last().filter({ hasText: "Done." }).waitFor();
    await settled(page);
    const list = await checklist(page);
    assertEqual(list, ["[x] 1. Measure the wall", "[!] 2. Buy wires"], "the checklist");
    assertEqual(await ask.count(), 0, "the waiting draft");
    await page.reload();
    await settled(page);
    assertEqual(await checklist(page), list, "the checklist after the reload");
    assertEqual(await ask.count(), 0, "the waiting draft after the reload");
  });

  await check("Discard ends the draft", async () => {
    const gone = fakeLlm();
    await gone.script("", [{ calls: [makesPlan(gone, "draft_only")] }, { text: "Or so?" }]);
    await gone.script("plan", [planned(gone, STEPS)]);
    await send(page, gone.says("Another plan"));
    await chip(page, "waiting").waitFor();
    const planId = await byId(page, "plan").last().getAttribute("data-plan-id");
    await gone.script("drop", [{ calls: [{ name: "agent_update_plan", arguments: { plan_id: planId, action: "drop" } }] }, { text: "Forgotten." }]);
    await decide("discard", gone.says("", "drop"));
    assertEqual(notes.chats.at(-1).content, "Discard the plan.", "the message");
    await byId(page, "message-assistant").last().filter({ hasText: "Forgotten." }).waitFor();
    await settled(page);
    const dropped = byId(page, "plan").last().filter({ hasText: "This plan was discarded." });
    await dropped.waitFor();
    await page.reload();
    await settled(page);
    await dropped.waitFor();
  });
}

// B-047 B-048 B-103
async function reviewed(page) {
  const llm = fakeLlm();
  const review = byId(page, "plan-review");
  await llm.script("", [{ calls: [makesPlan(llm, "agent_review")] }, { text: "Not yet." }]);
  await llm.script("plan", [planned(llm, STEPS)]);
  await llm.script("review", [{ calls: [{ name: "finish_subtask", arguments: { verdict: "needs_changes", notes: "Say **who** buys." } }] }]);

  await check("a plan has the reviewer's verdict and notes, also after a reload", async () => {
    await byId(page, "new-chat").click();
    await choose(page, "project");
    await send(page, llm.says("Plan it with care"));
    await chip(page, "waiting").waitFor();
    const shown = review.filter({ hasText: "The reviewer asks for changes." }).filter({ hasText: "Say who buys." });
    await shown.waitFor();
    assertEqual(await checklist(page), ["[ ] 1. Measure the wall", "[ ] 2. Buy wires", "[ ] 3. Tie the branches"], "the checklist");
    await page.reload();
    await chip(page, "waiting").waitFor();
    await shown.waitFor();
    assertEqual(await review.getAttribute("data-verdict"), "needs_changes", "the verdict");
    await shot(page, "plan-review");
  });
}

// S-042 S-056
async function stopped(page) {
  const llm = fakeLlm();
  await llm.script("", [{ calls: [makesPlan(llm, "auto_execute")] }]);
  await llm.script("plan", [planned(llm, [["one", "Dig"], ["two", "Plant", ["one"]]])]);
  await llm.script("one", [{ text: "I dig and dig", hang: true }]);

  await check("a running plan can be stopped, and then no step runs", async () => {
    await byId(page, "new-chat").click();
    await choose(page, "general");
    await send(page, llm.says("Dig"));
    await state(page, 1, "active");
    await byId(page, "plan-stop").click();
    await llm.aborted("one");
    await page.locator('[data-testid="turn-error"][data-code="cancelled"]').waitFor();
    await settled(page);
    const list = await checklist(page);
    assertEqual(list, ["[!] 1. Dig", "[-] 2. Plant"], "the checklist");
    await page.reload();
    await settled(page);
    assertEqual(await checklist(page), list, "the checklist after the reload");
  });
}

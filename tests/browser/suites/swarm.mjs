// A swarm in its own words, as the wire has them: the same checklist. Its stream is played by this test, which holds it
// where it wants to look.

import { assertEqual, byId, cards, check, env, openAll, quiet, send, visit } from "../harness.mjs";
import { checklist } from "./plans.mjs";

const PLAN = "call_plan";
const call = (tool_call_id, name, more, parent_id = null, depth = 0) => ({ type: "tool_call_update", tool_call_id, name, parent_id, depth, ...more });
const begins = (id, name, args, parent, depth) => call(id, name, { status: "start", started_ms: 1, args }, parent, depth);
const ends = (id, name, result, parent, depth, is_error = false) => call(id, name, { status: "end", result, is_error, duration_ms: 5 }, parent, depth);

const stepBegins = (index, description) => [
  begins(`step_${index}`, "plan_step", { title: description, plan_id: "p", step_id: `${index}`, index, instructions: description }, PLAN, 1),
  { type: "swarmStepStarted", stepIndex: index, description },
];
const stepEnds = (index, result, status) => [
  ends(`step_${index}`, "plan_step", result, PLAN, 1, status === "failed" || status === "skipped"),
  { type: "swarmStepCompleted", stepIndex: index, result, status },
];

/** Up to the middle of the second step. */
const BEGUN = [
  { type: "session", thread_id: "", user_message_id: "u", assistant_message_id: "a", provider: "p", model: "m" },
  { type: "agent_state", state: "thinking", context_type: "thread" },
  begins(PLAN, "agent_create_plan", { objective: "Find out <b>which</b> pears keep" }),
  { type: "swarmPlanReady", steps: ["Look into the handbook", "Reckon the days", "Ask the neighbours"] },
  { type: "agent_state", state: "executing_plan", context_type: "thread" },
  ...stepBegins(0, "Look into the handbook"),
  ...stepEnds(0, "Conference keeps 18 weeks.", "completed"),
  ...stepBegins(1, "Reckon the days"),
  begins("tool", "calculate", { expression: "18 * 7" }, "step_1", 2),
  ends("tool", "calculate", "126", "step_1", 2),
  { type: "swarmToolExecuted", stepIndex: 1, tool: "calculate", briefResult: "126" },
];

const cost = { type: "cost_summary", llm_calls: 5, tool_calls: 4, subtasks: 2, input_tokens: 1, cached_tokens: 0, output_tokens: 1, cost_usd: null, by_model: {} };

const FINISHED = [
  ...stepEnds(1, "126 days.", "partial"),
  ...stepBegins(2, "Ask the neighbours"),
  ...stepEnds(2, "Nobody is at home.", "failed"),
  ends(PLAN, "agent_create_plan", JSON.stringify({ status: "partial", plan_id: "p", reasoning: "Books first." })),
  { type: "chunk", content: "Conference, until March.", part_id: "p1", model_call_id: "m9", parent_id: null, depth: 0, done: true },
  { type: "swarmComplete", result: "Conference, until March." },
  cost,
  { type: "done", message_id: "a", finish_reason: "stop" },
];

const CANCELLED = [
  ...stepEnds(1, "The call was stopped.", "skipped"),
  ends(PLAN, "agent_create_plan", "The call was stopped.", null, 0, true),
  { type: "error", code: "cancelled", message: "The turn was cancelled.", retryable: false },
  cost,
  { type: "done", message_id: "a", finish_reason: "cancelled" },
];

/** Plays the beginning to the next message, and the rest when it is let go: between them the line is held open. */
async function played(page, rest) {
  let let_go = () => {};
  const held = new Promise((resolve) => (let_go = resolve));
  let turn_id = "";
  const stream = (events, from) => ({
    contentType: "text/event-stream",
    body: events.map((event, at) => `id: ${from + at}\nevent: ${event.type}\ndata: ${JSON.stringify({ ...event, seq: from + at, turn_id })}\n\n`).join(""),
  });
  await page.route("**/api/chat", (route) => {
    ({ turn_id } = JSON.parse(route.request().postData()));
    return route.fulfill(stream(BEGUN, 1));
  });
  await page.route("**/api/threads/*/stream", async (route) => {
    await held;
    await route.fulfill(stream(rest, BEGUN.length + 1));
  });
  return let_go;
}

// S-035 S-036 S-037 S-038 S-039 S-040 S-041 S-042 S-056
export async function swarm(browser) {
  const { page, context, notes } = await visit(browser, env("ESPALIER_URL"));
  const step = (number) => byId(page, "plan-step").nth(number - 1);
  const ended = () => page.locator('[data-testid="status-chip"][data-state="idle"]').waitFor();

  await check("a swarm's plan is a numbered list, with the step that runs marked and what it does below it", async () => {
    const go_on = await played(page, FINISHED);
    await send(page, "Which pears keep?");
    await step(2).getByTestId("step-activity").filter({ hasText: /^> calculate: 18 \* 7$/ }).waitFor();
    assertEqual(await checklist(page), ["[x] 1. Look into the handbook", "[>] 2. Reckon the days", "[ ] 3. Ask the neighbours"], "the checklist");
    assertEqual([await step(1).locator(".spinner").count(), await step(2).locator(".spinner").count()], [0, 1], "spinners");
    await byId(page, "plan").filter({ hasText: "Find out <b>which</b> pears keep" }).waitFor();
    go_on();
    await ended();
    assertEqual(await checklist(page), ["[x] 1. Look into the handbook", "[~] 2. Reckon the days", "[!] 3. Ask the neighbours"], "the checklist at the end");
    await byId(page, "message-assistant").filter({ hasText: "Conference, until March." }).waitFor();
    assertEqual(await byId(page, "message-assistant").getByText("Conference, until March.").count(), 1, "how often the result is told");
    await openAll(page);
    const names = (await cards(page)).map(({ name, depth }) => `${depth} ${name}`);
    assertEqual(names, ["0 agent_create_plan", "1 plan_step", "1 plan_step", "2 calculate", "1 plan_step"], "the cards");
    await page.unrouteAll();
  });

  await check("it can be cancelled where it stands, and leaves no step running", async () => {
    const go_on = await played(page, CANCELLED);
    let cancels = 0;
    await page.route("**/api/threads/*/cancel", (route) => {
      cancels += 1;
      return route.fulfill({ contentType: "application/json", body: '{"turn_id": null, "status": "ok"}' }).then(go_on);
    });
    await byId(page, "new-chat").click();
    await send(page, "Which figs?");
    await page.locator('[data-testid="plan-step"][data-state="active"]').waitFor();
    await byId(page, "plan-stop").click();
    await page.locator('[data-testid="turn-error"][data-code="cancelled"]').waitFor();
    await ended();
    assertEqual(cancels, 1, "cancels");
    assertEqual(await checklist(page), ["[x] 1. Look into the handbook", "[!] 2. Reckon the days", "[-] 3. Ask the neighbours"], "the checklist");
    await page.unrouteAll();
  });
  // The service knows nothing of these chats.
  await quiet("a swarm", { ...notes, complaints: notes.complaints.filter((words) => !words.includes("404")) });
  await context.close();
}

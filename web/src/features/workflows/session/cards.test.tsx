// Issue 21: the cards of the calls of a session, and its questions. W-026 W-031 W-040 W-042 W-105

import { renderToStaticMarkup } from "react-dom/server";
import { describe, expect, it } from "vitest";
import { outlineOf } from "../../../turn/outline";
import { callsOf } from "../../../turn/stored";
import type { Approval } from "../../../turn/view";
import type { TreeNode } from "../../../wire";
import { cardOf } from "./cards";
import { questionOf } from "./question";

const NOTES = "Read both reports. Sales rose by 4 % in May; June is not in them.";

function card(node: Partial<TreeNode> & { name: string }, ...inside: Partial<TreeNode>[]) {
  const nodes = [{ id: "c", parent_id: null, duration_ms: 1, ...node }, ...inside.map((each, at) => ({ id: `i${at}`, parent_id: "c", name: "calculate", duration_ms: 1, ...each }))];
  const calls = callsOf({ version: 1, nodes });
  const drawn = cardOf(calls[0]!, outlineOf(calls))!;
  return { head: `${drawn.title} | ${drawn.gist(false)}`, meta: renderToStaticMarkup(<>{drawn.meta}</>).replace(/<[^>]+>/g, ""), body: renderToStaticMarkup(<>{drawn.body}</>), folded: drawn.folded ?? false };
}

const json = (value: unknown) => JSON.stringify(value);

// Issue 53, fault 15
it("the card of complete_step names the step, and begins its notes behind their heading", () => {
  const notes = json({ notesMarkdown: `# Notes\n\n**Result:**\n\n${NOTES}` });
  const calls = callsOf({ version: 1, nodes: [{ id: "c", parent_id: null, duration_ms: 1, name: "complete_step", args_preview: notes, result_preview: "Step 2 of 5 is done. Step 3 follows." }] });
  const drawn = cardOf(calls[0]!, outlineOf(calls), (step) => ["Ask", "Pin the question down"][step - 1] ?? null)!;
  expect(`${drawn.title} | ${drawn.gist(false)}`).toBe(`2. Pin the question down | ${NOTES}`);
});

describe("the card of", () => {
  it("complete_step shows the notes, the artifacts and the values", () => {
    const { head, body, folded } = card({ name: "complete_step", args_preview: json({ notesMarkdown: `# ${NOTES}`, artifacts: ["a.md"], contextUpdates: { buyer: "Ann" } }), result_preview: "Step 1 of 2 is done." });
    expect([head, folded]).toEqual([`Step 1 finished | ${NOTES}`, true]);
    for (const words of [NOTES, "a.md", "buyer", "Ann"]) expect(body).toContain(words);
    // That sentence is for the model.
    expect(body).not.toContain("Step 1 of 2 is done.");
  });

  it("complete_step that was refused says why", () => {
    const { head, body } = card({ name: "complete_step", args_preview: json({ notesMarkdown: "Short." }), result_preview: "the notes must have 50 to 20000 characters", is_error: true });
    expect(head).toBe("Step not finished | Short.");
    expect(body).toContain("the notes must have 50 to 20000 characters");
  });

  it("verify_step shows the verdict, and no verdict as none", () => {
    const verdict = (assessment: string) => card({ name: "verify_step", args_preview: "{}", result_preview: json({ assessment, reasoning: "June is missing.", retry_instruction: "Ask for June." }) });
    expect(["pass", "retry", "escalate", "?"].map((each) => verdict(each).head)).toEqual(["passes", "sent back", "needs your review", "gave no verdict"].map((words) => `Check of the step | ${words}`));
    expect(verdict("retry").body).toMatch(/June is missing\..*What is missing.*Ask for June\./s);
    const failed = card({ name: "verify_step", args_preview: "{}", result_preview: "there is no verdict: its model failed", is_error: true });
    expect(failed.head).toBe("Check of the step | gave no verdict");
    expect(failed.body).toContain("there is no verdict");
  });

  it("review_step shows the decision", () => {
    const head = (change: Partial<TreeNode>) => card({ name: "review_step", args_preview: json({ step: "a", title: "Ask", notes: NOTES }), ...change }).head;
    expect([head({ decision: "approve" }), head({ decision: "deny", is_error: true }), head({ decision: "expired", is_error: true })]).toEqual(
      ["passes", "sent back", "not answered in time"].map((words) => `Your review of the step | Ask: ${words}`),
    );
  });

  it("planned_step shows the calls of its plan and its notes", () => {
    const { head, meta, body } = card(
      { name: "planned_step", title: "Gather sources", args_preview: "{}", result_preview: json({ notesMarkdown: NOTES }) },
      { name: "finish_subtask" },
      { args_preview: '{"expression":"1+1"}', result_preview: "2" },
    );
    expect([head, meta]).toEqual([`Gather sources | ${NOTES}`, "1 call"]);
    expect(body).toContain('data-tool-name="calculate"');
    // The call that hands in the plan stands apart, folded.
    expect(body).not.toContain('data-tool-name="finish_subtask"');
    expect(body).toContain("How it was planned");
  });

  it("__step_output__ shows its calls, its notes, and whether it ends the step", () => {
    const args_preview = json({ thought: "Count first.", notesMarkdown: NOTES, isComplete: true, toolCalls: [] });
    const ended = card({ name: "__step_output__", args_preview }, { args_preview: '{"expression":"1+1"}' });
    expect([ended.head, ended.meta, ended.folded]).toEqual([`Work on the step | ${NOTES}`, "1 call, step finished", false]);
    expect(ended.body).toContain("Reasoning");
    const held = card({ name: "__step_output__", args_preview, is_error: true, result_preview: "The step is not complete" });
    expect([held.meta, held.folded]).toEqual(["", true]);
    expect(held.body).toContain("Notes so far");
  });

  it("other calls is left to the core", () => {
    const calls = callsOf({ version: 1, nodes: [{ id: "c", parent_id: null, name: "calculate", duration_ms: 1 }] });
    expect(cardOf(calls[0]!, outlineOf(calls))).toBeNull();
  });
});

describe("the question", () => {
  const asked = (args: Record<string, unknown>) => {
    const { ask, body, choices } = questionOf({ args } as Approval);
    return { ask, choices, html: renderToStaticMarkup(<>{body}</>) };
  };

  it("about the work of a step says what each answer does", () => {
    const { ask, choices, html } = asked({ step: "a", title: "Ask", notes: NOTES, reason: "escalated" });
    expect([ask, choices]).toEqual(["Does the step “Ask” pass?", { approve: "It passes", deny: "Send it back" }]);
    for (const words of ["The check could not decide", "the model works on this step again", NOTES]) expect(html).toContain(words);
    expect(asked({ step: "a", notes: null }).html).toContain("has not written notes");
    expect(asked({ step: "a" }).ask).toBe("Does the step “a” pass?");
  });

  it("about a plan shows each call with all of its arguments, and nothing hidden", () => {
    const plan = [{ action: "fetch_page", args: { url: "https://example.com", deep: { text: "harm\u202eless" } }, expected_outcome: "The page." }, { action: "note" }];
    const { ask, choices, html } = asked({ step: "a", title: "Ask\u202e", plan });
    expect([ask, choices]).toEqual(["Run the plan of the step “Ask\\u{202e}”?", { approve: "Run the plan", deny: "Do not run it" }]);
    for (const words of ["fetch_page", "https://example.com", "harm\\u{202e}less", "Expected: The page.", "note"]) expect(html).toContain(words);
  });
});

// The words of plans.

import { count } from "../../en";

export const words = {
  title: "Plan",
  making: "Making a plan",
  reasoning: "Reasoning",
  made: "How it was made",
  steps: "Steps of the plan",
  step: (number: number, title: string) => `${number}. ${title}`,
  states: {
    pending: "not started",
    active: "running",
    done: "done",
    partial: "partly done",
    error: "failed",
    skipped: "not run",
  },
  after: (numbers: string) => `after ${numbers}`,
  noInstructions: "This step has no instructions.",
  progress: (done: number, all: number) => `${done} of ${all} done`,
  stop: "Stop the plan",
  over: "No longer waiting.",
  dropped: "This plan was discarded. Its steps will not run.",
  verdicts: {
    approved: "The reviewer approved it.",
    needs_changes: "The reviewer asks for changes.",
    rejected: "The reviewer rejected it.",
  },
  latest: "Latest calls",
  earlier: (n: number) => `${n} more before`,
  call: (name: string, gist: string) => `${name}: ${gist}`,
  failed: " (failed)",
  draft: (steps: number) => `draft, ${count(steps, "step")}`,
  ask: "This is a draft. No step has run yet.",
  run: "Run",
  change: "Change",
  discard: "Discard",
  changeLabel: "What should change?",
  changeSend: "Send",
  /** The messages that the buttons send. */
  runMessage: "Run the plan.",
  changeMessage: (change: string) => `Change the plan: ${change}`,
  discardMessage: "Discard the plan.",
  waits: "A plan is waiting for your decision.",
  waitsWords: "A plan is waiting: run, change or discard it.",
  place: (steps: readonly number[], all: number) =>
    ` · ${steps.length === 1 ? "step" : "steps"} ${steps.join(", ")} of ${all}`,
  doneWords: (done: number, all: number) => `${done} of ${all} steps are done.`,
  nowWords: (steps: string) => ` Now: ${steps}.`,
};

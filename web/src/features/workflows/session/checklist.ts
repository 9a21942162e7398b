// The session of a chat as a checklist: what the service kept, with the news that came after it was read.

import type { SessionStatus, StepNotes, WorkflowSession } from "../../../wire.generated";
import type { News } from "../knowledge";

export type StepState = "ahead" | "current" | "done" | "waiting" | "review" | "stuck" | "failed";

/** A session as the page draws it. */
export interface Shown {
  id: string;
  /** Null until the session was read. */
  name: string | null;
  goal: string;
  status: SessionStatus;
  reason: string | null;
  byClient: boolean;
  /** The place of the step at which it stands, from 0; the number of steps once it is complete. */
  step: number;
  steps: ShownStep[];
}

export interface ShownStep {
  /** From 1 on. */
  number: number;
  /** Null until the session was read. */
  title: string | null;
  state: StepState;
  notes: StepNotes | null;
}

/** The service shows this many characters of a step's notes (`SHOWN_CHARS` in `durable/platform`). */
export const SHOWN_CHARS = 4_000;

/** `seq`: the number of the newest event when the session was read. News up to it are in the session already. */
export function shown(session: WorkflowSession | null, seq: number, news: News | null): Shown | null {
  const isNew = news !== null && news.seq > seq;
  const known = isNew && session?.session_id !== news.session_id ? null : session;
  const at = isNew ? news : known && { ...known, index: known.step, of: known.steps.length };
  if (!at) return null;
  const { status, index, of } = at;
  const byId = new Map(known?.notes.map((notes) => [notes.step_id, notes]));
  return {
    id: at.session_id,
    name: known?.name ?? null,
    goal: known?.goal ?? "",
    status,
    reason: at.reason ?? null,
    byClient: known?.mode === "external",
    step: index,
    steps: Array.from({ length: of }, (_, step) => {
      const title = known?.steps[step];
      return {
        number: step + 1,
        title: title?.title ?? null,
        state: step < index ? "done" : step > index ? "ahead" : HERE[status],
        notes: byId.get(title?.id ?? "") ?? null,
      };
    }),
  };
}

/** The state of the step at which a session stands. */
const HERE: Record<SessionStatus, StepState> = {
  running: "current",
  waiting: "waiting",
  needs_human_review: "review",
  stuck: "stuck",
  complete: "done",
  failed: "failed",
};

export function isOver({ status }: Pick<Shown, "status">): boolean {
  return status === "complete" || status === "failed";
}

/** Whether a message of this chat goes on with it. A turn that runs does so already. */
export function canGoOn({ status, byClient }: Shown, isRunning: boolean): boolean {
  return !byClient && !isRunning && ["running", "waiting", "stuck", "needs_human_review"].includes(status);
}

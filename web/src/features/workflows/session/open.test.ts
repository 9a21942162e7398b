// Issue 21: the chat says that its workflow waits, and offers no act that the open session refuses. Its file has the session.

import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { compose } from "../../../feature";
import { conversation } from "../../../state/page";
import { markdownOf } from "../../../state/export";
import { reduceTurn } from "../../../turn/reduce";
import type { Exchange } from "../../../turn/stored";
import { newTurn, type TurnView } from "../../../turn/view";
import { mayAskAgain, waitingIn } from "../../../turn/waiting";
import type { ThreadDetail, TurnEvent } from "../../../wire";
import type { WorkflowSession } from "../../../wire.generated";
import { workflows as feature } from "..";
import { kept } from "../session";
import { textOf } from "./export";
import { words } from "./en";

compose([feature]);

type Body = { type: TurnEvent["type"] } & Record<string, unknown>;
const played = (...events: Body[]): TurnView =>
  events.map((body, at) => ({ ...body, seq: at + 1, turn_id: "t" }) as unknown as TurnEvent).reduce(reduceTurn, newTurn("t"));
const update = (status: string): Body => ({ type: "workflow_update", session_id: "s", workflow_id: "report", status, step_id: null, index: 0, of: 2 });
const done: Body = { type: "done", message_id: "m", finish_reason: "stop" };
const exchange = (answer: TurnView | null, turnId = "t"): Exchange => ({ turnId, question: "Go", media: [], questionId: null, askedAt: 0, answer, versions: [] });
const plain = () => exchange(played(done), "plain");

const session = (change: Partial<WorkflowSession> = {}): WorkflowSession => ({
  session_id: "s", workflow_id: "report", version: 1, name: "Report", mode: "service", status: "stuck", goal: "Pears", step: 1,
  steps: [{ id: "a", title: "Ask" }, { id: "b", title: "Look\naround" }],
  notes: [{ step_id: "a", notes: "**Asked.**", artifacts: ["a.md"] }],
  updated_at: 1, ...change,
});
const read = (change: Partial<WorkflowSession> = {}) => kept.set({ threadId: "T", session: session(change), seq: 9 });

beforeEach(async () => {
  await import("./view");
  // The page has the chunk once a chat has a session.
  await feature.written?.({} as ThreadDetail);
  conversation.store.set({ threadId: "T" });
  kept.set({ threadId: null, session: null, seq: 0 });
});
afterEach(() => conversation.store.set({ threadId: null }));

describe("the chat of an open session", () => {
  const waits = { turnId: "t", status: { key: "waiting", label: "Workflow waits" }, announcement: words.waitsWords };
  const waitsAfter = (status: string) => waitingIn([plain(), exchange(played(update("running"), update(status), done))]);

  it("says that the workflow waits, live and after a reload", () => {
    for (const status of ["waiting", "stuck", "needs_human_review"]) {
      expect(waitsAfter(status), status).toMatchObject(waits);
      read({ status: status as WorkflowSession["status"] });
      expect(waitingIn([exchange(played(done))]), status).toMatchObject(waits);
      kept.set({ threadId: null, session: null, seq: 0 });
    }
    for (const status of ["complete", "failed"]) expect(waitsAfter(status), status).toBeNull();
    expect(waitingIn([plain()])).toBeNull();
  });

  it("says nothing of a session that is over, is another chat's, or is a client's", () => {
    const turns = [exchange(played(done))];
    read({ status: "complete" });
    expect(waitingIn(turns)).toBeNull();
    read({ mode: "external", status: "waiting" });
    expect(waitingIn(turns)).toBeNull();
    read();
    expect(waitingIn([])).toBeNull();
    conversation.store.set({ threadId: "U" });
    expect(waitingIn(turns)).toBeNull();
  });
});

describe("asking again", () => {
  const may = (asked: Exchange, exchanges: Exchange[], running = false) =>
    mayAskAgain(asked, { threadId: "T", phase: "ready", exchanges, running: (running ? {} : null) as never, problem: null });

  it("is not offered while a session is open, whoever carries it out: the service would refuse it", () => {
    expect(may(plain(), [plain()])).toBe(true);
    expect(may(plain(), [plain(), exchange(played(update("stuck"), done))])).toBe(false);
    for (const mode of ["service", "external"] as const) {
      read({ mode });
      expect(may(plain(), [plain()]), mode).toBe(false);
      expect(may(exchange(null), [exchange(null)]), mode).toBe(false);
    }
    read({ status: "failed" });
    expect(may(plain(), [plain()])).toBe(true);
  });

  it("is not offered on a turn that worked on a session, which another version of it could not repeat", () => {
    const live = exchange(played(update("complete"), done));
    expect([may(live, [plain(), live]), may(plain(), [plain(), live])]).toEqual([false, true]);
    const call = (status: string): Body => ({ type: "tool_call_update", tool_call_id: "c", name: "complete_step", status, parent_tool_call_id: null, args: {}, result: "", is_error: false });
    const stored = exchange(played(call("start"), call("end"), done));
    expect(may(stored, [stored])).toBe(false);
  });

  it("is not offered while a turn runs, or where the question is not known", () => {
    expect([may(plain(), [plain()], true), may({ ...plain(), question: "" }, [plain()])]).toEqual([false, false]);
  });
});

describe("the file of a chat", () => {
  const thread = (workflow_session?: WorkflowSession) => ({ title: "Pears", ...(workflow_session && { workflow_session }) }) as ThreadDetail;

  it("has the session with its steps, their notes and their files", async () => {
    const text = "# Workflow: Report\n\nGoal: Pears\n\n## 1. Ask (done)\n\n**Asked.**\n\n- a.md\n\n## 2. Look around (stuck)";
    expect(textOf(thread(session()))).toBe(text);
    expect(await feature.written?.(thread(session()))).toBe(text);
    expect(textOf(thread())).toBeNull();
    expect(markdownOf(thread(session()), [], [], [text])).toBe(`# Pears\n\n${text}\n`);
  });

  it("says where notes are cut", () => {
    const of = (chars: number) => textOf(thread(session({ notes: [{ step_id: "a", notes: "é".repeat(chars) }] })));
    expect(of(3_999)).not.toContain("These are the first");
    expect(of(4_000)).toContain("_These are the first 4,000 characters.");
  });
});

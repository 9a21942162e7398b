// Following a turn to its `done`, wherever the connection is cut.

import { describe, expect, it } from "vitest";
import type { TurnEvent } from "../wire";
import { followTurn, type Line } from "./follow";
import { Refusal, Unreachable } from "./http";

const TURN = "t";

const event = (seq: number, type: string, turn_id = TURN) => ({ seq, type, turn_id });

/** A response that carries these events and ends; `split` cuts its bytes into small pieces. */
function streamOf(events: object[], { broken = false, split = 7 } = {}): Response {
  const text = events.map((e) => `: alive\n\nevent: x\ndata: ${JSON.stringify(e)}\n\n`).join("");
  const bytes = new TextEncoder().encode(text);
  let at = 0;
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      if (at < bytes.length) controller.enqueue(bytes.slice(at, (at += split)));
      else if (broken) controller.error(new TypeError("network error"));
      else controller.close();
    },
  });
  return new Response(body);
}

/** Plays a script of answers: the first answers the POST, the others answer the resuming GETs. */
async function follow(answers: (Response | Error)[], change: Partial<Line> = {}) {
  const seen: number[] = [];
  const resumedAfter: number[] = [];
  const waits: number[] = [];
  let cuts = 0;
  let starts = 0;
  const next = async () => {
    const answer = answers.shift();
    if (!answer) throw new Error("the script is over");
    if (answer instanceof Error) throw answer;
    return answer;
  };
  const ending = followTurn({
    turnId: TURN,
    start: () => {
      starts += 1;
      return next();
    },
    resume: (after) => {
      resumedAfter.push(after);
      return next();
    },
    onEvent: (e: TurnEvent) => seen.push(e.seq),
    onOpen: () => {},
    onCut: () => {
      cuts += 1;
    },
    pause: async () => {},
    await: async (ms) => void waits.push(ms),
    signal: new AbortController().signal,
    ...change,
  });
  const result = await ending.catch((error: unknown) => error);
  return { result, seen, resumedAfter, waits, cuts, starts };
}

describe("following a turn", () => {
  it("reads one stream to the end of the turn", async () => {
    const run = await follow([streamOf([event(1, "session"), event(2, "done"), event(3, "session", "u")])]);
    expect(run).toMatchObject({ result: "done", seen: [1, 2], cuts: 0 });
  });

  it("resumes after its last event, and applies each event once", async () => {
    const run = await follow([
      streamOf([event(1, "session"), event(5, "chunk")], { broken: true }),
      streamOf([event(5, "chunk"), event(6, "chunk")]),
      new Unreachable(),
      new Refusal(503, "misconfigured", ""),
      streamOf([event(9, "done")]),
    ]);
    expect(run.result).toBe("done");
    expect(run.seen).toEqual([1, 5, 6, 9]);
    expect(run.resumedAfter).toEqual([5, 6, 6, 6]);
  });

  it("skips events of other turns", async () => {
    const log = [event(1, "session", "old"), event(2, "done", "old"), event(3, "session"), event(4, "done")];
    const run = await follow([streamOf(log)], { start: null });
    expect(run).toMatchObject({ result: "done", seen: [3, 4], resumedAfter: [0] });
  });

  it("begins after the given event", async () => {
    const run = await follow([streamOf([event(7, "session"), event(8, "done")])], { start: null, after: 6 });
    expect(run).toMatchObject({ result: "done", seen: [7, 8], resumedAfter: [6] });
  });

  it("ends at an event that stands for the whole turn, and skips such events of other turns", async () => {
    const gone = (seq: number, turn: string) => ({ ...event(seq, "session", turn), resumed: "truncated" });
    const run = await follow([
      streamOf([event(1, "session"), event(2, "chunk")], { broken: true }),
      streamOf([gone(9, TURN), event(10, "session", "next")]),
    ]);
    expect(run).toMatchObject({ result: "gone", seen: [1, 2] });
    const other = await follow([streamOf([gone(3, "old"), event(4, "session"), event(5, "done")])], {
      start: null,
    });
    expect(other).toMatchObject({ result: "done", seen: [4, 5] });
  });

});

describe("a turn that waits", () => {
  it("is asked for again at the time that the service names", async () => {
    const parked = (events: object[]) => new Response(`${events.map((e) => `data: ${JSON.stringify(e)}\n\n`).join("")}: parked\n\n`);
    const run = await follow([
      parked([event(1, "session"), event(2, "agent_state")]),
      new Response(null, { status: 204, headers: { "retry-after": "12" } }),
      parked([event(3, "agent_state")]),
      streamOf([event(4, "done")]),
    ]);
    expect(run).toMatchObject({ result: "done", seen: [1, 2, 3, 4], resumedAfter: [2, 2, 3], waits: [30_000, 12_000, 30_000], cuts: 0 });
  });

  it("is over when the service has no more events", async () => {
    const run = await follow([new Response(null, { status: 204 })], { start: null });
    expect(run.result).toBe("gone");
  });

});

describe("a request that fails", () => {
  it("is repeated a few times if the start got no answer", async () => {
    const late = await follow([new Unreachable(), streamOf([event(1, "done")])]);
    expect(late).toMatchObject({ result: "done", starts: 2 });
    const never = await follow([new Unreachable(), new Unreachable(), new Unreachable()]);
    expect(never.result).toBeInstanceOf(Unreachable);
  });

  it("is not repeated if the service refused the start", async () => {
    const run = await follow([new Refusal(500, "internal", "")]);
    expect(run.result).toBeInstanceOf(Refusal);
    expect(run.starts).toBe(1);
  });

  it("ends the turn if the thread is gone", async () => {
    const run = await follow([streamOf([event(1, "session")]), new Refusal(404, "thread_not_found", "")]);
    expect(run.result).toBeInstanceOf(Refusal);
  });
});

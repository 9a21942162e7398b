// Asking again, and a chat that another tab or device went on with.

import { beforeEach, describe, expect, it, vi } from "vitest";
import { fakeService, finished, opened, problem } from "./conversation.fixture";
import { drafts } from "./drafts";

const service = fakeService();

describe("asking again", () => {
  const told = () => {
    const session = { type: "session", seq: 1, user_message_id: "u1" };
    service.answer = ({ body }) =>
      new Response(
        [session, { type: "done", seq: 2, finish_reason: "stop" }]
          .map((event) => `data: ${JSON.stringify({ ...event, turn_id: body["turn_id"] })}\n\n`)
          .join(""),
      );
  };

  it("takes the place of the message that it names", async () => {
    told();
    const { conversation, send } = opened();
    const [first] = (await send("Hi")).exchanges;
    await send("Ho", first);
    expect(service.requests[1]!.body).toMatchObject({ content: "Ho", replaces_message_id: "u1" });
    expect(conversation.store.get().exchanges.map(({ question }) => question)).toEqual(["Ho"]);
  });

  it("leaves everything as it was when the service refuses, the new words in the draft", async () => {
    told();
    const { conversation, send } = opened();
    const [first] = (await send("Hi")).exchanges;
    service.answer = () => problem(503, "misconfigured", "No model.");
    await send("Ho", first);
    expect(conversation.store.get()).toMatchObject({ problem: { retryAt: null }, exchanges: [first] });
    expect(drafts.get()[service.requests[0]!.body["thread_id"]!]).toBe("Ho");
  });
});

it("a refused message of a button leaves the draft alone, and is tried again without it", async () => {
  service.answer = ({ body }) => finished(body["turn_id"]!);
  const { conversation, send } = opened();
  const thread = (await send("Hi")).threadId!;
  drafts.set({ [thread]: "Half a" });
  service.answer = () => problem(429, "rate_limited", "Too many.");
  await send("Continue.", null, [], false);
  expect(drafts.get()[thread]).toBe("Half a");
  service.answer = ({ body }) => finished(body["turn_id"]!);
  conversation.store.get().problem?.retry?.();
  await vi.runAllTimersAsync();
  expect(service.requests.map(({ body }) => body["content"])).toEqual(["Hi", "Continue.", "Continue."]);
  expect(drafts.get()[thread]).toBe("Half a");
});

// Issue 19, 4
describe("continuing a turn that a limit ended", () => {
  const limited = ({ body }: { body: Record<string, string> }) => {
    const session = { type: "session", seq: 1, user_message_id: "u1" };
    const events = [session, { type: "done", seq: 2, finish_reason: "budget" }];
    return new Response(
      events.map((event) => `data: ${JSON.stringify({ ...event, turn_id: body["turn_id"] })}\n\n`).join(""),
    );
  };

  it("names the turn instead of a message, and shows the service's words for it", async () => {
    service.answer = limited;
    const { conversation, send } = opened();
    const [first] = (await send("Hi")).exchanges;
    const going = conversation.goOn(first!);
    await vi.runAllTimersAsync();
    await going;
    const body = service.requests[1]!.body;
    expect(body).toMatchObject({ continue: first!.turnId, thread_id: service.requests[0]!.body["thread_id"] });
    expect("content" in body).toBe(false);
    expect(conversation.store.get().exchanges.map(({ question }) => question)).toEqual(["Hi", "Continue."]);
  });

  it("repeats the request with its ids when the line was cut, and leaves the draft alone", async () => {
    service.answer = limited;
    const { conversation, send } = opened();
    const [first] = (await send("Hi")).exchanges;
    service.answer = () => {
      throw new TypeError("no network");
    };
    const goOn = async () => {
      const going = conversation.goOn(first!);
      await vi.runAllTimersAsync();
      await going;
    };
    await goOn();
    expect(conversation.store.get().exchanges).toEqual([first]);
    expect(drafts.get()[service.requests[0]!.body["thread_id"]!]).toBeUndefined();
    service.answer = limited;
    await goOn();
    const [, cut, again] = service.requests.map(({ body }) => body);
    expect(again).toEqual(cut);
  });
});

describe("a chat that went on elsewhere", () => {
  const details = { id: "T", title: "", created_at: 0, updated_at: 0, running_turn_id: null as string | null, running_ms: null };
  const asked = (turn_id: string) => ({ id: `u${turn_id}`, turn_id, role: "user", content: turn_id, created_at: 0 });
  const said = (turn_id: string) => ({ ...asked(turn_id), id: `a${turn_id}`, role: "assistant", finish_reason: "stop" });
  let messages: object[];
  let last_seq: number;
  let running: string | null;

  beforeEach(() => {
    [messages, last_seq, running] = [[asked("1"), said("1")], 5, null];
    service.answer = ({ url }) => {
      if (url.endsWith("/stream")) return finished("2");
      if (url.includes("/messages")) return Response.json({ messages, next_cursor: null });
      return Response.json({ ...details, last_seq, running_turn_id: running });
    };
  });

  const refreshed = async () => {
    const { conversation } = opened();
    await conversation.open("T");
    service.requests.length = 0;
    return {
      conversation,
      refresh: async () => {
        const refreshing = conversation.refresh();
        await vi.runAllTimersAsync();
        await refreshing;
        return conversation.store.get();
      },
    };
  };

  it("is not read again if its last event is known", async () => {
    const { refresh } = await refreshed();
    await refresh();
    expect(service.requests.map(({ url }) => url)).toEqual(["/api/threads/T"]);
  });

  it("is read again, and a running turn is followed", async () => {
    const { refresh } = await refreshed();
    [messages, last_seq, running] = [[...messages, asked("2")], 9, "2"];
    const state = await refresh();
    expect(state.exchanges).toMatchObject([
      { question: "1" },
      { question: "2", answer: { finishReason: "stop", entries: [{ content: "Hello" }] } },
    ]);
    expect(state.running).toBeNull();
  });

  it("is missing after it was deleted", async () => {
    const { refresh } = await refreshed();
    service.answer = () => problem(404, "thread_not_found", "Gone.");
    expect((await refresh()).phase).toBe("missing");
  });
});

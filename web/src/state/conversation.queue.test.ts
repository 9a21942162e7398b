// Messages that the person sends while a turn runs. Issue 19, item 5.

import { expect, it, vi } from "vitest";
import { fakeService, finished, opened, problem } from "./conversation.fixture";

const service = fakeService();

const event = (seq: number, turn_id: string, rest: object) => `data: ${JSON.stringify({ seq, turn_id, ...rest })}\n\n`;
const begun = (turnId: string, seq: number) => event(seq, turnId, { type: "session" });
const message = (id: string, content = id) => ({ id, content, attachments: [], created_at: 1 });

/** A thread `T` with a turn `r` that runs until `end` is called. `waiting` is the queue of the service. */
async function running() {
  const queue = { held: false, messages: [] as ReturnType<typeof message>[] };
  const state = { queue, turn: "r" as string | null, lastSeq: 1, stored: [] as object[] };
  let end = () => {};
  const stream = new Response(new ReadableStream<Uint8Array>({
    start: (controller) => {
      controller.enqueue(new TextEncoder().encode(begun("r", 1)));
      end = () => {
        controller.enqueue(new TextEncoder().encode(event(2, "r", { type: "done", message_id: "a", finish_reason: "stop" })));
        controller.close();
      };
    },
  }));
  let streams = 0;
  service.answer = ({ url, method, body }) => {
    if (url === "/api/chat") {
      state.queue.messages = [...state.queue.messages, message(body["turn_id"]!, String(body["content"]))];
      return Response.json(state.queue, { status: 202 });
    }
    if (url.includes("/queue")) {
      if (method === "DELETE") {
        state.queue.messages = state.queue.messages.filter(({ id }) => !url.endsWith(id));
        return new Response(null, { status: 204 });
      }
      return Response.json(state.queue);
    }
    if (url.includes("/messages")) return Response.json({ messages: state.stored, next_cursor: null });
    if (url.endsWith("/stream")) {
      streams += 1;
      if (streams === 1) return stream;
      return state.turn === null ? new Response(null, { status: 204 }) : finished(state.turn, state.lastSeq + 1);
    }
    const first = state.turn === null ? null : state.lastSeq;
    return Response.json({
      id: "T", last_seq: state.lastSeq, running_turn_id: state.turn, running_turn_first_seq: first, running_ms: 1,
      queued: state.queue.messages.length,
    });
  };
  const page = opened();
  const opening = page.conversation.open("T");
  await vi.advanceTimersByTimeAsync(50);
  expect(page.conversation.store.get().running).toMatchObject({ turnId: "r" });
  return { ...page, state, opening, end: () => end() };
}

const sent = () => service.requests.filter(({ url }) => url === "/api/chat").map(({ body }) => [body["content"], body["if_running"]]);

it("a message waits while a turn runs, and its turn is followed when it begins", async () => {
  const { conversation, state, end, opening } = await running();
  await conversation.send("Next");
  expect(sent()).toEqual([["Next", "queue"]]);
  const [waiting] = conversation.queue.store.get().messages;
  expect(waiting).toMatchObject({ content: "Next" });
  expect(conversation.store.get().running).toMatchObject({ turnId: "r" });
  // The turn ends, and the next one has begun when the page asks.
  const turnId = waiting!.id;
  Object.assign(state, {
    turn: turnId,
    lastSeq: 2,
    stored: [
      { id: "q", turn_id: turnId, role: "user", content: "Next", created_at: 1 },
    ],
  });
  state.queue.messages = [];
  end();
  await vi.advanceTimersByTimeAsync(100);
  state.turn = null;
  await vi.advanceTimersByTimeAsync(100);
  await opening;
  const { exchanges, running: now } = conversation.store.get();
  expect(now).toBeNull();
  expect(exchanges.at(-1)).toMatchObject({ turnId, question: "Next", answer: { finishReason: "stop" } });
  expect(conversation.queue.store.get().messages).toEqual([]);
});

it("the next turn is followed also where the service has no answer at first", async () => {
  const { conversation, state, end, opening } = await running();
  await conversation.send("Next");
  const turnId = conversation.queue.store.get().messages[0]!.id;
  Object.assign(state, { turn: turnId, lastSeq: 2, stored: [{ id: "q", turn_id: turnId, role: "user", content: "Next", created_at: 1 }] });
  state.queue.messages = [];
  const given = service.answer;
  let refused = 0;
  service.answer = (request) => (request.url.endsWith("/stream") && refused++ === 0 ? problem(503, "turn_on_hold", "later") : given(request));
  end();
  for (let waits = 0; waits < 100 && refused < 2; waits++) await vi.advanceTimersByTimeAsync(100);
  await vi.advanceTimersByTimeAsync(100);
  state.turn = null;
  let isOver = false;
  void opening.finally(() => (isOver = true));
  while (!isOver) await vi.advanceTimersByTimeAsync(100);
  expect(conversation.store.get().exchanges.at(-1)).toMatchObject({ turnId, question: "Next" });
});

it("a message that is sent now supersedes, and is shown when the turn has ended", async () => {
  const { conversation, state, end } = await running();
  const given = service.answer;
  service.answer = (request) => (request.url === "/api/chat" ? finished(request.body["turn_id"]!, 3) : given(request));
  await conversation.sendNow("Rather this", []);
  expect(sent()).toEqual([["Rather this", "supersede"]]);
  state.turn = null;
  end();
  await vi.advanceTimersByTimeAsync(100);
  const { exchanges, running: now } = conversation.store.get();
  expect(now).toBeNull();
  expect(exchanges.map(({ question }) => question)).toEqual(["", "Rather this"]);
  expect(exchanges.at(-1)).toMatchObject({ answer: { finishReason: "stop" } });
});

it("a refused message comes back into the draft", async () => {
  const { conversation } = await running();
  const { draftOf } = await import("./drafts");
  const given = service.answer;
  service.answer = () => problem(409, "queue_full", "full");
  await conversation.send("Next");
  expect(draftOf("T").text).toBe("Next");
  expect(conversation.store.get()).toMatchObject({ running: { turnId: "r" }, problem: { words: expect.stringContaining("Ten") } });
  await conversation.sendNow("Now", []);
  expect(draftOf("T").text).toContain("Now");
  // The next one is taken: nothing of the refusal is left to try again.
  service.answer = given;
  await conversation.send("Later");
  expect(conversation.store.get().problem).toBeNull();
});

it("a message can be taken out of the queue, and a held queue starts nothing", async () => {
  const { conversation, state, end } = await running();
  state.queue.held = true;
  await conversation.send("One");
  await conversation.send("Two");
  const [one] = conversation.queue.store.get().messages;
  await conversation.queue.remove(one!.id);
  expect(conversation.queue.store.get().messages).toMatchObject([{ content: "Two" }]);
  state.turn = null;
  state.lastSeq = 2;
  end();
  await vi.advanceTimersByTimeAsync(10_000);
  expect(service.requests.filter(({ url }) => url.endsWith("/stream")).length).toBe(1);
  expect(conversation.queue.store.get()).toMatchObject({ held: true, messages: [{ content: "Two" }] });
});

it("tells once of a turn that ended, and not of one that was stopped", async () => {
  const { told, end, state } = await running();
  state.turn = null;
  end();
  await vi.advanceTimersByTimeAsync(100);
  expect(told).toEqual(["r ended"]);
});

it("a chat that began here shows its queue", async () => {
  const { conversation } = opened();
  service.answer = ({ url, body }) => {
    if (url !== "/api/chat") return Response.json({ held: false, messages: [] });
    if (body["if_running"]) return Response.json({ held: false, messages: [message(body["turn_id"]!)] }, { status: 202 });
    // The stream stays open.
    return new Response(new ReadableStream<Uint8Array>({
      start: (controller) => controller.enqueue(new TextEncoder().encode(begun(body["turn_id"]!, 1))),
    }));
  };
  void conversation.send("First");
  await vi.advanceTimersByTimeAsync(50);
  await conversation.send("Next");
  expect(conversation.queue.store.get().messages.length).toBe(1);
});

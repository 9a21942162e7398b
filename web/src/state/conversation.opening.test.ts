// Opening a chat, with a turn that runs or without.

import { expect, it, vi } from "vitest";
import { compose, type Turns } from "../feature";
import { fakeService, finished, opened, problem } from "./conversation.fixture";

const service = fakeService();

it("shows no answer before the code that draws it has come", async () => {
  const details = { id: "T", title: "", created_at: 0, updated_at: 0, last_seq: 3, running_turn_id: null };
  const said = { id: "a", turn_id: "1", role: "assistant", content: "Hi", created_at: 0 };
  service.answer = ({ url }) =>
    Response.json(url.includes("/messages") ? { messages: [said], next_cursor: null } : details);
  let come = () => {};
  const { conversation } = opened(() => new Promise<void>((resolve) => (come = resolve)));
  const opening = conversation.open("T");
  await vi.runAllTimersAsync();
  expect([service.requests.length, conversation.store.get().phase]).toEqual([2, "loading"]);
  come();
  await opening;
  expect(conversation.store.get()).toMatchObject({ phase: "ready", exchanges: [{ answer: { entries: [{ content: "Hi" }] } }] });
});

it("waits for the code with which a feature draws these answers, and goes on without it", async () => {
  const details = { id: "T", title: "", created_at: 0, updated_at: 0, last_seq: 3, running_turn_id: null };
  const said = { id: "a", turn_id: "1", role: "assistant", content: "Hi", created_at: 0 };
  service.answer = ({ url }) =>
    Response.json(url.includes("/messages") ? { messages: [said], next_cursor: null } : details);
  let fail = () => {};
  const seen: Turns[] = [];
  const prepare = (turns: Turns) => {
    seen.push(turns);
    return new Promise((_, reject) => (fail = () => reject(new Error("offline"))));
  };
  compose([{ name: "drawn", prepare }, { name: "plain", prepare: () => null }]);
  const { conversation } = opened();
  const opening = conversation.open("T");
  await vi.runAllTimersAsync();
  expect([seen.map((turns) => turns.map(({ turnId }) => turnId)), conversation.store.get().phase]).toEqual([[["1"]], "loading"]);
  fail();
  await opening;
  compose([]);
  expect(conversation.store.get().phase).toBe("ready");
});

it("follows a turn that runs, from its first event", async () => {
  const running = { running_turn_id: "r", running_turn_first_seq: 41 };
  const details = { id: "T", title: "", created_at: 0, updated_at: 0, last_seq: 43, ...running };
  let after: string | undefined;
  const asked = { id: "u", turn_id: "r", role: "user", content: "Still there?", created_at: 0 };
  service.answer = ({ url, headers }) => {
    if (url.endsWith("/stream")) {
      after = headers["last-event-id"];
      return finished("r", 41);
    }
    if (url.includes("/messages")) return Response.json({ messages: [asked], next_cursor: null });
    return Response.json(details);
  };
  const { conversation } = opened();
  const opening = conversation.open("T");
  await vi.runAllTimersAsync();
  await opening;
  expect(conversation.store.get()).toMatchObject({
    phase: "ready",
    running: null,
    exchanges: [{ question: "Still there?", answer: { finishReason: "stop" } }],
  });
  expect(after).toBe("40");
});

it("counts no time while the turn waits for a person", async () => {
  let tell: ReadableStreamDefaultController<Uint8Array> | undefined;
  service.answer = ({ url }) => {
    if (url.includes("/messages")) return Response.json({ messages: [], next_cursor: null });
    if (!url.endsWith("/stream")) {
      return Response.json({ id: "T", last_seq: 1, running_turn_id: "r", running_turn_first_seq: 1, running_ms: 3_000 });
    }
    return new Response(new ReadableStream<Uint8Array>({ start: (controller) => void (tell = controller) }));
  };
  const { conversation } = opened();
  const opening = conversation.open("T");
  const clock = () => conversation.store.get().running!.clock;
  const say = async (event: object) => {
    tell!.enqueue(new TextEncoder().encode(`data: ${JSON.stringify({ ...event, turn_id: "r" })}\n\n`));
    await vi.advanceTimersByTimeAsync(100);
  };
  await vi.advanceTimersByTimeAsync(100);
  await say({ type: "agent_state", seq: 1, state: "waiting_on_user" });
  const { since, waitsSince } = clock();
  expect(waitsSince! - since).toBe(3_100);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(clock()).toEqual({ since, waitsSince });
  const waited = Date.now() - waitsSince!;
  await say({ type: "agent_state", seq: 2, state: "thinking" });
  expect(clock()).toEqual({ since: since + waited, waitsSince: null });
  await say({ type: "done", seq: 3, message_id: "a", finish_reason: "stop" });
  await vi.runAllTimersAsync();
  await opening;
});

it("loads the images for which a stored message has marks", async () => {
  const data = "data:image/png;base64,iVBORw0KGgo=";
  const stored = { id: "u", turn_id: "1", role: "user", content: "Look\n\n[image/png, 1 kB]", created_at: 0 };
  service.answer = ({ url }) => {
    if (url.endsWith("/messages/u/content")) {
      return Response.json({ content: [{ type: "text", text: "Look" }, { type: "image", data }] });
    }
    if (url.includes("/messages")) return Response.json({ messages: [stored], next_cursor: null });
    return Response.json({ id: "T", last_seq: 1, running_turn_id: null, running_turn_first_seq: null, running_ms: null });
  };
  const { conversation } = opened();
  await conversation.open("T");
  const [exchange] = conversation.store.get().exchanges;
  const name = "image/png, 1 kB";
  expect(exchange).toMatchObject({ question: "Look", media: [{ name, data: null }] });
  await conversation.loadMedia(exchange!);
  expect(conversation.store.get().exchanges).toMatchObject([{ question: "Look", media: [{ name, data }] }]);
});

it("tells that a chat is missing", async () => {
  service.answer = () => problem(404, "thread_not_found", "No such thread.");
  const { conversation } = opened();
  await conversation.open("T");
  expect(conversation.store.get().phase).toBe("missing");
});

// Covers N-003 (what a request carries) and that typed words survive every failure.

import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { chosen } from "./chosen";
import { Conversation } from "./conversation";
import { draftFiles, drafts, NEW_CHAT } from "./drafts";
import { subjects } from "./subject";
import { settings } from "./settings";

interface Asked {
  url: string;
  method: string;
  headers: Record<string, string>;
  body: Record<string, string>;
}
type Answer = (request: Asked) => Response | Error;

let answer: Answer;
const requests: Asked[] = [];

beforeEach(() => {
  requests.length = 0;
  drafts.set(Object.fromEntries(Object.keys(drafts.get()).map((chat) => [chat, ""])));
  vi.stubGlobal("fetch", async (url: string, init: RequestInit) => {
    const body = init.body ? (JSON.parse(String(init.body)) as Record<string, string>) : {};
    const headers = init.headers as Record<string, string>;
    const request = { url, method: init.method ?? "GET", headers, body };
    requests.push(request);
    const given = answer(request);
    if (given instanceof Error) throw given;
    return given;
  });
  // The pauses between attempts listen to the browser for a reason to end early.
  vi.stubGlobal("window", new EventTarget());
  vi.stubGlobal("document", new EventTarget());
  vi.useFakeTimers();
});

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

const problem = (status: number, code: string, detail: string) =>
  Response.json({ status, code, detail }, { status });

function finished(turn_id: string, seq = 1): Response {
  const events = [
    { type: "session", seq, turn_id },
    { type: "chunk", seq: seq + 1, turn_id, content: "Hello", part_id: "p", model_call_id: "m" },
    { type: "done", seq: seq + 2, turn_id, message_id: "a", finish_reason: "stop" },
  ];
  return new Response(events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(""));
}

function opened(prepare: () => Promise<unknown> = async () => {}) {
  const began: string[] = [];
  const answered: string[] = [];
  const conversation = new Conversation({ prepare, began: (id) => began.push(id), ended: () => {}, called: () => {}, answered: (id) => answered.push(id) });
  const send = async (content: string) => {
    const sending = conversation.send(content);
    await vi.runAllTimersAsync();
    await sending;
    return conversation.store.get();
  };
  return { conversation, began, answered, send };
}

describe("sending", () => {
  it("waits for a chat that is about to be opened", async () => {
    answer = ({ body }) => finished(body["turn_id"]!);
    const { conversation, send } = opened();
    conversation.expect();
    await send("Hello");
    expect(requests).toEqual([]);
    await conversation.open(null);
    await send("Hello");
    expect(requests.length).toBe(1);
  });

  it("carries the words and two ids, and nothing about modes or tools", async () => {
    answer = ({ body }) => finished(body["turn_id"]!);
    const { send, began } = opened();
    const state = await send("Hi");
    expect(requests.map(({ url, body }) => [url, Object.keys(body).sort()])).toEqual([
      ["/api/chat", ["content", "thread_id", "turn_id"]],
    ]);
    expect(began).toEqual([requests[0]!.body["thread_id"]]);
    expect(state.running).toBeNull();
    expect(state.exchanges).toMatchObject([
      { question: "Hi", answer: { finishReason: "stop", entries: [{ content: "Hello" }] } },
    ]);
  });

  it("says that it may remember, and what it may search, where a person chose so", async () => {
    answer = ({ body }) => finished(body["turn_id"]!);
    chosen.choose(NEW_CHAT, [{ id: "c1", name: "Walls" }]);
    settings.set({ memory: true });
    const { send } = opened();
    await send("Hi");
    await send("And now?");
    settings.set({ memory: false });
    chosen.store.set({ byChat: {} });
    await send("Plainly");
    expect(requests.map(({ body }) => [body["memory_enabled"], body["collections"]])).toEqual([
      [true, ["c1"]],
      [true, ["c1"]],
      [undefined, undefined],
    ]);
  });

  // CF-26
  it("says what the chat is about, which a new chat takes along", async () => {
    answer = ({ body }) => finished(body["turn_id"]!);
    const { send } = opened();
    subjects.choose(NEW_CHAT, { type: "project", entity: { id: "p1", name: "Garden" } });
    await send("Hi");
    const thread = String(requests[0]!.body["thread_id"]);
    subjects.choose(thread, { type: "task" });
    await send("And now?");
    subjects.choose(thread, { type: "swarm" });
    await send("All of it");
    // Of a later version of the page, or of somebody who wrote into the storage.
    subjects.choose(thread, { type: "toString" as "task" });
    await send("Plainly");
    subjects.store.set({ byChat: {} });
    expect(requests.map(({ body }) => body["mode_profile"] ?? body["chat_context"])).toEqual([
      { kind: "thread", context_type: "project", entity_id: "p1" },
      { kind: "thread", context_type: "task" },
      "swarm",
      undefined,
    ]);
  });

  it("leaves a collection out that is not there any more, and gives the words back", async () => {
    chosen.choose(NEW_CHAT, [{ id: "c1", name: "Walls" }, { id: "c2", name: "Gone" }]);
    answer = () => Response.json({ code: "collection_not_found", detail: "There is none.", field: "collections[1]" }, { status: 404 });
    const { send } = opened();
    const state = await send("Hi");
    expect([state.problem, drafts.get()[NEW_CHAT]]).toEqual(["There is none.", "Hi"]);
    answer = ({ body }) => finished(body["turn_id"]!);
    await send("Hi");
    expect(requests.map(({ body }) => body["collections"])).toEqual([["c1", "c2"], ["c1"]]);
    chosen.store.set({ byChat: {} });
  });

  it("sends images as parts, shows them, and gives them back when they are refused", async () => {
    const media = [{ name: "a.png", data: "data:image/png;base64,iVBORw0KGgo=" }];
    answer = ({ body }) => finished(body["turn_id"]!);
    const { conversation } = opened();
    const send = async (words: string) => {
      const sending = conversation.send(words, null, media);
      await vi.runAllTimersAsync();
      await sending;
      return conversation.store.get();
    };
    const state = await send("Look");
    expect(requests[0]!.body["content"]).toEqual([
      { type: "text", text: "Look" },
      { type: "image", data: media[0]!.data },
    ]);
    expect(state.exchanges).toMatchObject([{ question: "Look", media }]);
    answer = () => problem(400, "invalid_request", "This model sees no images.");
    await send("");
    const chat = requests[0]!.body["thread_id"]!;
    expect([drafts.get()[chat], draftFiles.get()[chat]]).toEqual(["", media]);
  });

  it("gives refused words back, with the service's reason", async () => {
    answer = () => problem(503, "misconfigured", "No model.");
    const { send, began } = opened();
    const state = await send("Hi");
    expect(state).toMatchObject({ threadId: null, running: null, problem: "No model.", exchanges: [] });
    expect(drafts.get()[NEW_CHAT]).toBe("Hi");
    expect(began).toEqual([]);
  });

  it("uses the same ids for the same words when nobody knows whether they arrived", async () => {
    answer = () => new TypeError("fetch failed");
    const { send } = opened();
    const state = await send("Hi");
    expect(state.problem).toContain("cannot be reached");
    expect(drafts.get()[NEW_CHAT]).toBe("Hi");
    answer = ({ body }) => finished(body["turn_id"]!);
    await send("Hi");
    expect(requests.length).toBe(4);
    expect(new Set(requests.map(({ body }) => body["turn_id"])).size).toBe(1);
    await send("Hi");
    expect(new Set(requests.map(({ body }) => body["turn_id"])).size).toBe(2);
  });

  it("renews a lost session once and asks again", async () => {
    let known = false;
    answer = ({ url, body }) => {
      if (url === "/api/session") {
        known = true;
        return Response.json({ user_id: "u", expires_at: 0 });
      }
      return known ? finished(body["turn_id"]!) : problem(401, "unauthenticated", "Who are you?");
    };
    const { send } = opened();
    const state = await send("Hi");
    expect(requests.map(({ url }) => url)).toEqual(["/api/chat", "/api/session", "/api/chat"]);
    expect(state.problem).toBeNull();
    expect(state.exchanges).toHaveLength(1);
  });
});

describe("asking again", () => {
  const told = () => {
    const session = { type: "session", seq: 1, user_message_id: "u1" };
    answer = ({ body }) =>
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
    const sending = conversation.send("Ho", first);
    await vi.runAllTimersAsync();
    await sending;
    expect(requests[1]!.body).toMatchObject({ content: "Ho", replaces_message_id: "u1" });
    expect(conversation.store.get().exchanges.map(({ question }) => question)).toEqual(["Ho"]);
  });

  it("leaves everything as it was when the service refuses, the new words in the draft", async () => {
    told();
    const { conversation, send } = opened();
    const [first] = (await send("Hi")).exchanges;
    answer = () => problem(503, "misconfigured", "No model.");
    const sending = conversation.send("Ho", first);
    await vi.runAllTimersAsync();
    await sending;
    expect(conversation.store.get()).toMatchObject({ problem: "No model.", exchanges: [first] });
    expect(drafts.get()[requests[0]!.body["thread_id"]!]).toBe("Ho");
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
    answer = ({ url }) => {
      if (url.endsWith("/stream")) return finished("2");
      if (url.includes("/messages")) return Response.json({ messages, next_cursor: null });
      return Response.json({ ...details, last_seq, running_turn_id: running });
    };
  });

  const refreshed = async () => {
    const { conversation } = opened();
    await conversation.open("T");
    requests.length = 0;
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

  it("is asked for its last event only, where that is known", async () => {
    const { refresh } = await refreshed();
    await refresh();
    expect(requests.map(({ url }) => url)).toEqual(["/api/threads/T"]);
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

  it("is not there any more when it was deleted", async () => {
    const { refresh } = await refreshed();
    answer = () => problem(404, "thread_not_found", "Gone.");
    expect((await refresh()).phase).toBe("missing");
  });
});

describe("opening", () => {
  it("shows no answer before that is there which draws it", async () => {
    const details = { id: "T", title: "", created_at: 0, updated_at: 0, last_seq: 3, running_turn_id: null };
    const said = { id: "a", turn_id: "1", role: "assistant", content: "Hi", created_at: 0 };
    answer = ({ url }) =>
      Response.json(url.includes("/messages") ? { messages: [said], next_cursor: null } : details);
    let come = () => {};
    const { conversation } = opened(() => new Promise<void>((resolve) => (come = resolve)));
    const opening = conversation.open("T");
    await vi.runAllTimersAsync();
    expect([requests.length, conversation.store.get().phase]).toEqual([2, "loading"]);
    come();
    await opening;
    expect(conversation.store.get()).toMatchObject({ phase: "ready", exchanges: [{ answer: { entries: [{ content: "Hi" }] } }] });
  });

  it("reads on from a turn that runs", async () => {
    const running = { running_turn_id: "r", running_turn_first_seq: 41 };
    const details = { id: "T", title: "", created_at: 0, updated_at: 0, last_seq: 43, ...running };
    let after: string | undefined;
    const asked = { id: "u", turn_id: "r", role: "user", content: "Still there?", created_at: 0 };
    answer = ({ url, headers }) => {
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
    answer = ({ url }) => {
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

  describe("a turn that waits", () => {
    const waiting = 'data: {"type":"agent_state","seq":1,"turn_id":"r","state":"waiting_on_user"}\n\n: parked\n\n';
    const streams = () => requests.filter(({ url }) => url.endsWith("/stream")).length;
    let over: boolean;

    const parked = async () => {
      over = false;
      answer = ({ url, method }) => {
        if (method === "POST") return Response.json({ taken: true });
        if (url.includes("/messages")) return Response.json({ messages: [], next_cursor: null });
        if (!url.endsWith("/stream")) {
          return Response.json({ id: "T", last_seq: 1, running_turn_id: "r", running_turn_first_seq: 1, running_ms: 3_000 });
        }
        if (over) return finished("r", 2);
        return streams() === 1
          ? new Response(waiting)
          : new Response(null, { status: 204, headers: { "retry-after": "30" } });
      };
      const page = opened();
      const opening = page.conversation.open("T");
      await vi.advanceTimersByTimeAsync(100);
      expect(streams()).toBe(1);
      expect(page.conversation.store.get().running).toMatchObject({ turnId: "r", connection: "open" });
      const ends = async () => {
        await vi.advanceTimersByTimeAsync(100);
        await opening;
        expect(page.conversation.store.get()).toMatchObject({ running: null, exchanges: [{ answer: { finishReason: "stop" } }] });
      };
      return { ...page, ends };
    };

    it("is asked for every 30 s, and goes on where it was", async () => {
      const { ends } = await parked();
      await vi.advanceTimersByTimeAsync(29_800);
      expect(streams()).toBe(1);
      await vi.advanceTimersByTimeAsync(200);
      expect(streams()).toBe(2);
      over = true;
      await vi.advanceTimersByTimeAsync(30_000);
      await ends();
      expect(requests.findLast(({ url }) => url.endsWith("/stream"))!.headers["last-event-id"]).toBe("1");
    });

    it("is read on at once when the person here has answered or stopped it", async () => {
      const first = await parked();
      over = true;
      await first.conversation.decide("a", "approve");
      await first.ends();
      expect(first.answered).toEqual(["T"]);
      requests.length = 0;
      const second = await parked();
      over = true;
      await second.conversation.stop();
      await second.ends();
    });

    it("is read on at once when the answer was heard before its stream had ended", async () => {
      let end = () => {};
      const seen = await parked();
      const running = seen.conversation.store.get().running!;
      // The stream of another wait, which is still open while the person answers.
      const given = answer;
      answer = (request) =>
        request.url.endsWith("/stream") && !over
          ? new Response(new ReadableStream<Uint8Array>({
              start: (controller) => {
                end = () => {
                  controller.enqueue(new TextEncoder().encode(": parked\n\n"));
                  controller.close();
                };
              },
            }))
          : given(request);
      await vi.advanceTimersByTimeAsync(30_000);
      expect(running.turnId).toBe("r");
      await seen.conversation.decide("a", "approve");
      over = true;
      end();
      await seen.ends();
    });

    it("is read on at once when another tab has answered it", async () => {
      const { conversation, ends } = await parked();
      over = true;
      await conversation.refresh();
      await ends();
    });

    it("is left alone while nobody looks, and asked for when somebody does", async () => {
      const { ends } = await parked();
      const page = Object.assign(document, { visibilityState: "hidden" });
      await vi.advanceTimersByTimeAsync(600_000);
      expect(streams()).toBe(1);
      over = true;
      page.visibilityState = "visible";
      document.dispatchEvent(new Event("visibilitychange"));
      await ends();
    });

    it("is left when another chat is opened", async () => {
      const { conversation } = await parked();
      await conversation.open(null);
      await vi.advanceTimersByTimeAsync(60_000);
      expect(streams()).toBe(1);
      expect(conversation.store.get().running).toBeNull();
    });
  });

  it("gets the images that a stored message has only marks of", async () => {
    const data = "data:image/png;base64,iVBORw0KGgo=";
    const stored = { id: "u", turn_id: "1", role: "user", content: "Look\n\n[image/png, 1 kB]", created_at: 0 };
    answer = ({ url }) => {
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

  it("says when a chat is not there", async () => {
    answer = () => problem(404, "thread_not_found", "No such thread.");
    const { conversation } = opened();
    await conversation.open("T");
    expect(conversation.store.get().phase).toBe("missing");
  });
});

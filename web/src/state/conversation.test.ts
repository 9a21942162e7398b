// N-003. Sending a message: the members of the request, and typed words survive every failure.

import { expect, it, vi } from "vitest";
import { compose } from "../feature";
import { fakeService, finished, opened, problem } from "./conversation.fixture";
import { draftFiles, drafts, NEW_CHAT } from "./drafts";
import { requestOf } from "./request";
import { subjects } from "./subject";

const service = fakeService();

it("sends nothing before the expected chat is open", async () => {
  service.answer = ({ body }) => finished(body["turn_id"]!);
  const { conversation, send } = opened();
  conversation.expect();
  await send("Hello");
  expect(service.requests).toEqual([]);
  await conversation.open(null);
  await send("Hello");
  expect(service.requests.length).toBe(1);
});

it("carries the words, two ids and the time zone, without modes or tools", async () => {
  service.answer = ({ body }) => finished(body["turn_id"]!);
  const { send, began } = opened();
  const state = await send("Hi");
  expect(service.requests.map(({ url, body }) => [url, Object.keys(body).sort()])).toEqual([
    ["/api/chat", ["content", "thread_id", "time_zone", "turn_id"]],
  ]);
  expect(service.requests[0]!.body["time_zone"]).toBe(Intl.DateTimeFormat().resolvedOptions().timeZone);
  expect(began).toEqual([service.requests[0]!.body["thread_id"]]);
  expect(state.running).toBeNull();
  expect(state.exchanges).toMatchObject([
    { question: "Hi", answer: { finishReason: "stop", entries: [{ content: "Hello" }] } },
  ]);
});

it("names no time zone that the browser does not know", () => {
  for (const timeZone of ["Etc/Unknown", "", undefined]) {
    vi.stubGlobal("Intl", { DateTimeFormat: () => ({ resolvedOptions: () => ({ timeZone }) }) });
    expect(requestOf(null, "Hi", null, null)).not.toHaveProperty("time_zone");
    vi.unstubAllGlobals();
  }
});

it("names the chat's subject, which a new chat passes on to its thread", async () => {
  service.answer = ({ body }) => finished(body["turn_id"]!);
  const { send } = opened();
  subjects.choose(NEW_CHAT, { type: "general" });
  await send("Hi");
  const thread = String(service.requests[0]!.body["thread_id"]);
  subjects.choose(thread, { type: "swarm" });
  await send("All of it");
  // A later version of the page may have kept it, or a person wrote it into the storage.
  subjects.choose(thread, { type: "toString" });
  await send("Plainly");
  subjects.store.set({ byChat: {} });
  expect(service.requests.map(({ body }) => body["mode_profile"] ?? body["chat_context"])).toEqual([
    { kind: "thread", context_type: "general" },
    "swarm",
    undefined,
  ]);
});

it("carries what a feature adds, and tells the feature of a refusal", async () => {
  const heard: unknown[] = [];
  compose([
    {
      name: "notes",
      request: (chat) => ({ extra: chat }) as object,
      refused: (chat, { code, field }) => heard.push([chat, code, field]),
    },
  ]);
  service.answer = () => Response.json({ code: "note_not_found", detail: "There is none.", field: "extra" }, { status: 404 });
  await opened().send("Hi");
  compose([]);
  expect(service.requests.map(({ body }) => body["extra"])).toEqual([NEW_CHAT]);
  expect(heard).toEqual([[NEW_CHAT, "note_not_found", "extra"]]);
});

it("sends images as parts, shows them, and gives them back when they are refused", async () => {
  const media = [{ name: "a.png", data: "data:image/png;base64,iVBORw0KGgo=" }];
  service.answer = ({ body }) => finished(body["turn_id"]!);
  const { send } = opened();
  const state = await send("Look", null, media);
  expect(service.requests[0]!.body["content"]).toEqual([
    { type: "text", text: "Look" },
    { type: "image", data: media[0]!.data },
  ]);
  expect(state.exchanges).toMatchObject([{ question: "Look", media }]);
  service.answer = () => problem(400, "invalid_request", "This model sees no images.");
  await send("", null, media);
  const chat = service.requests[0]!.body["thread_id"]!;
  expect([drafts.get()[chat], draftFiles.get()[chat]]).toEqual(["", media]);
});

it("leaves the draft alone when a button sends the message", async () => {
  service.answer = ({ body }) => finished(body["turn_id"]!);
  const { conversation, send } = opened();
  const chat = (await send("Hi")).threadId!;
  drafts.set({ [chat]: "half a thought" });
  await send("Run the plan.", null, [], false);
  expect([drafts.get()[chat], conversation.store.get().exchanges.at(-1)?.question]).toEqual(["half a thought", "Run the plan."]);
});

it("gives refused words back, with the service's reason", async () => {
  service.answer = () => problem(503, "misconfigured", "No model.");
  const { send, began } = opened();
  const state = await send("Hi");
  expect(state).toMatchObject({ threadId: null, running: null, problem: { words: "The service is not set up correctly. Tell its operator." }, exchanges: [] });
  expect(drafts.get()[NEW_CHAT]).toBe("Hi");
  expect(began).toEqual([]);
});

it("uses the same ids for the same words if the first request may have arrived", async () => {
  service.answer = () => new TypeError("fetch failed");
  const { send } = opened();
  const state = await send("Hi");
  expect(state.problem).toMatchObject({ lost: true, words: expect.stringContaining("cannot be reached") });
  expect(drafts.get()[NEW_CHAT]).toBe("Hi");
  service.answer = ({ body }) => finished(body["turn_id"]!);
  await send("Hi");
  expect(service.requests.length).toBe(4);
  expect(new Set(service.requests.map(({ body }) => body["turn_id"])).size).toBe(1);
  await send("Hi");
  expect(new Set(service.requests.map(({ body }) => body["turn_id"])).size).toBe(2);
});

it("renews a lost session once and asks again", async () => {
  let known = false;
  service.answer = ({ url, body }) => {
    if (url === "/api/session") {
      known = true;
      return Response.json({ user_id: "u", expires_at: 0 });
    }
    return known ? finished(body["turn_id"]!) : problem(401, "unauthenticated", "Who are you?");
  };
  const { send } = opened();
  const state = await send("Hi");
  expect(service.requests.map(({ url }) => url)).toEqual(["/api/chat", "/api/session", "/api/chat"]);
  expect(state.problem).toBeNull();
  expect(state.exchanges).toHaveLength(1);
});

// The last one: no later request names the time zone.
it("goes without a time zone that the service does not know", async () => {
  service.answer = ({ body }) =>
    body["time_zone"] === undefined ? finished(body["turn_id"]!) : Response.json({ code: "invalid_request", detail: "no", field: "time_zone" }, { status: 400 });
  const { send } = opened();
  await send("Hi");
  await send("Hi");
  expect(service.requests.map(({ body }) => "time_zone" in body)).toEqual([true, false]);
});

// Versions in the open chat: an edited earlier message, and another path. Issue 19, item 2.

import { beforeEach, describe, expect, it, vi } from "vitest";
import { fakeService, finished, opened, problem } from "./conversation.fixture";

const service = fakeService();
const details = { id: "T", title: "", created_at: 0, updated_at: 0, running_turn_id: null, running_ms: null };
const asked = (turn_id: string) => ({ id: `u${turn_id}`, turn_id, role: "user", content: turn_id, created_at: 0 });
const said = (turn_id: string) => ({ ...asked(turn_id), id: `a${turn_id}`, role: "assistant", finish_reason: "stop" });
const both = (...turns: string[]) => turns.flatMap((turn) => [asked(turn), said(turn)]);
const version = (turn_id: string, on_path: boolean) => ({ turn_id, parent_turn_id: "1", question_of: turn_id, on_path });

let path: string[];
let refusal: Response | null;

beforeEach(() => {
  [path, refusal] = [["1", "2", "3"], null];
  service.answer = ({ url, method, body }) => {
    if (method === "PATCH") {
      if (refusal) return refusal;
      path = body["current_turn_id"] === "4" ? ["1", "4"] : ["1", "2", "3"];
      return Response.json({ ...details, last_seq: 9 });
    }
    if (method === "POST") return refusal ?? finished(body["turn_id"]!, 20);
    if (!url.includes("/messages")) return Response.json({ ...details, last_seq: 5 });
    const versions = ["2", "4"].map((turn) => version(turn, path.includes(turn)));
    return Response.json({ messages: both(...path), versions, next_cursor: null });
  };
});

const shown = async () => {
  const { conversation, send } = opened();
  await conversation.open("T");
  const turns = () => conversation.store.get().exchanges.map(({ turnId }) => turnId);
  return { conversation, send, turns };
};

describe("another version", () => {
  it("is shown with what follows it, and keeps the exchanges before it", async () => {
    const { conversation, turns } = await shown();
    const first = conversation.store.get().exchanges[0];
    expect(conversation.store.get().exchanges[1]!.versions).toEqual([version("2", true), version("4", false)]);
    await conversation.choose("4");
    expect(service.requests.find(({ method }) => method === "PATCH")!.body).toEqual({ current_turn_id: "4" });
    expect(turns()).toEqual(["1", "4"]);
    expect(conversation.store.get().exchanges[0]).toBe(first);
  });

  it("is shown after a reading of the chat that was on its way, and the last click counts", async () => {
    const { conversation, turns } = await shown();
    service.requests.length = 0;
    const refreshing = conversation.refresh();
    await Promise.all([conversation.choose("4"), conversation.choose("2"), refreshing]);
    const changed = service.requests.filter(({ method }) => method === "PATCH");
    expect(changed.map(({ body }) => body["current_turn_id"])).toEqual(["4", "2"]);
    expect(service.requests.findIndex(({ method }) => method === "PATCH")).toBeGreaterThan(0);
    expect(turns()).toEqual(["1", "2", "3"]);
  });

  it("leaves everything as it was when the service refuses", async () => {
    const { conversation, turns } = await shown();
    refusal = problem(409, "turn_in_progress", "A turn runs.");
    await conversation.choose("4");
    expect(turns()).toEqual(["1", "2", "3"]);
    expect(conversation.store.get().problem?.retry).not.toBeNull();
  });
});

describe("versions", () => {
  it("count once although their turn lies on two pages", async () => {
    const answer = service.answer;
    service.answer = (request) => {
      if (!request.url.includes("/messages")) return answer(request);
      const versions = [version("2", true), version("4", false)];
      const second = request.url.includes("cursor");
      const messages = second ? [said("2")] : [...both("1"), asked("2")];
      return Response.json({ messages, versions, next_cursor: second ? null : "3" });
    };
    const { conversation } = await shown();
    expect(conversation.store.get().exchanges[1]!.versions).toHaveLength(2);
  });
});

describe("an earlier message that is edited", () => {
  it("begins a version, and what came after it leaves the screen", async () => {
    const { conversation, send, turns } = await shown();
    const second = conversation.store.get().exchanges[1]!;
    await send("edited", second);
    const asked = service.requests.find(({ method }) => method === "POST")!.body;
    expect(asked).toMatchObject({ content: "edited", replaces_message_id: "u2" });
    expect(turns()).toEqual(["1", asked["turn_id"]]);
    const own = { ...version(asked["turn_id"]!, true) };
    expect(conversation.store.get().exchanges[1]!.versions).toEqual([version("2", false), version("4", false), own]);
  });

  it("comes back with all that came after it when the service refuses", async () => {
    const { conversation, turns } = await shown();
    refusal = problem(409, "too_many_versions", "There are 50.");
    const sending = conversation.send("edited", conversation.store.get().exchanges[1]!);
    await vi.runAllTimersAsync();
    await sending;
    expect(turns()).toEqual(["1", "2", "3"]);
    expect(conversation.store.get().problem?.words).toContain("too many versions");
  });
});

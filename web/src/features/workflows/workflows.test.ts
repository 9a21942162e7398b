// Issue 21: the panel's acts on workflows, the choice for the next message, and what the page knows of a session. N-019 W-007

import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Refusal } from "../../api/http";
import { served, type Answer } from "../../api/served.fixture";
import { compose } from "../../feature";
import { NEW_CHAT } from "../../state/drafts";
import { conversation } from "../../state/page";
import { reduceTurn } from "../../turn/reduce";
import { newTurn, type TurnView } from "../../turn/view";
import type { TurnEvent } from "../../wire";
import { workflows as feature } from ".";
import { choice } from "./choice";
import { newsOf } from "./knowledge";
import { words } from "./panel/en";
import { lineAt } from "./panel/json";
import { kept, newest } from "./session";
import { sessions } from "./session/sessions";
import { MAX_BYTES, Workflows } from "./workflows";

compose([feature]);

const definition = (name: string) => ({ name, steps: [{ id: "a", title: "A", instructions: "Do A." }, { id: "b", title: "B", instructions: "Do B." }] });
const summary = (workflow_id: string, change = {}) => ({ workflow_id, name: `Named ${workflow_id}`, steps: 2, version: 1, built_in: false, updated_at: 1, ...change });
const detail = (id: string, change = {}) => ({ ...summary(id, change), definition: definition(`Named ${id}`) });

let requests: string[] = [];
let bodies: unknown[] = [];
let answer: Answer;

beforeEach(() => {
  choice.store.set({ byChat: {} });
  kept.set({ threadId: null, session: null, seq: 0 });
  vi.stubGlobal("localStorage", { getItem: () => null, setItem: () => {} });
  answer = (line) => {
    const id = line.split("/").at(-1) ?? "";
    if (line.startsWith("DELETE")) return new Response(null, { status: 204 });
    if (line.startsWith("PUT")) return Response.json({ ...detail(id, { version: 2 }), ignored: ["unknown"] });
    if (line.startsWith("GET /api/workflows/")) return Response.json(detail(id));
    return Response.json({ workflows: [summary("mine"), summary("report", { built_in: true })], max: 100 });
  };
  ({ requests, bodies } = served((line) => answer(line)));
});

afterEach(() => vi.unstubAllGlobals());

async function loaded() {
  const workflows = new Workflows();
  await workflows.load();
  return workflows;
}

const refusal = (status: number, body: object) => () => Response.json(body, { status });

/** The words of a refusal, with the line that they are about. */
function toldIn(workflows: Workflows): string | null {
  const { draft } = workflows.desk.get();
  const at = draft?.refused?.at;
  if (!draft?.refused) return null;
  const place = typeof at === "object" && at ? `${lineAt(draft.text, at.from).line} ${draft.text.slice(at.from, at.to)}` : at;
  return `${place}: ${draft.refused.words}`;
}

describe("the workflows", () => {
  it("are listed, opened and left again", async () => {
    const workflows = await loaded();
    expect(workflows.desk.get()).toMatchObject({ phase: "ready", max: 100, list: [{ workflow_id: "mine" }, { workflow_id: "report" }] });
    await workflows.open("mine");
    expect(workflows.desk.get()).toMatchObject({ openId: "mine", open: { definition: { name: "Named mine" } } });
    await workflows.open(null);
    expect(workflows.desk.get()).toMatchObject({ openId: null, open: null });
  });

  it("stay on screen after a failure, and an answer that comes late is dropped", async () => {
    const workflows = await loaded();
    let late: (answer: Response) => void = () => {};
    answer = (line) => (line.endsWith("/mine") ? new Promise((resolve) => (late = resolve)) : Response.json({ workflows: [summary("mine")], max: 100 }));
    const opening = workflows.open("mine");
    await workflows.open(null);
    late(Response.json(detail("mine")));
    await opening;
    expect(workflows.desk.get()).toMatchObject({ openId: null, open: null });
    answer = refusal(500, { code: "internal", detail: "no" });
    await workflows.load();
    expect(workflows.desk.get()).toMatchObject({ phase: "ready", list: [{ workflow_id: "mine" }], problem: expect.stringContaining("went wrong") });
  });

  it("are deleted, also one that was gone before", async () => {
    const workflows = await loaded();
    await workflows.open("mine");
    expect(await workflows.remove()).toBe(true);
    expect([requests.includes("DELETE /api/workflows/mine"), workflows.desk.get().openId]).toEqual([true, null]);
    await workflows.open("mine");
    const plain = answer;
    answer = (line) => (line.startsWith("DELETE") ? refusal(404, { code: "workflow_not_found", detail: "gone" })() : plain(line));
    expect(await workflows.remove()).toBe(true);
    await workflows.open("mine");
    answer = (line) => (line.startsWith("DELETE") ? refusal(403, { code: "insufficient_scope", detail: "no" })() : plain(line));
    expect([await workflows.remove(), workflows.desk.get().openId]).toEqual([false, "mine"]);
    expect(workflows.desk.get().problem).toContain("API key");
  });
});

describe("a definition", () => {
  it("is saved as it is written, and is open as its new version then", async () => {
    const workflows = await loaded();
    await workflows.open("mine");
    workflows.write();
    expect(workflows.desk.get().draft).toMatchObject({ id: "mine", isNew: false, refused: null });
    workflows.change({ text: '{"name": "Other", "unknown": [1]}' });
    expect(await workflows.save()).toBe(true);
    expect(bodies[requests.indexOf("PUT /api/workflows/mine")]).toEqual({ name: "Other", unknown: [1] });
    expect(workflows.desk.get()).toMatchObject({ draft: null, openId: "mine", saved: { version: 2, ignored: ["unknown"] } });
  });

  it("that was changed while it is saved stays as a draft of the next version", async () => {
    const workflows = await loaded();
    workflows.write();
    let saved: (answer: Response) => void = () => {};
    const plain = answer;
    answer = (line) => (line.startsWith("PUT") ? new Promise((resolve) => (saved = resolve)) : plain(line));
    const saving = workflows.save();
    workflows.change({ text: "{more", id: "another" });
    saved(Response.json(detail("my-workflow")));
    expect(await saving).toBe(true);
    expect(workflows.desk.get()).toMatchObject({ draft: { id: "my-workflow", isNew: false, text: "{more" }, openId: "my-workflow", saved: { version: 1 } });
  });

  it("that is wrong for the service is refused at the member that is wrong", async () => {
    const workflows = await loaded();
    await workflows.open("mine");
    workflows.write();
    const begun = workflows.desk.get().draft?.text;
    answer = refusal(400, { code: "invalid_request", field: "steps[1].id", detail: "another step has this id" });
    expect(await workflows.save()).toBe(false);
    expect(toldIn(workflows)).toBe('10 "b": steps[1].id: another step has this id');
    answer = refusal(400, { code: "invalid_request", field: "steps[0].verifier.threshold", detail: "missing" });
    await workflows.save();
    expect(toldIn(workflows)).toBe("4 {: steps[0].verifier.threshold: missing");
    answer = refusal(409, { code: "other", detail: "there are 100 workflows" });
    await workflows.save();
    expect(toldIn(workflows)).toBe("null: there are 100 workflows");
    answer = () => Promise.reject(new TypeError("no line"));
    await workflows.save();
    expect(toldIn(workflows)).toContain("cannot be reached");
    // The text stays, and a change takes the message away.
    expect(workflows.desk.get().draft?.text).toBe(begun);
    workflows.change({ text: "{}" });
    expect(toldIn(workflows)).toBeNull();
  });

});

describe("a text that is no definition", () => {
  it("is refused here, without a request, where it is no JSON", async () => {
    const workflows = await loaded();
    await workflows.open("mine");
    workflows.write();
    requests.length = 0;
    workflows.change({ text: '{\n  "name": "x"\n  "goal": ""\n}' });
    await workflows.save();
    expect(toldIn(workflows)).toBe(`3 ": ${words.mistakes.comma}`);
    workflows.change({ text: "[1]" });
    await workflows.save();
    expect(toldIn(workflows)).toBe(`1 [1]: ${words.notObject}`);
    expect(requests).toEqual([]);
  });

  it("is refused above 64 KiB", async () => {
    expect(MAX_BYTES).toBe(65_536);
    const workflows = await loaded();
    await workflows.open("mine");
    workflows.write();
    const sized = (bytes: number) => JSON.stringify({ name: `é${"x".repeat(bytes - 13)}` });
    expect(new TextEncoder().encode(sized(MAX_BYTES)).length).toBe(MAX_BYTES);
    workflows.change({ text: sized(MAX_BYTES + 1) });
    expect(await workflows.save()).toBe(false);
    expect(toldIn(workflows)).toBe("null: A definition has at most 64 KiB.");
    workflows.change({ text: sized(MAX_BYTES) });
    expect(await workflows.save()).toBe(true);
  });

  it("is refused without an id that is free and well formed", async () => {
    const workflows = await loaded();
    workflows.write();
    expect(workflows.desk.get().draft).toMatchObject({ id: "my-workflow", isNew: true });
    for (const id of ["", "-a", "A", "a b", "x".repeat(65)]) {
      workflows.change({ id });
      await workflows.save();
      expect(toldIn(workflows), id).toBe(`id: ${words.idRule}`);
    }
    workflows.change({ id: "mine" });
    await workflows.save();
    expect(toldIn(workflows)).toBe(`id: ${words.idTaken("mine")}`);
    answer = refusal(400, { code: "invalid_request", field: "workflow", detail: "expected 1 to 64" });
    workflows.change({ id: "x".repeat(64) });
    await workflows.save();
    expect(toldIn(workflows)).toBe("id: expected 1 to 64");
    answer = () => Response.json(detail("report", { version: 1 }));
    // One's own workflow may stand in place of a built-in one.
    workflows.change({ id: "report" });
    expect(await workflows.save()).toBe(true);
  });
});

it("keeps a draft for when the panel opens again", async () => {
  const workflows = await loaded();
  await workflows.open("mine");
  workflows.write();
  workflows.change({ text: "{half" });
  workflows.show();
  expect(workflows.desk.get()).toMatchObject({ openId: "mine", draft: { text: "{half" } });
  workflows.discard();
  workflows.show();
  expect(workflows.desk.get()).toMatchObject({ openId: null, draft: null });
});

type Body = { type: TurnEvent["type"] } & Record<string, unknown>;
const played = (...events: Body[]): TurnView =>
  events.map((body, at) => ({ ...body, seq: at + 1, turn_id: "t" }) as unknown as TurnEvent).reduce(reduceTurn, newTurn("t"));
const update = (status: string, index: number): Body => ({ type: "workflow_update", session_id: "s", workflow_id: "report", status, step_id: null, index, of: 2 });
const done: Body = { type: "done", message_id: "m", finish_reason: "stop" };
const exchange = (answer: TurnView | null) => ({ turnId: "t", question: "", media: [], questionId: null, askedAt: 0, answer, versions: [] });

describe("the choice for a chat", () => {
  const sent = (chat: string, from: TurnView | null = null) => JSON.parse(JSON.stringify({ agent: "sour", mode_profile: "swarm", ...feature.request?.(chat, from) })) as object;

  it("goes with the next message alone, in place of an agent and a mode", () => {
    expect(sent("T")).toEqual({ agent: "sour", mode_profile: "swarm" });
    choice.choose("T", { id: "report", name: "Report" });
    expect(sent("T")).toEqual({ workflow_target: "workflow", workflow_id: "report" });
    expect(sent("U")).toEqual({ agent: "sour", mode_profile: "swarm" });
    feature.began?.("T");
    expect(sent("T")).toEqual({ agent: "sour", mode_profile: "swarm" });
  });

  it("stays after a refusal, unless the workflow is gone", () => {
    choice.choose(NEW_CHAT, { id: "report", name: "Report" });
    feature.refused?.(NEW_CHAT, new Refusal(409, "workflow_running", "no"));
    expect(choice.of(NEW_CHAT)?.id).toBe("report");
    feature.refused?.(NEW_CHAT, new Refusal(404, "workflow_not_found", "no"));
    expect(choice.of(NEW_CHAT)).toBeUndefined();
  });

  it("leaves out an agent and a mode while the service carries out a session of the chat", async () => {
    const session = { session_id: "s", status: "waiting", mode: "service", step: 0, steps: [{ id: "a", title: "A" }], notes: [] };
    const known = (change: object) => kept.set({ threadId: "T", session: { ...session, ...change } as never, seq: 9 });
    const plain = { agent: "sour", mode_profile: "swarm" };
    known({});
    await feature.prepare?.([]);
    conversation.store.set({ threadId: "T" });
    expect([sent("T"), sent("T", played(done)), sent("U")]).toEqual([{}, {}, plain]);
    known({ mode: "external" });
    expect(sent("T")).toEqual(plain);
    known({ status: "complete" });
    expect(sent("T")).toEqual(plain);
    // The session began after the chat was read.
    kept.set({ threadId: "T", session: null, seq: 0 });
    conversation.store.set({ exchanges: [exchange(played(update("waiting", 1), done))] });
    expect(sent("T")).toEqual({});
    conversation.store.set({ threadId: null, exchanges: [] });
  });

  it("is not asked where a turn goes on or is asked again", () => {
    const plain = { agent: "sour", mode_profile: "swarm" };
    choice.choose("T", { id: "other", name: "Other" });
    expect(sent("T", played(done))).toEqual(plain);
    expect(sent("T", played(update("waiting", 1), done))).toEqual(plain);
    expect(sent("T", played(update("complete", 2), done))).toEqual(plain);
  });
});

describe("the session of the open chat", () => {
  const details = (last_seq: number, session: object | null = { session_id: "s" }) => ({ id: "T", last_seq, ...(session && { workflow_session: session }) });

  it("is known by the newest news of its turns", () => {
    expect(newsOf(played(done))).toBeNull();
    expect(newsOf(played(update("running", 0), update("running", 1), done))).toMatchObject({ seq: 2, index: 1 });
    expect(newest([])).toBeNull();
    expect(newest([exchange(played(update("running", 0))), exchange(played(done)), exchange(null)])).toMatchObject({ index: 0 });
  });

  it("is read with the chat, and again after news of it", async () => {
    feature.read?.(details(4) as never);
    expect(kept.get()).toMatchObject({ threadId: "T", session: { session_id: "s" }, seq: 4 });
    conversation.store.set({ threadId: "T" });
    let open: (answer: Response) => void = () => {};
    answer = () => new Promise((resolve) => (open = resolve));
    const first = sessions.renew("T");
    await vi.waitFor(() => expect(requests.length).toBe(1));
    // The first may be older than this news, so one more follows it, and no third.
    const second = sessions.renew("T");
    await sessions.renew("T");
    open(Response.json(details(6)));
    await first;
    await vi.waitFor(() => expect(requests.length).toBe(2));
    open(Response.json(details(8)));
    await second;
    expect([requests.length, kept.get().seq]).toEqual([2, 8]);
    // An older answer, one for a chat that was left, and none at all change nothing.
    answer = () => Response.json(details(7));
    await sessions.renew("T");
    conversation.store.set({ threadId: "U" });
    answer = () => Response.json(details(9));
    await sessions.renew("T");
    answer = () => Promise.reject(new TypeError("no line"));
    await sessions.renew("T");
    expect(kept.get().seq).toBe(8);
    conversation.store.set({ threadId: null });
  });

  it("is ended by the person, who hears why it is not", async () => {
    conversation.store.set({ threadId: "T" });
    answer = (line) => (line.startsWith("DELETE") ? new Response(null, { status: 204 }) : Response.json(details(9, { session_id: "s", status: "failed" })));
    await sessions.end("T");
    expect([requests, kept.get().session]).toEqual([["DELETE /api/threads/T/workflow-session", "GET /api/threads/T"], { session_id: "s", status: "failed" }]);
    answer = (line) => (line.startsWith("DELETE") ? refusal(409, { code: "turn_in_progress", detail: "no" })() : Response.json(details(9)));
    await sessions.end("T");
    expect(sessions.desk.get()).toMatchObject({ threadId: "T", problem: expect.stringContaining("Another answer is still in progress") });
    conversation.store.set({ threadId: null });
  });
});

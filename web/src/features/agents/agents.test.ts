// Issue 20, sections 4 and 5: discussions live and stored, the knowledge of a turn, and the person's choice.

import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Refusal } from "../../api/http";
import { compose } from "../../feature";
import { outlineOf } from "../../turn/outline";
import { reduceTurn } from "../../turn/reduce";
import { turnOf } from "../../turn/stored";
import { newTurn, type ToolEntry, type TurnView } from "../../turn/view";
import type { StoredMessage, TurnEvent } from "../../wire";
import { agents as feature } from ".";
import { choice, requestPart, talkTo, turnOn } from "./choice";
import { agentsOf } from "./knowledge";
import { linesOf } from "./panel/transcript";
import { discussionOf, textIn } from "./speeches";

const TURN = "turn";
type Body = { type: TurnEvent["type"] } & Record<string, unknown>;

function played(...bodies: Body[]): TurnView {
  const events = bodies.map((body, index) => ({ ...body, seq: index + 1, turn_id: TURN }) as TurnEvent);
  return events.reduce(reduceTurn, newTurn(TURN));
}

const PROMPT = "What of \"apples\"? ".repeat(30);
const ARGS = { prompt: PROMPT, speakers: ["sweet", "sour"], listeners: ["scribe"] };
const reply = (name: string, others: string[]) => ({ title: name, heard_by: others });
const start = (id: string, name: string, args: object, parent_id: string | null = null): Body => ({
  type: "tool_call_update", status: "start", tool_call_id: id, name, args, parent_id, depth: parent_id === null ? 0 : 1, started_ms: 1,
});
const end = (id: string, name: string, result: string | null, change: object = {}): Body => ({
  type: "tool_call_update", status: "end", tool_call_id: id, name, result, duration_ms: 2, parent_id: null, depth: 0, ...change,
});
const says = (content: string, parent_id: string): Body => ({ type: "chunk", content, part_id: "p", model_call_id: `m-${parent_id}`, parent_id, depth: 2 });

const CUT_WORDS = "An apple is what it is. ".repeat(40);
const FAILURE = "[I could not answer: provider_network: the line is down]";

/** Three speakers: one says much and is cut at its greatest length, one fails in the middle, one is cut off with the turn. */
const LIVE = [
  start("d", "discuss", ARGS),
  start("r1", "agent_reply", reply("sweet", ["sour", "late", "scribe"]), "d"),
  says(CUT_WORDS, "r1"),
  end("r1", "agent_reply", `${CUT_WORDS}\n\n[The answer was cut here, at its greatest length]`),
  start("r2", "agent_reply", reply("sour", ["sweet", "late", "scribe"]), "d"),
  says("Like vin", "r2"),
  end("r2", "agent_reply", FAILURE),
  start("r3", "agent_reply", reply("late", ["sweet", "sour", "scribe"]), "d"),
  end("r3", "agent_reply", null, { is_error: true }),
  end("d", "discuss", "…", { is_error: true }),
  { type: "done", message_id: "a", finish_reason: "cancelled" },
] satisfies Body[];

/** A call as the service stores it: 500 characters of arguments and results. */
const preview = (text: string) => [...text].slice(0, 500).join("");
const node = (id: string, parent_id: string | null, name: string, args: object, result: string | null, change: object = {}) => ({
  id, parent_id, name, args_preview: preview(JSON.stringify(args)), result_preview: result === null ? null : preview(result), duration_ms: 2, started_ms: 1, ...change,
});

/** The same turn as the service stores it. */
function stored(): StoredMessage {
  const nodes = [
    node("d", null, "discuss", ARGS, "…", { is_error: true }),
    node("r1", "d", "agent_reply", reply("sweet", ["sour", "late", "scribe"]), `${CUT_WORDS}\n\n[The answer was cut here, at its greatest length]`, { title: "sweet" }),
    node("r2", "d", "agent_reply", reply("sour", ["sweet", "late", "scribe"]), FAILURE, { title: "sour" }),
    node("r3", "d", "agent_reply", reply("late", ["sweet", "sour", "scribe"]), null, { title: "late", is_error: true }),
  ];
  const parts = [
    { type: "call", tool_call_id: "d" },
    { type: "call", tool_call_id: "r1" },
    { type: "text", text: CUT_WORDS, parent_id: "r1" },
    { type: "call", tool_call_id: "r2" },
    { type: "text", text: "Like vin", parent_id: "r2" },
    { type: "call", tool_call_id: "r3" },
  ];
  const message = { id: "a", turn_id: TURN, role: "assistant", content: "", created_at: 1, finish_reason: "cancelled", parts, execution_tree: { version: 1, nodes } };
  return message as unknown as StoredMessage;
}

function shown(view: TurnView) {
  const outline = outlineOf(view.entries);
  const { prompt, speeches, listeners } = discussionOf(outline.get(null)?.[0] as ToolEntry, outline);
  const said = speeches.map(({ name, state, inside, note }) => ({ name, state, note, words: inside.map((entry) => entry.kind === "text" && entry.content) }));
  return { prompt, said, listeners };
}

beforeEach(() => {
  vi.stubGlobal("localStorage", { getItem: () => null, setItem: () => {} });
  choice.store.set({ byChat: {} });
  compose([feature]);
});

afterEach(() => {
  vi.unstubAllGlobals();
  compose([]);
});

describe("a discussion", () => {
  it("has each speaker's words under its name, the listeners, and the reason of a failure", () => {
    const { prompt, said, listeners } = shown(played(...LIVE));
    expect(prompt).toBe(`${PROMPT.slice(0, 240).trimEnd()}…`);
    expect(said).toEqual([
      { name: "sweet", state: "said", note: "", words: [CUT_WORDS] },
      { name: "sour", state: "failed", note: "provider_network: the line is down", words: ["Like vin"] },
      { name: "late", state: "cut", note: "", words: [] },
    ]);
    expect(listeners).toEqual(["scribe"]);
  });

  //
  it("has the answer of an agent of code as its words, and the sources below", () => {
    const answer = "Half a **year** [1].";
    const nodes = [
      node("d", null, "discuss", ARGS, "…"),
      node("r", "d", "agent_reply", reply("scout", []), `${answer}\n\nSources:\n[1] https://a.example/`, { title: "scout" }),
      node("w", "r", "websearch", {}, answer),
      node("p", "w", "digest_page", {}, "Six.", { title: "https://a.example/" }),
    ];
    const call = (id: string) => ({ type: "call", tool_call_id: id });
    const text = (text: string, parent_id: string) => ({ type: "text", text, parent_id });
    const parts = [call("d"), call("r"), call("w"), call("p"), text("Six.", "p"), text(answer, "w")];
    const [speech] = shown(turnOf({ ...stored(), parts, execution_tree: { version: 1, nodes } } as unknown as StoredMessage)).said;
    expect(speech).toEqual({ name: "scout", state: "said", note: "Sources:\n[1] https://a.example/", words: [false, answer] });
  });

  it("is the same after a reload", () => {
    expect(shown(turnOf(stored()))).toEqual(shown(played(...LIVE)));
  });

  it("shows who speaks, and a short note of the service behind the words", () => {
    const [speech] = shown(played(...LIVE.slice(0, 3))).said;
    expect([speech?.name, speech?.state, speech?.note]).toEqual(["sweet", "speaking", ""]);
    const noted = played(...LIVE.slice(0, 2), says("Yes.", "r1"), end("r1", "agent_reply", "Yes.\n\n[I stop here.]"));
    expect(shown(noted).said[0]?.note).toBe("[I stop here.]");
  });

  it("names those who are told, where nobody is asked", () => {
    const view = played(start("d", "discuss", { prompt: "News.", listeners: ["a", "b-2"] }), end("d", "discuss", "Told to a, b-2. Nobody was asked."));
    expect(shown(view)).toEqual({ prompt: "News.", said: [], listeners: ["a", "b-2"] });
  });

  it("reads a text from arguments that end in the middle", () => {
    const text = (args: ToolEntry["args"]) => textIn({ args } as ToolEntry, "prompt");
    expect(text('{"prompt":"say \\"hi\\"\\nnow","speakers":[')).toBe('say "hi"\nnow');
    expect(text('{"instructions":"\\"prompt\\":\\"no\\"","prompt": "yes \\u00e')).toBe("yes");
    expect(text('{"prompt":"end \\')).toBe("end");
    expect([text('{"name":"x"}'), text(null), text({ prompt: 7 })]).toEqual(["", "", ""]);
  });
});

describe("the knowledge of a turn", () => {
  const asked = (change: object): Body => ({ type: "model_call_update", status: "start", model_call_id: "m", model: "demo", started_ms: 0, parent_id: null, ...change });

  it("says which agent answers, live and stored", () => {
    expect(agentsOf(played(asked({ agent: "sweet" }))).by).toBe("sweet");
    // An agent that the answer asks is not the one that answers.
    expect(agentsOf(played(asked({}), asked({ agent: "sour", parent_id: "r" }))).by).toBe(null);
    const model_calls = [{ id: "m", parent_id: "r", model: "x", started_ms: 0, agent: "sour" }, { id: "n", parent_id: null, model: "x", started_ms: 0, agent: "sweet" }];
    const message = { ...stored(), execution_tree: { version: 1, nodes: [], model_calls } } as unknown as StoredMessage;
    expect(agentsOf(turnOf(message)).by).toBe("sweet");
    expect(agentsOf(turnOf(stored())).by).toBe(null);
  });

  it("has the states of the agents while the turn runs", () => {
    const update = (name: string, status: string): Body => ({ type: "agent_update", name, parent: null, status, tool_call_id: "c" });
    const view = played(update("sweet", "created"), update("sour", "created"), update("sweet", "speaking"));
    expect(agentsOf(view).states).toEqual({ sweet: { parent: null, status: "speaking" }, sour: { parent: null, status: "created" } });
    expect(agentsOf(played(update("sweet", "created"), { type: "done", message_id: "a", finish_reason: "stop" })).states).toEqual({});
  });
});

describe("the choice of a chat", () => {
  it("becomes members of its messages, and no others", () => {
    expect(requestPart("t")).toEqual({});
    turnOn("t", true);
    expect([requestPart("t"), requestPart("u")]).toEqual([{ agents: true }, {}]);
    talkTo("t", "sweet");
    expect(requestPart("t")).toEqual({ agent: "sweet" });
    feature.refused?.("t", new Refusal(404, "agent_not_found", "gone"));
    expect(requestPart("t")).toEqual({ agents: true });
    // A message that asks again goes to the one that answered.
    talkTo("t", "sour");
    const call = { id: "m", parentId: null, model: "x", startedMs: 0, firstByteMs: null, durationMs: 1, usage: null, costUsd: null, finishReason: "stop" };
    const answeredBy = (by: string | null) => ({ ...newTurn(TURN), modelCalls: [call], features: { agents: { by, states: {} } } });
    expect(requestPart("t", answeredBy("sweet"))).toEqual({ agent: "sweet" });
    expect([requestPart("t", answeredBy(null)), requestPart("t", newTurn(TURN))]).toEqual([{ agents: true }, { agent: "sour" }]);
    turnOn("t", false);
    expect([requestPart("t"), choice.store.get().byChat]).toEqual([{}, {}]);
  });
});

describe("what an agent remembers", () => {
  it("is told line by line", () => {
    const messages = [
      { user: { content: "[sour] No.\n\nWhat now?" } },
      { assistant: { content: "I look.", tool_calls: [{ call_id: "1", name: "calculate", arguments: '{"expression":"1+1"}' }, { call_id: "2", name: "odd", arguments: "not JSON" }] } },
      { tool: { call_id: "1", name: "calculate", content: "2", is_error: false } },
      { tool: { call_id: "2", name: "odd", content: "no", is_error: true } },
      { assistant: { content: "Two.", tool_calls: [] } },
      { user: { content: [{ type: "text", text: "See" }, { type: "image" }] } },
      { later: {} },
      { assistant: { content: "x".repeat(5_000) } },
    ];
    const lines = linesOf({ messages }).map(({ kind, text }) => `${kind}: ${text}`);
    expect(lines.slice(0, -1)).toEqual([
      "heard: [sour] No.\n\nWhat now?", "said: I look.", "call: calculate expression: 1+1", "call: odd not JSON", "result: 2", "failed: no", "said: Two.", "heard: See",
    ]);
    expect(lines.at(-1)).toBe(`said: ${"x".repeat(4_000)}…`);
  });
});

// Issue 20, section 4: the panel's acts on agents, and the words of the composer for them.

import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { served, type Answer } from "../../../api/served.fixture";
import { agents as feature } from "..";
import { choice, requestPart, talkTo } from "../choice";
import { Agents } from "./agents";
import { carryOut } from "./commands";

const summary = (name: string, parent: string | null = null) => ({ name, parent, instructions: "", code: null, heard: [], speakers: [], listeners: [], hooks: [] });
let requests: string[] = [];
let bodies: unknown[] = [];
let answer: Answer;

beforeEach(() => {
  choice.store.set({ byChat: {} });
  vi.stubGlobal("localStorage", { getItem: () => null, setItem: () => {} });
  answer = (line) => {
    if (line.startsWith("DELETE")) return new Response(null, { status: 204 });
    if (line.includes("/messages")) {
      const first = line.includes("cursor=5") ? 1 : 3;
      const rounds = [first, first + 1].map((turn) => ({ turn_id: `t${turn}`, messages: [] }));
      return Response.json({ rounds, next_cursor: first === 1 ? null : "5" });
    }
    return Response.json({ agents: [summary("sour"), summary("sweet")] });
  };
  ({ requests, bodies } = served((line) => answer(line)));
});

afterEach(() => vi.unstubAllGlobals());

async function loaded() {
  const agents = new Agents();
  await agents.show("T");
  return { agents, names: () => agents.desk.get().agents.map(({ name }) => name) };
}

const file = (dump: unknown, size?: number) => {
  const made = new File([typeof dump === "string" ? dump : JSON.stringify(dump)], "x.agent.json");
  if (size !== undefined) Object.defineProperty(made, "size", { value: size });
  return made;
};

it("reads the newest rounds, then those before them", async () => {
  const { agents } = await loaded();
  await agents.open("sweet");
  const turns = () => agents.rounds.store.get().items.map(({ turn_id }) => turn_id);
  expect(turns()).toEqual(["t4", "t3"]);
  await agents.rounds.more();
  expect([turns(), agents.rounds.store.get().nextCursor]).toEqual([["t4", "t3", "t2", "t1"], null]);
  expect(requests.slice(1)).toEqual(["GET /api/threads/T/agents/sweet/messages", "GET /api/threads/T/agents/sweet/messages?cursor=5"]);
});

// A-092 A-095 A-110
it("shows the prompt of the main agent, and puts the agents into the file of a chat as dumps", async () => {
  const main = { instructions: "Be of use.", turn_id: null, speakers: [], listeners: [], hooks: [], operators: [], own_hooks: [] };
  // The dump of an agent has the agents that it made, so these have no dump of their own.
  const all = [summary("hand", "sour"), summary("sour"), summary("sweet")];
  answer = (line) => Response.json(line.endsWith("/dump") ? { name: line.split("/")[5], rounds: [] } : { main, agents: all });
  const { agents } = await loaded();
  expect(agents.desk.get().main?.instructions).toBe("Be of use.");
  const parts = await feature.exported?.("T", new AbortController().signal);
  expect(parts).toEqual({ agents: [{ name: "sour", rounds: [] }, { name: "sweet", rounds: [] }] });
  expect(feature.turn?.subtasks).toEqual(["agent_reply", "digest_page", "websearch"]);
});

it("forgets the agents of one chat in another", async () => {
  const { agents, names } = await loaded();
  await agents.open("sweet");
  answer = () => Response.json({ agents: [] });
  const shown = agents.show("U");
  expect([names(), agents.desk.get().open]).toEqual([[], null]);
  await shown;
  await agents.show(null);
  expect(agents.desk.get()).toMatchObject({ threadId: null, phase: "unread" });
});

it("restores a dump where its name is free, and else asks for another one", async () => {
  const { agents, names } = await loaded();
  const dump = { name: "bitter", instructions: "You are bitter.", rounds: [] };
  answer = () => Response.json({ agents: [summary("bitter"), summary("sour"), summary("sweet")] });
  await agents.take(file(dump));
  expect([requests.at(-1), bodies.at(-1), names().length]).toEqual(["POST /api/threads/T/agents", dump, 3]);
  await agents.take(file(dump));
  expect(requests.length).toBe(2);
  expect(agents.desk.get()).toMatchObject({ dump, refused: expect.stringContaining("“bitter”") });
  expect(agents.freeName("bitter")).toBe("bitter-2");
  await agents.take(file({ ...dump, name: "main" }));
  expect(requests.length).toBe(2);
  expect([agents.desk.get().refused, agents.freeName("main")]).toEqual([expect.stringContaining("“main”"), "main-2"]);
  await agents.take(file(dump));
  expect([agents.freeName("x".repeat(32)), agents.freeName("No Name")]).toEqual([`${"x".repeat(28)}-2`, "agent-2"]);
  answer = () => Response.json({ code: "agent_exists", detail: "There is one." }, { status: 409 });
  await agents.restore("bitter-2");
  expect(agents.desk.get()).toMatchObject({ dump, refused: "There is one." });
  answer = () => Response.json({ agents: [summary("bitter-2")] });
  await agents.restore("bitter-3");
  expect([bodies.at(-1), agents.desk.get().dump, names()]).toEqual([{ ...dump, name: "bitter-3" }, null, ["bitter-2"]]);
});

it("refuses a file that is no dump, and one above the limit, without a request", async () => {
  const { agents } = await loaded();
  for (const wrong of [file("{"), file("null"), file({ name: "x" }), file({ name: "x", instructions: "y" }, 2_000_001)]) {
    await agents.take(wrong);
    expect(agents.desk.get()).toMatchObject({ dump: null, refused: "“x.agent.json” is not a saved agent." });
  }
  expect(requests.length).toBe(1);
  await agents.take(file({ name: "sweet", instructions: "y" }, 2_000_000));
  expect(agents.desk.get().dump?.name).toBe("sweet");
});

it("ends an agent, and nobody talks to it any more", async () => {
  const { agents, names } = await loaded();
  talkTo("T", "sweet");
  talkTo("U", "sweet");
  answer = (line) => (line.startsWith("DELETE") ? new Response(null, { status: 204 }) : Response.json({ agents: [summary("sour")] }));
  expect(await agents.end("sweet")).toBe(true);
  expect([names(), requestPart("T"), requestPart("U")]).toEqual([["sour"], { agents: true }, { agent: "sweet" }]);
  answer = () => Response.json({ code: "turn_in_progress", detail: "no" }, { status: 409 });
  expect([await agents.end("sour"), names()]).toEqual([false, ["sour"]]);
  expect(agents.desk.get().problem).toContain("Another answer is still in progress");
});

it("carries out the words of the composer, and leaves other lines to the service", async () => {
  const told: string[] = [];
  const place = { chat: "T", threadId: "T", show: () => told.push("shown"), refuse: (words: string) => told.push(words) };
  expect(["/list of pears", "/talkwith a b", "list", "/help"].map((line) => feature.command?.(line, place))).toEqual([false, false, false, false]);
  await carryOut("list", null, place);
  await carryOut("restore", null, place);
  await carryOut("talkwith", "sweet", place);
  expect([told, requestPart("T")]).toEqual([["shown", "shown"], { agent: "sweet" }]);
  await carryOut("talkwith", "main", place);
  expect(requestPart("T")).toEqual({ agents: true });
  await carryOut("talkwith", "nobody", place);
  await carryOut("dump", null, place);
  await carryOut("dump", "sweet", { ...place, threadId: null });
  answer = () => Response.json({ code: "agent_not_found", detail: "there is no agent" }, { status: 404 });
  await carryOut("dump", "nobody", place);
  expect(told.slice(2)).toEqual([
    "There is no agent nobody in this chat. /list shows all.", "Write a name behind it: /dump NAME", "There is no agent sweet in this chat. /list shows all.", "there is no agent",
  ]);
});

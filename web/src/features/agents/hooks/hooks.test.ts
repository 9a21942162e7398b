// Issue 20, section 3: the hooks of a chat in the page. A-013 A-014

import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { served, type Answer } from "../../../api/served.fixture";
import documented from "../../../../../docs/hooks.md?raw";
import type { Hook } from "../../../wire.generated";
import { words } from "./en";
import { Hooks } from "./hooks";
import { bodyOf, draftOf, NEW, RULES, withRule, type Draft } from "./rules";

const hook = (name: string): Hook => ({ name, on: "action", builtin: "loop_guard", of: "all" });
let requests: string[] = [];
let bodies: unknown[] = [];
let answer: Answer;

beforeEach(() => {
  answer = (line) => {
    if (line.startsWith("DELETE")) return new Response(null, { status: 204 });
    if (line.startsWith("PUT")) return Response.json(hook(line.split("/").at(-1) ?? ""));
    return Response.json({ hooks: [hook("first"), hook("second")], operators: [hook("house")], own: [hook("first"), hook("mine")] });
  };
  ({ requests, bodies } = served((line) => answer(line)));
});

afterEach(() => vi.unstubAllGlobals());

async function loaded() {
  const hooks = new Hooks();
  await hooks.show("T");
  return { hooks, names: () => hooks.desk.get().hooks.map(({ name }) => name) };
}

const draft = (part: Partial<Draft>): Draft => ({ ...NEW, name: "guard", ...part });

it("knows the built-in hooks of the documentation, with their moments and options", () => {
  const table = documented.split("## Built-in hooks")[1]?.split("\n## ")[0] ?? "";
  const rows = table.split("\n").filter((line) => line.startsWith("| `"));
  const known = rows.map((line) => {
    const [, name = "", points = "", options = ""] = line.split("|");
    const quoted = (text: string) => [...text.matchAll(/`(\w+)`/g)].map(([, word]) => word);
    return [quoted(name)[0], quoted(points), quoted(options)];
  });
  expect(known).toEqual(Object.entries(RULES).map(([name, { points, options }]) => [name, points, Object.keys(options)]));
  expect(Object.keys(words.rules)).toEqual(Object.keys(RULES));
  for (const { options } of Object.values(RULES)) for (const option of Object.keys(options)) expect(words.options).toHaveProperty(option);
});

it("sends the members that a person has entered, and no others", () => {
  expect(bodyOf(draft({ instructions: "No sums.", match: " calculate,\nmcp__* ", reads: "plan, goal", of: "main" }))).toEqual({
    on: "action", of: "main", match: ["calculate", "mcp__*"], instructions: "No sums.", reads: ["plan", "goal"],
  });
  expect(bodyOf(draft({ on: "input", instructions: "Greet.", match: "calculate" }))).toEqual({ on: "input", of: "all", instructions: "Greet." });
  expect(bodyOf(draft({ on: "answer", instructions: "Kind.", match: "calculate" }))).toEqual({ on: "answer", of: "all", instructions: "Kind." });
  expect(bodyOf(draft({ rule: "loop_guard", instructions: "unsent", reads: "unsent", options: { times: " 2 ", most: "9" } }))).toEqual({
    on: "action", of: "all", builtin: "loop_guard", options: { times: 2 },
  });
  expect(bodyOf(draft({ rule: "loop_guard", options: { times: "many" } })).options).toEqual({ times: "many" });
  expect(bodyOf(draft({ rule: "steelman", options: { about: "42" } })).options).toEqual({ about: "42" });
});

// the service deletes a hook of the chat before one that the agent made, and so does the list.
it("deletes a hook that the main agent made", async () => {
  const { hooks, names } = await loaded();
  const own = () => hooks.desk.get().own.map(({ name }) => name);
  await hooks.remove("mine");
  expect([names(), own()]).toEqual([["first", "second"], ["first"]]);
  await hooks.remove("first");
  expect([names(), own()]).toEqual([["second"], ["first"]]);
});

it("sends a hook that nobody changed as it was", () => {
  const kept: Hook = { name: "x", on: "result", match: ["a", "b"], instructions: "Say.", reads: ["k"], of: "main" };
  const { name: _, ...members } = kept;
  expect(bodyOf(draftOf(kept))).toEqual(members);
  expect(bodyOf(draftOf({ ...hook("y"), options: { times: 4 } }))).toEqual({ on: "action", of: "all", builtin: "loop_guard", options: { times: 4 } });
});

it("forgets the options and calls of another rule, and takes a moment that the rule knows", () => {
  const before = draft({ rule: "loop_guard", options: { times: "2" }, match: "a" });
  expect(withRule(before, "todo_reminder")).toEqual({ ...before, rule: "todo_reminder", options: {}, match: "", on: "result" });
  expect(withRule(before, "steelman").on).toBe("action");
});

it("lists, puts and deletes hooks", async () => {
  const { hooks, names } = await loaded();
  expect([names(), hooks.desk.get().operators.length]).toEqual([["first", "second"], 1]);
  expect(await hooks.put(draft({ instructions: "No." }), true)).toBeNull();
  expect(await hooks.put(draft({ name: "first", rule: "loop_guard" }), false)).toBeNull();
  expect(names()).toEqual(["first", "second", "guard"]);
  await hooks.remove("second");
  expect(names()).toEqual(["first", "guard"]);
  expect(requests.slice(1)).toEqual(["PUT /api/threads/T/hooks/guard", "PUT /api/threads/T/hooks/first", "DELETE /api/threads/T/hooks/second"]);
  expect(bodies[1]).toEqual({ on: "action", of: "all", instructions: "No." });
});

it("tells which member was refused, and keeps the hooks", async () => {
  const { hooks, names } = await loaded();
  expect(await hooks.put(draft({ name: "No Name" }), true)).toEqual({ field: "name", words: words.nameRule });
  expect(await hooks.put(draft({ name: "first" }), true)).toEqual({ field: "name", words: words.nameTaken("first") });
  expect(requests.length).toBe(1);
  answer = () => Response.json({ code: "invalid_request", detail: "expected a number", field: "options.times" }, { status: 400 });
  expect((await hooks.put(draft({ rule: "loop_guard" }), true))?.field).toBe("options.times");
  answer = () => Response.json({ code: "too_many_hooks", detail: "there may be at most 16 hooks" }, { status: 409 });
  expect(await hooks.put(draft({}), true)).toEqual({ field: null, words: "there may be at most 16 hooks" });
  await hooks.remove("first");
  expect([names(), hooks.desk.get().problem]).toEqual([["first", "second"], "there may be at most 16 hooks"]);
});

it("shows the hooks of the chat that is open, whichever answer comes last", async () => {
  const hooks = new Hooks();
  let late: (response: Response) => void = () => {};
  answer = () => new Promise((resolve) => (late = resolve));
  const first = hooks.show("T");
  await vi.waitFor(() => expect(requests.length).toBe(1));
  answer = () => Response.json({ hooks: [hook("other")], operators: [] });
  await hooks.show("U");
  late(Response.json({ hooks: [hook("old")], operators: [] }));
  await first;
  expect(hooks.desk.get()).toMatchObject({ threadId: "U", phase: "ready", hooks: [hook("other")] });
  answer = () => Response.json({ code: "unavailable", detail: "not now" }, { status: 503 });
  await hooks.show("V");
  expect(hooks.desk.get()).toMatchObject({ threadId: "V", phase: "failed", hooks: [] });
});

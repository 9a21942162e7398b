// Custom instructions that a person edits: what is typed is not lost.

import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { served, type Answer } from "../api/served.fixture";
import { MINE } from "./api";
import { edit, editing, editingOf, MOST_TEXTS, read, save } from "./editing";

let requests: string[];
let bodies: unknown[];
let answer: Answer;

beforeEach(() => {
  editing.set({ byPath: {} });
  answer = (line) => (line.startsWith("PUT") ? new Response(null, { status: 204 }) : Response.json({ content: "Dutch." }));
  ({ requests, bodies } = served((line) => answer(line)));
});

afterEach(() => vi.unstubAllGlobals());

it("shows what the service has, and keeps a text that is not saved for when the form opens again", async () => {
  await read(MINE);
  expect(editingOf(MINE)).toEqual({ saved: "Dutch.", text: "Dutch.", state: "edited", problem: null });
  edit(MINE, "In Dutch");
  await read(MINE);
  expect(editingOf(MINE)).toMatchObject({ saved: "Dutch.", text: "In Dutch" });
  edit(MINE, "Dutch. ");
  answer = () => Response.json({ content: "From another tab." });
  await read(MINE);
  expect(editingOf(MINE).text).toBe("From another tab.");
});

it("keeps the text where the service refuses it", async () => {
  await read(MINE);
  edit(MINE, "In Dutch");
  answer = () => Response.json({ code: "unauthenticated", detail: "sign in" }, { status: 401 });
  await save(MINE);
  expect(editingOf(MINE)).toMatchObject({ saved: "Dutch.", text: "In Dutch", state: "edited", problem: "sign in" });
});

it("saves once at a time, and does not call a text saved that was typed meanwhile", async () => {
  await read(MINE);
  edit(MINE, "One ");
  let written: (answer: Response) => void = () => {};
  answer = () => new Promise((resolve) => (written = resolve));
  const saving = save(MINE);
  edit(MINE, "One two");
  await save(MINE);
  await read(MINE);
  expect(requests.slice(1)).toEqual([`PUT ${MINE}`]);
  written(new Response(null, { status: 204 }));
  await saving;
  expect(bodies[1]).toEqual({ content: "One " });
  expect(editingOf(MINE)).toMatchObject({ saved: "One", text: "One two", state: "edited" });
  answer = () => new Response(null, { status: 204 });
  await save(MINE);
  expect(editingOf(MINE)).toMatchObject({ saved: "One two", text: "One two", state: "saved" });
});

it("takes no reading that a saving overtook", async () => {
  await read(MINE);
  for (const late of [Response.json({ content: "Dutch." }), Response.json({ detail: "down" }, { status: 503 })]) {
    let told: (answer: Response) => void = () => {};
    answer = (line) => (line.startsWith("PUT") ? new Response(null, { status: 204 }) : new Promise((resolve) => (told = resolve)));
    const reading = read(MINE);
    edit(MINE, "In Frisian");
    await save(MINE);
    told(late);
    await reading;
    expect(editingOf(MINE)).toEqual({ saved: "In Frisian", text: "In Frisian", state: "saved", problem: null });
  }
});

it("keeps the latest texts alone", () => {
  for (let at = 0; at < MOST_TEXTS; at++) edit(`/${at}`, "typed");
  expect(editingOf("/0").text).toBe("typed");
  edit("/more", "typed");
  expect([editingOf("/0").text, editingOf("/1").text]).toEqual(["", "typed"]);
});

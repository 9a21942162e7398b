// Custom instructions while a person edits them, by their paths. A text that is not saved outlasts its dialog, and the end of
// the session.

import { wordsFor } from "../api/http";
import { Store } from "../state/store";
import { readInstructions, writeInstructions } from "./api";

export interface Editing {
  /** The text in the service; null until it has come. */
  saved: string | null;
  text: string;
  state: "edited" | "saving" | "saved";
  problem: string | null;
}

const NOTHING: Editing = { saved: null, text: "", state: "edited", problem: null };

/** The page keeps this many texts: the person's own, and those of the projects that were opened last. */
export const MOST_TEXTS = 20;

/** How many savings began, by the paths. */
const begun = new Map<string, number>();

export const editing = new Store<{ byPath: Readonly<Record<string, Editing>> }>({ byPath: {} });

export function editingOf(path: string): Editing {
  return editing.get().byPath[path] ?? NOTHING;
}

function put(path: string, change: Partial<Editing>): void {
  editing.set(({ byPath: { [path]: now = NOTHING, ...others } }) => ({
    byPath: Object.fromEntries([...Object.entries(others), [path, { ...now, ...change }]].slice(-MOST_TEXTS)),
  }));
}

/** Reads the instructions. What the person has typed stays. An answer that a saving overtakes counts for nothing. */
export async function read(path: string): Promise<void> {
  if (editingOf(path).state === "saving") return;
  put(path, { state: "edited", problem: null });
  const savings = begun.get(path);
  const isOvertaken = () => begun.get(path) !== savings;
  try {
    const { content } = await readInstructions(path);
    const { text, saved } = editingOf(path);
    if (!isOvertaken()) put(path, { saved: content, text: text.trim() === (saved ?? "") ? content : text });
  } catch (error) {
    if (!isOvertaken()) put(path, { problem: wordsFor(error) });
  }
}

export function edit(path: string, text: string): void {
  const { state } = editingOf(path);
  put(path, { text, state: state === "saving" ? state : "edited", problem: null });
}

/** Writes the instructions, once at a time. */
export async function save(path: string): Promise<void> {
  const { text, state } = editingOf(path);
  if (state === "saving") return;
  begun.set(path, (begun.get(path) ?? 0) + 1);
  put(path, { state: "saving", problem: null });
  try {
    await writeInstructions(path, text);
    put(path, { saved: text.trim(), state: editingOf(path).text === text ? "saved" : "edited" });
  } catch (error) {
    put(path, { state: "edited", problem: wordsFor(error) });
  }
}

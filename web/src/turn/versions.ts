// Versions of a turn → what its pickers show. A picker beside a question leads through the messages that somebody wrote
// there, a picker below an answer through the answers to one message.

import type { TurnVersion } from "../wire";

/** A place among versions, and the turns of its neighbours. */
export interface Picker {
  /** From 1 on. */
  place: number;
  count: number;
  previous: string | null;
  next: string | null;
}

/** The versions beside a turn, itself included; none where it is the only one. */
export function versionsOf(turnId: string, versions: readonly TurnVersion[]): TurnVersion[] {
  const own = versions.find((version) => version.turn_id === turnId);
  return own ? versions.filter(({ parent_turn_id }) => parent_turn_id === own.parent_turn_id) : [];
}

/** The picker of the messages. It leads to the newest answer of each. */
export function questionPicker(turnId: string, versions: readonly TurnVersion[]): Picker | null {
  // A message stands where it was written first.
  const newest = new Map(versions.map(({ question_of, turn_id }) => [question_of, turn_id]));
  const own = versions.find((version) => version.turn_id === turnId);
  return picker([...newest.values()], own ? [...newest.keys()].indexOf(own.question_of) : -1);
}

/** The picker of the answers to the message of a turn. */
export function answerPicker(turnId: string, versions: readonly TurnVersion[]): Picker | null {
  const own = versions.find((version) => version.turn_id === turnId);
  const turns = versions.filter(({ question_of }) => question_of === own?.question_of).map(({ turn_id }) => turn_id);
  return picker(turns, turns.indexOf(turnId));
}

function picker(turns: readonly string[], at: number): Picker | null {
  if (at === -1 || turns.length < 2) return null;
  return { place: at + 1, count: turns.length, previous: turns[at - 1] ?? null, next: turns[at + 1] ?? null };
}

/** The versions after a turn that begins beside another one. `again`: it asks the same. */
export function withVersion(
  turnId: string,
  again: boolean,
  beside: { turnId: string; versions: readonly TurnVersion[] },
  parentId: string | null,
): TurnVersion[] {
  const first = { turn_id: beside.turnId, parent_turn_id: parentId, question_of: beside.turnId, on_path: true };
  const before = beside.versions.length === 0 ? [first] : beside.versions;
  const own = before.find((version) => version.turn_id === beside.turnId) ?? first;
  const version = { ...own, turn_id: turnId, question_of: again ? own.question_of : turnId, on_path: true };
  return [...before.map((other) => ({ ...other, on_path: false })), version];
}

// The features' knowledge of a turn, by the names of the features.

import { features, type TurnKnowledge, type Turns } from "../feature";
import type { StoredMessage, TurnEvent } from "../wire";
import type { TurnView } from "./view";

export type Known = Readonly<Record<string, unknown>>;

export function knownAtBeginning(before: Turns): Known {
  return byName((turn) => turn.begin(before));
}

export function knownAfter(view: TurnView, event: TurnEvent): Known {
  return byName((turn) => turn.after(view, event));
}

export function knownFrom(message: StoredMessage): Known {
  return byName((turn) => turn.stored(message));
}

/** Whether a feature declares that calls of this tool contain other calls. */
export function isFeaturesLevel(tool: string): boolean {
  return features().some(({ turn }) => turn?.levels.includes(tool));
}

/** Whether a feature declares that calls of this tool count towards the limit of subtasks. */
export function isFeaturesSubtask(tool: string): boolean {
  return features().some(({ turn }) => turn?.subtasks.includes(tool));
}

function byName(know: (turn: TurnKnowledge) => unknown): Known {
  return Object.fromEntries(features().flatMap(({ name, turn }) => (turn ? [[name, know(turn)]] : [])));
}

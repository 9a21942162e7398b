// What the cards of a turn must know of it.

import { createContext, useContext } from "react";
import type { TurnClock } from "../state/conversation";
import type { Plan } from "../wire";

export interface TurnFrame {
  turnId: string;
  /** Null when the turn has ended. */
  clock: TurnClock | null;
  /** Input and output tokens of the whole turn, once they are known. */
  tokens: number | null;
  /** The plan that the turn left waits for the reader's word. */
  draftWaits: boolean;
}

const Frame = createContext<TurnFrame>({ turnId: "", clock: null, tokens: null, draftWaits: false });

export const TurnFrameProvider = Frame.Provider;

export function useTurnFrame(): TurnFrame {
  return useContext(Frame);
}

const Plans = createContext<ReadonlyMap<string, Plan>>(new Map());

export const PlansProvider = Plans.Provider;

/** The plan that a call shows, if it shows one. */
export function usePlan(callId: string): Plan | null {
  return useContext(Plans).get(callId) ?? null;
}

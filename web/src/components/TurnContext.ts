// What the cards of a turn must know of it.

import { createContext, useContext } from "react";
import type { TurnClock } from "../state/conversation";

export interface TurnFrame {
  turnId: string;
  /** Null when the turn has ended. */
  clock: TurnClock | null;
  /** Input and output tokens of the whole turn, once they are known. */
  tokens: number | null;
}

const Frame = createContext<TurnFrame>({ turnId: "", clock: null, tokens: null });

export const TurnFrameProvider = Frame.Provider;

export function useTurnFrame(): TurnFrame {
  return useContext(Frame);
}

// The facts of a turn that its cards need.

import { createContext, useContext } from "react";
import type { TurnClock } from "../state/clock";

export interface TurnFrame {
  turnId: string;
  /** Null when the turn has ended. */
  clock: TurnClock | null;
  /** Input and output tokens of the whole turn; null until they are known. */
  tokens: number | null;
  /** The turn's outcome waits for the reader's next message. */
  waits: boolean;
}

const Frame = createContext<TurnFrame>({ turnId: "", clock: null, tokens: null, waits: false });

export const TurnFrameProvider = Frame.Provider;

export function useTurnFrame(): TurnFrame {
  return useContext(Frame);
}

// What the cards of a turn must know of it.

import { createContext, useContext } from "react";

export interface TurnFrame {
  turnId: string;
  /** When, by this machine's clock, the turn's running time was nothing; null when it has ended. */
  since: number | null;
  /** Input and output tokens of the whole turn, once they are known. */
  tokens: number | null;
}

const Frame = createContext<TurnFrame>({ turnId: "", since: null, tokens: null });

export const TurnFrameProvider = Frame.Provider;

export function useTurnFrame(): TurnFrame {
  return useContext(Frame);
}

// The person's choice for each chat: whether its requests have agents, and whom they talk to.

import { PerChat } from "../../state/perChat";
import type { ChatRequest } from "../../wire";

interface Choice {
  /** The model may make agents. */
  on: boolean;
  /** The agent that answers; null for the main agent. */
  to: string | null;
}

export const NOTHING: Choice = { on: false, to: null };

export const choice = new PerChat<Choice>("espalier.agents", ({ on, to }) => !on && to === null);

export function turnOn(chat: string, on: boolean): void {
  choice.choose(chat, { on, to: null });
}

/** The next messages go to this agent; null: to the main agent, which has its agents then. */
export function talkTo(chat: string, to: string | null): void {
  choice.choose(chat, { on: true, to });
}

export function requestPart(chat: string): Pick<ChatRequest, "agent" | "agents"> {
  const { on, to } = choice.of(chat) ?? NOTHING;
  if (to !== null) return { agent: to };
  return on ? { agents: true } : {};
}

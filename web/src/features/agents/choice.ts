// The person's choice for each chat: whether its requests have agents, and whom they talk to.

import { PerChat } from "../../state/perChat";
import type { TurnView } from "../../turn/view";
import type { ChatRequest } from "../../wire";
import { agentsOf } from "./knowledge";

interface Choice {
  /** The model may make agents. */
  on: boolean;
  /** The agent that answers; null for the main agent. */
  to: string | null;
}

/** The beginning of the name by which a person talks to a hook of the chat. */
export const HOOK = "hook:";

export const NOTHING: Choice = { on: false, to: null };

export const choice = new PerChat<Choice>("espalier.agents", ({ on, to }) => !on && to === null);

export function turnOn(chat: string, on: boolean): void {
  choice.choose(chat, { on, to: null });
}

/** The next messages go to this agent; null: to the main agent, which has its agents then. */
export function talkTo(chat: string, to: string | null): void {
  choice.choose(chat, { on: true, to });
}

/** `from`: the turn that a message continues or asks again. The agent that answered it answers again. */
export function requestPart(chat: string, from: TurnView | null = null): Pick<ChatRequest, "agent" | "agents"> {
  const { on, to } = choice.of(chat) ?? NOTHING;
  const agent = from === null || from.modelCalls.length === 0 ? to : agentsOf(from).by;
  if (agent !== null) return { agent };
  return on ? { agents: true } : {};
}

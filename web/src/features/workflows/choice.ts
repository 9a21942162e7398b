// The workflow that a person has chosen for the next message of a chat. The message begins a session, and is its goal. The
// messages after it go on with the session without naming it.

import { PerChat } from "../../state/perChat";
import type { TurnView } from "../../turn/view";

export interface Chosen {
  id: string;
  name: string;
}

export const choice = new PerChat<Chosen | null>("espalier.workflows", (chosen) => chosen === null);

/** `from`: the turn that a message continues or asks again. The choice is for a message of its own. */
export function requestPart(chat: string, from: TurnView | null = null): object {
  const chosen = from ? null : choice.of(chat);
  // The service refuses an agent and a mode beside a workflow. JSON leaves undefined members out.
  return chosen ? { agent: undefined, mode_profile: undefined, workflow_target: "workflow", workflow_id: chosen.id } : {};
}

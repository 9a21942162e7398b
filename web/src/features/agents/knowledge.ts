// What a turn tells of agents: which of them answers the reader, and what the others do while it runs.

import type { TurnView } from "../../turn/view";
import type { StoredMessage, TurnEvent } from "../../wire";
import type { AgentStatus } from "../../wire.generated";

/** The call in which one agent answers. It stands inside a call of `discuss` or `task`. */
export const REPLY_TOOL = "agent_reply";
/** A search of the web, and the call for each of its pages. */
export const SEARCH_TOOL = "websearch";
export const PAGE_TOOL = "digest_page";

export interface AgentsOfTurn {
  /** The agent that answers; null for the main agent. */
  by: string | null;
  /** The agents of which the running turn has told, by name. None once it has ended: then the service lists them. */
  states: Readonly<Record<string, { parent: string | null; status: AgentStatus }>>;
}

export const NONE: AgentsOfTurn = { by: null, states: {} };

export function agentsOf({ features }: TurnView): AgentsOfTurn {
  return (features["agents"] as AgentsOfTurn | undefined) ?? NONE;
}

export function agentsAfter(view: TurnView, event: TurnEvent): AgentsOfTurn {
  const known = agentsOf(view);
  switch (event.type) {
    case "model_call_update":
      return event.agent && event.parent_id == null ? { ...known, by: event.agent } : known;
    case "agent_update": {
      const { name, parent, status } = event;
      return { ...known, states: { ...known.states, [name]: { parent, status } } };
    }
    case "done":
      return { ...known, states: {} };
    default:
      return known;
  }
}

export function agentsStored({ execution_tree }: StoredMessage): AgentsOfTurn {
  const root = execution_tree?.model_calls?.find(({ agent, parent_id }) => agent && parent_id === null);
  return { ...NONE, by: root?.agent ?? null };
}

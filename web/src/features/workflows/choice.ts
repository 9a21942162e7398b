// The workflow that a person has chosen for the next message of a chat. The message begins a session, and is its goal. The
// messages after it go on with the session without naming it.

import { PerChat } from "../../state/perChat";
import { canContinue, type TurnView } from "../../turn/view";
import { newsOf } from "./knowledge";

export interface Chosen {
  id: string;
  name: string;
}

export const choice = new PerChat<Chosen | null>("espalier.workflows", (chosen) => chosen === null);

/** The service refuses these beside a workflow. JSON leaves undefined members out. */
const NOT_BESIDE = { agent: undefined, mode_profile: undefined };

/** `from`: the turn that a message continues or asks again. A turn that worked on a session to its end begins another one. */
export function requestPart(chat: string, from: TurnView | null = null): object {
  const id = from === null ? choice.of(chat)?.id : againOf(from);
  return id === undefined ? {} : { ...NOT_BESIDE, workflow_target: "workflow", workflow_id: id };
}

function againOf(from: TurnView): string | undefined {
  const news = newsOf(from);
  const isOver = news?.status === "complete" || news?.status === "failed";
  return isOver && !canContinue(from) ? news.workflow_id : undefined;
}

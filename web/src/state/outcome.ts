// What the events of a turn tell somebody who does not look at it.

import { isLimit } from "../turn/view";
import type { TurnEvent } from "../wire";
import type { Listener } from "./listener";

/** Takes the events of one turn in order. A turn that somebody stopped is no news, and one that a limit ended did not fail. */
export function outcomes(told: (what: Parameters<Listener["told"]>[2]) => void): (event: TurnEvent) => void {
  let atLimit = false;
  return (event) => {
    if (event.type === "error") atLimit = isLimit(event.code);
    if (event.type === "agent_state" && event.state === "waiting_on_user") told("waits");
    if (event.type !== "done" || event.finish_reason === "cancelled") return;
    told(!atLimit && ["error", "interrupted"].includes(event.finish_reason) ? "failed" : "ended");
  };
}

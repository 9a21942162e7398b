// The cards of the calls that make and ask agents, and the name above an answer that an agent gives.

import type { ReactNode } from "react";
import type { Card, Turns } from "../../feature";
import { part } from "../../state/parts";
import type { Outline } from "../../turn/outline";
import { callsIn, type ToolEntry, type TurnView } from "../../turn/view";
import { words } from "./en";
import { agentsOf, PAGE_TOOL } from "./knowledge";

const CALLS: ReadonlySet<string> = new Set(["discuss", "task"]);

/** The code that draws a discussion. */
export const discussion = part(() => import("./Discussion"));

export function needed(turns: Turns): boolean {
  return turns.some(({ answer }) => answer !== null && callsIn(answer).some(({ name }) => CALLS.has(name)));
}

/** As much of an address as a phone shows in two lines. */
const MAX_ADDRESS_CHARS = 48;

/** The address of a page for people: its beginning, without the protocol. */
export function addressOf(title: string): string {
  const address = title.replace(/^https?:\/\//, "");
  return address.length <= MAX_ADDRESS_CHARS ? address : `${address.slice(0, MAX_ADDRESS_CHARS - 1)}…`;
}

/** Without its chunk a card shows the calls inside it. */
export function useAgentCard(call: ToolEntry, outline: Outline): Card | null {
  const isOurs = CALLS.has(call.name);
  const drawn = discussion.use(isOurs);
  if (call.name === PAGE_TOOL && call.title !== null) return { title: addressOf(call.title), gist: () => "", meta: null, folded: true, body: null };
  return isOurs && drawn ? drawn.cardOf(call, outline) : null;
}

export function AnsweredBy({ view, children }: { view: TurnView; children: ReactNode }) {
  const { by } = agentsOf(view);
  return (
    <>
      {by !== null && (
        <p className="answered-by" data-testid="answered-by">
          {words.answeredBy(by)}
        </p>
      )}
      {children}
    </>
  );
}

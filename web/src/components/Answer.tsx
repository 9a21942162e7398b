// An answer: its calls, its texts, and its questions to the reader.

import { useMemo, type ReactNode } from "react";
import { features } from "../feature";
import { approvalCard, limitCard } from "../state/parts";
import { childrenOf, outlineOf } from "../turn/outline";
import { callsIn, openApprovals, openLimit, type TurnEntry, type TurnView } from "../turn/view";
import { Entries } from "./Entries";
import { useNewTitle } from "./useNewTitle";
import { WorkBar } from "./WorkBar";

export function Answer({ view }: { view: TurnView }) {
  useNewTitle(view);
  const outline = useMemo(() => outlineOf(view.entries), [view.entries]);
  const root = childrenOf(outline, null);
  const ApprovalCard = approvalCard.use(view.approvals.length > 0);
  const LimitCard = limitCard.use(view.limitRequests.length > 0);
  // Between two events there is nothing to draw: the dots show that the turn goes on.
  const asks = openApprovals(view).length > 0 || openLimit(view) !== undefined;
  const quiet = view.finishReason === null && !asks && !root.some(isMoving);
  return (
    <>
      {callsIn(view).length > 0 && <WorkBar view={view} />}
      {enclosed(view, <Entries entries={root} outline={outline} />)}
      {ApprovalCard && view.approvals.map((approval) => <ApprovalCard key={approval.id} approval={approval} />)}
      {LimitCard && view.limitRequests.map((request) => <LimitCard key={request.id} request={request} />)}
      {quiet && (
        <div className="pending" aria-hidden="true">
          <i />
          <i />
          <i />
        </div>
      )}
    </>
  );
}

function isMoving(entry: TurnEntry): boolean {
  return entry.kind === "tool" ? entry.status === "running" : !entry.done;
}

/** The entries of an answer, enclosed by the features. */
function enclosed(view: TurnView, entries: ReactNode): ReactNode {
  return features().reduce((inside, { Around }) => (Around ? <Around view={view}>{inside}</Around> : inside), entries);
}

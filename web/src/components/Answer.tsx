// An answer: its calls, its texts, and its questions to the reader.

import { useMemo, type ReactNode } from "react";
import { features } from "../feature";
import { useUnfolded } from "../state/expansion";
import { approvalCard, limitCard } from "../state/parts";
import { settings } from "../state/settings";
import { useStore } from "../state/store";
import { childrenOf, outlineOf } from "../turn/outline";
import { callsIn, openApprovals, openLimit, type TurnEntry, type TurnView } from "../turn/view";
import { Entries } from "./Entries";
import { NewestLines } from "./NewestLines";
import { useTurnFrame } from "./TurnContext";
import { useNewTitle } from "./useNewTitle";
import { WorkBar } from "./WorkBar";
import "../styles/print.css";

export function Answer({ view }: { view: TurnView }) {
  useNewTitle(view);
  const { waits } = useTurnFrame();
  const { showsWork } = useStore(settings);
  const outline = useMemo(() => outlineOf(view.entries), [view.entries]);
  const root = childrenOf(outline, null);
  const ApprovalCard = approvalCard.use(view.approvals.length > 0);
  const LimitCard = limitCard.use(view.limitRequests.length > 0);
  // Between two events there is nothing to draw: the dots show that the turn goes on.
  const asks = openApprovals(view).length > 0 || openLimit(view) !== undefined;
  const works = callsIn(view).length > 0;
  const [open, setOpen] = useUnfolded(view.turnId, showsWork || waits);
  const folded = works && !open;
  // Folded work moves in its lines, and reasoning is work.
  const moves = folded ? callsIn(view).some(isMoving) || root.filter(isSaid).some(isMoving) : root.some(isMoving);
  const quiet = view.finishReason === null && !asks && !moves;
  return (
    <>
      {works && <WorkBar view={view} open={open} onToggle={setOpen} />}
      {enclosed(view, <Entries entries={folded ? root.filter(isSaid) : root} outline={outline} />)}
      {folded && view.finishReason === null && <NewestLines view={view} />}
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

/** Stays where the work is folded: the words of the answer itself. */
function isSaid({ kind }: TurnEntry): boolean {
  return kind === "text" || kind === "summary";
}

function isMoving(entry: TurnEntry): boolean {
  return entry.kind === "tool" ? entry.status === "running" : !entry.done;
}

/** The entries of an answer, enclosed by the features. */
function enclosed(view: TurnView, entries: ReactNode): ReactNode {
  return features().reduce((inside, { Around }) => (Around ? <Around view={view}>{inside}</Around> : inside), entries);
}

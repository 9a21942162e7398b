// The last deletion, with a button that undoes it while that is possible.

import { undoRemoval, threads } from "../state/page";
import { useStore } from "../state/store";

export function Toast() {
  const { leaving } = useStore(threads.store);
  return (
    <div className="toast-frame" role="status">
      {leaving && (
        <div className="toast" data-testid="toast">
          <span>Deleted “{leaving.title.trim() || "Untitled chat"}”.</span>
          <button type="button" className="link-button" data-testid="undo" onClick={undoRemoval}>
            Undo
          </button>
        </div>
      )}
    </div>
  );
}

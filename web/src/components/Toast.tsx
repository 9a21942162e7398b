// The last deletion, with a button that undoes it while that is possible.

import { en } from "../en";
import { undoRemoval, threads } from "../state/page";
import { useStore } from "../state/store";
import { COMPOSER_ID, focusNext } from "./focus";

function undo(): void {
  undoRemoval();
  focusNext(() => document.getElementById(COMPOSER_ID));
}

export function Toast() {
  const { leaving } = useStore(threads.store);
  return (
    <div className="toast-frame" role="status">
      {leaving && (
        <div className="toast" data-testid="toast">
          <span dir="auto">{en.sidebar.deleted(leaving.title.trim() || en.sidebar.untitled)}</span>
          <button type="button" className="link-button" data-testid="undo" onClick={undo}>
            {en.common.undo}
          </button>
        </div>
      )}
    </div>
  );
}

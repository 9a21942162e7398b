// The workflow that the next message starts, in the composer.

import { focusComposer } from "../../../components/focus";
import { CloseIcon } from "../../../components/Icons";
import { choice, type Chosen } from "../choice";
import { words } from "./en";
import "./session.css";

export function Chip({ chat, chosen }: { chat: string; chosen: Chosen }) {
  return (
    <div className="workflow-chosen">
      <ul className="composer-files" aria-label={words.chosen}>
        <li data-testid="workflow-chosen">
          <span dir="auto">{words.starts(chosen.name)}</span>
          <button
            type="button"
            className="icon-button tiny"
            title={words.drop}
            onClick={() => {
              choice.clear(chat);
              focusComposer();
            }}
          >
            <CloseIcon />
            <span className="visually-hidden">{words.drop}</span>
          </button>
        </li>
      </ul>
      <p className="workflow-hint">{words.startsHint}</p>
    </div>
  );
}

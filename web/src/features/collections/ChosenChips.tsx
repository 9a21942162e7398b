// The collections that the open chat searches, in the composer.

import { focusComposer } from "../../components/focus";
import { CloseIcon } from "../../components/Icons";
import { useStore } from "../../state/store";
import { chosen } from "./chosen";
import { words } from "./en";
import { ShelfIcon } from "./ShelfIcon";

export function ChosenChips({ chat }: { chat: string }) {
  const searched = useStore(chosen.store).byChat[chat] ?? [];
  if (searched.length === 0) return null;
  return (
    <ul className="composer-files" aria-label={words.chosen}>
      {searched.map(({ id, name }) => (
        <li key={id} data-testid="chosen">
          <ShelfIcon />
          <span dir="auto">{name}</span>
          <button
            type="button"
            className="icon-button tiny"
            title={words.unchoose}
            onClick={() => {
              chosen.choose(chat, searched.filter((each) => each.id !== id));
              focusComposer();
            }}
          >
            <CloseIcon />
            <span className="visually-hidden">{words.unchoosePart(name)}</span>
          </button>
        </li>
      ))}
    </ul>
  );
}

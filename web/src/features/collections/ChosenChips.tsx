// The collections that the open chat searches, in the composer.

import { CloseIcon } from "../../components/Icons";
import { useStore } from "../../state/store";
import { chosen } from "./chosen";
import { ShelfIcon } from "./ShelfIcon";

export function ChosenChips({ chat }: { chat: string }) {
  const searched = useStore(chosen.store).byChat[chat] ?? [];
  if (searched.length === 0) return null;
  return (
    <ul className="composer-files" aria-label="Collections that are searched">
      {searched.map(({ id, name }) => (
        <li key={id} data-testid="chosen">
          <ShelfIcon />
          <span>{name}</span>
          <button
            type="button"
            className="icon-button tiny"
            title="Do not search it"
            onClick={() => chosen.choose(chat, searched.filter((each) => each.id !== id))}
          >
            <CloseIcon />
            <span className="visually-hidden">Do not search {name}</span>
          </button>
        </li>
      ))}
    </ul>
  );
}

// The choice of the open chat, in the composer: whom the person talks to, with a way back, or that agents are on.

import { focusComposer } from "../../components/focus";
import { CloseIcon } from "../../components/Icons";
import { useStore } from "../../state/store";
import { choice, NOTHING, talkTo, turnOn } from "./choice";
import { words } from "./en";
import { PeopleIcon } from "./PeopleIcon";

export function AgentChips({ chat }: { chat: string }) {
  const { on, to } = useStore(choice.store).byChat[chat] ?? NOTHING;
  const act = (change: () => void) => () => {
    change();
    focusComposer();
  };
  if (to !== null) {
    return (
      <p className="talking-to" data-testid="talking-to">
        <span>{words.talkingTo(to)}</span>{" "}
        <button type="button" className="link-button" data-testid="talk-to-main" onClick={act(() => talkTo(chat, null))}>
          {words.toMain}
        </button>
      </p>
    );
  }
  return on ? (
    <ul className="composer-files" aria-label={words.on}>
      <li data-testid="agents-on">
        <PeopleIcon />
        <span>{words.mode.name}</span>
        <button type="button" className="icon-button tiny" title={words.off} onClick={act(() => turnOn(chat, false))}>
          <CloseIcon />
          <span className="visually-hidden">{words.off}</span>
        </button>
      </li>
    </ul>
  ) : null;
}

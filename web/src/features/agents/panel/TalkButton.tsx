// Makes an agent the one that answers, and back.

import { focusComposer } from "../../../components/focus";
import { useStore } from "../../../state/store";
import { choice } from "../choice";
import { words } from "./en";

interface Props {
  chat: string;
  name: string;
  talk: (to: string | null) => void;
}

export function TalkButton({ chat, name, talk }: Props) {
  const talking = useStore(choice.store).byChat[chat]?.to === name;
  return (
    <button
      type="button"
      className="outline-button talk"
      data-testid="agent-talk"
      aria-pressed={talking}
      title={talking ? words.stopTalking : words.talkTo(name)}
      onClick={() => {
        talk(talking ? null : name);
        if (!talking) focusComposer();
      }}
    >
      {talking ? words.talking : words.talk}
    </button>
  );
}

// The section of the settings with the user's custom instructions.

import { Disclosure } from "../components/Disclosure";
import { MINE } from "./api";
import { words } from "./en";
import { InstructionsForm } from "./InstructionsForm";

export function InstructionsSetting() {
  return (
    <section className="setting">
      <h3>{words.title}</h3>
      <Disclosure label={words.open}>
        <InstructionsForm path={MINE} note={words.note} />
      </Disclosure>
    </section>
  );
}

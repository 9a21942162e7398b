// The place of the buttons ‹ 2/3 › at a message or an answer. Most have one version, so the buttons are a part of the page.

import { createContext } from "react";
import { versionButtons } from "../state/parts";
import type { Picker } from "../turn/versions";

export type VersionsOf = "message" | "answer";

/** Shows the version of this turn; null while a turn runs, which belongs to the path on screen. */
export const ChooseVersion = createContext<((turnId: string) => Promise<void>) | null>(null);

export function VersionPicker({ picker, type }: { picker: Picker | null; type: VersionsOf }) {
  const Buttons = versionButtons.use(picker !== null);
  return picker && Buttons && <Buttons picker={picker} type={type} />;
}

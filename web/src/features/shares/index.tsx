// Share links: a person gives others a read-only snapshot of a chat. It gives the page a panel with a button in the top bar.

import { line } from "../../components/Icons";
import type { Feature } from "../../feature";
import { page } from "../../state/page";
import { part } from "../../state/parts";
import { words } from "./en";

export const shares: Feature = {
  name: "shares",
  panel: {
    part: part(() => import("./SharesPanel").then((module) => module.SharesPanel)),
    label: words.title,
    Icon: line("M10 12V3.5M7 6.5l3-3 3 3M5 9.5v7h10v-7"),
    place: "top bar",
    testId: "share-open",
    isOffered: () => page.get().health?.shares !== false,
  },
};

// Collections: documents of the user, which the agent searches in the chats for which a person chose them. It gives the
// page a panel, chips and a button in the composer, the member `collections` of a message, and the passages of a search
// with their sources below the answer.

import type { Feature } from "../../feature";
import { part } from "../../state/parts";
import { chosen, chosenFor, dropRefused } from "./chosen";
import { ChosenChips } from "./ChosenChips";
import { citationsOf, sourcesOf, type Citation } from "./citations";
import { words } from "./en";
import { ShelfIcon } from "./ShelfIcon";
import { Sources } from "./Sources";

const citations = part(() => import("./Citations").then((module) => module.Citations));

function Passages({ found }: { found: readonly Citation[] }) {
  const Citations = citations.use();
  return Citations && <Citations found={found} />;
}

export const collections: Feature = {
  name: "collections",
  panel: {
    part: part(() => import("./CollectionsPanel").then((module) => module.CollectionsPanel)),
    label: words.title,
    Icon: ShelfIcon,
    place: "sidebar",
    testId: "collections-open",
    composerButton: { label: words.choose, testId: "choose-collections" },
  },
  choice: chosen,
  request: (chat) => {
    const ids = chosenFor(chat).map(({ id }) => id);
    return ids.length === 0 ? {} : { collections: ids };
  },
  refused: (chat, { code, field }) => {
    if (code === "collection_not_found") dropRefused(chat, field);
  },
  Chips: ChosenChips,
  Below: Sources,
  prepare: (turns) => (turns.some(({ answer }) => answer !== null && sourcesOf(answer).length > 0) ? citations.load() : null),
  result: (call) => {
    const found = citationsOf(call);
    return found.length === 0 ? null : { label: words.found, body: <Passages found={found} /> };
  },
};

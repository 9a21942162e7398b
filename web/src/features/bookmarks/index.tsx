// Bookmarks: answers that a person wants to find again. It gives the page a button below each answer, and a panel with a
// button in the sidebar.

import { line } from "../../components/Icons";
import type { Feature } from "../../feature";
import { part } from "../../state/parts";
import { words } from "./en";

const ui = () => import("./ui");
const button = part(() => ui().then((module) => module.BookmarkButton));

export const bookmarks: Feature = {
  name: "bookmarks",
  Action: ({ view }) => {
    const Button = button.use();
    return Button && <Button view={view} />;
  },
  panel: {
    part: part(() => ui().then((module) => module.BookmarksPanel)),
    label: words.title,
    Icon: line("M6 3h8v14l-4-4-4 4z"),
    place: "sidebar",
    testId: "bookmarks-open",
  },
};

// The button and the panel, in one chunk: its address stands once in the first load.

export { BookmarkButton } from "./BookmarkButton";
export { BookmarksPanel } from "./BookmarksPanel";

// Lines of the composer that begin with `/`. A feature carries some of them out; all others are messages.

import { features } from "../feature";
import { useShow } from "./Panels";

/** Returns whether a feature has taken the line. */
export function useCommands(chat: string, threadId: string | null, refuse: (words: string) => void): (line: string) => boolean {
  const show = useShow();
  return (line) =>
    line.startsWith("/") && features().some(({ name, command }) => command?.(line, { chat, threadId, show: () => show(name), refuse }));
}

// Lines of the composer that begin with `/`. The page carries some of them out, and features others; all others are messages.

import { features } from "../feature";
import { subjects } from "../state/subject";
import { useShow } from "./Panels";

/** Returns whether a feature has taken the line. */
export function useCommands(chat: string, threadId: string | null, refuse: (words: string) => void): (line: string) => boolean {
  const show = useShow();
  return (line) =>
    line.startsWith("/") &&
    (chooseMode(line, chat) || features().some(({ name, command }) => command?.(line, { chat, threadId, show: () => show(name), refuse })));
}

/** The lines that choose the mode of the chat, as its menu does. A chip shows it, and takes it away. */
const MODES: ReadonlyMap<string, string> = new Map([["/plan", "general"], ["/swarm", "swarm"]]);

function chooseMode(line: string, chat: string): boolean {
  const type = MODES.get(line);
  if (type !== undefined) subjects.choose(chat, { type });
  return type !== undefined;
}

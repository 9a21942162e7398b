// Says in one sentence how a call will act, as far as its approval tells: its permission class, its server, path or host.

import { turnWords } from "./en";
import type { Approval } from "./view";

/** The tools of MCP servers: `mcp__SERVER__TOOL`. */
const OF_SERVER = /^mcp__(.+?)__(.+)$/s;

export function effectOf({ name, args, permissionClass, readOnly, byClient }: Approval): string {
  const { effects } = turnWords.approval;
  const [, server, tool] = OF_SERVER.exec(name) ?? [];
  if (server && tool) return (readOnly ? effects.serverReads : effects.server)(visibly(tool), visibly(server));
  if (byClient) return effects.client;
  switch (permissionClass) {
    case "safe":
      return effects.safe;
    case "knowledge":
      return readOnly ? effects.knowledgeRead : effects.knowledge;
    case "network": {
      const host = hostIn(args);
      return host === null ? effects.network : effects.host(host);
    }
    case "workspace_write": {
      const path = args["path"];
      if (typeof path !== "string" || path === "") return readOnly ? effects.filesRead : effects.files;
      return (readOnly ? effects.fileRead : effects.file)(visibly(path));
    }
    case "editor_mutate":
      return effects.editor;
    case "subagent":
      return effects.subtask;
    case "secrets":
      return effects.secrets;
    case "media":
      return effects.media;
    default:
      // A class of a later service.
      return effects.unknown;
  }
}

/** The host of the first address among the arguments, as a request names it: an international name in ASCII. */
function hostIn(args: Record<string, unknown>): string | null {
  for (const value of Object.values(args)) {
    if (typeof value === "string" && /^https?:/i.test(value) && URL.canParse(value)) return new URL(value).host;
  }
  return null;
}

/** Invisible characters written out, such as marks that reverse the order of letters. */
export function visibly(text: string): string {
  return text.replace(/[\p{Cf}\p{Zl}\p{Zp}]/gu, (letter) => `\\u{${letter.codePointAt(0)?.toString(16)}}`);
}

const UNITS = [
  [86_400_000, turnWords.approval.days],
  [3_600_000, turnWords.approval.hours],
  [60_000, turnWords.approval.minutes],
] as const;

/** The time left to decide, in its largest unit; seconds only at the end. */
export function timeLeft(expiresAt: number, now: number): string {
  const left = Math.max(0, expiresAt - now);
  const [ms, words] = UNITS.find(([ms]) => left >= ms) ?? [1000, turnWords.approval.seconds];
  return turnWords.approval.left(words(Math.floor(left / ms)));
}

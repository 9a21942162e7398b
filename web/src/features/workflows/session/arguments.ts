// The arguments and results of the calls of a session. Those of a stored turn are texts, which may end in the middle.

import { argFields } from "../../../components/gist";
import type { ToolEntry } from "../../../turn/view";

export type Members = Readonly<Record<string, unknown>>;

/** The members of a call's arguments. Of a cut text: the texts that it still has, the last one as far as it goes. */
export function membersOf({ args }: Pick<ToolEntry, "args">): Members {
  if (typeof args === "object") return args ?? {};
  return objectIn(args) ?? Object.fromEntries(argFields(args) ?? textsIn(args));
}

/** The members of a text of JSON. Null where it is none. */
export function objectIn(text: string | null): Members | null {
  try {
    const value: unknown = JSON.parse(text ?? "");
    return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Members) : null;
  } catch {
    return null;
  }
}

/** The texts among the members of a JSON object that ends anywhere. */
export function textsIn(text: string): [string, string][] {
  const found = text.matchAll(/[{,]\s*"(\w+)"\s*:\s*"((?:[^"\\]|\\.)*)/gs);
  return [...found].map(([, name = "", written = ""]) => [name, unescaped(written)]);
}

function unescaped(written: string): string {
  // An escape that the end of the text has cut off.
  const whole = written.replace(/\\(u[\da-f]{0,3})?(?=…?$)/i, "");
  try {
    return JSON.parse(`"${whole.replace(/[\n\r\t]/g, " ")}"`) as string;
  } catch {
    return whole;
  }
}

export function textOf(members: Members, ...names: string[]): string {
  const value = names.map((name) => members[name]).find((value) => typeof value === "string");
  return typeof value === "string" ? value : "";
}

export function listOf(members: Members, name: string): unknown[] {
  const value = members[name];
  return Array.isArray(value) ? value : [];
}

/** The first line that has words and is no heading, without the marks of Markdown at its beginning. Where all are headings, the
    last one. */
export function firstLine(text: string): string {
  const lines = text.split("\n").filter((line) => /[\p{L}\p{N}]/u.test(line));
  const line = lines.find((each) => !isHeading(each)) ?? lines.at(-1) ?? "";
  return line.replace(/^[\s#>*-]+/, "").replaceAll("**", "").slice(0, 120);
}

/** A heading of Markdown, or a line in bold that stands for one. */
function isHeading(line: string): boolean {
  return /^\s*(#{1,6}\s|\*\*[^*]+\*\*:?\s*$)/.test(line);
}

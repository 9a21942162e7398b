// What an agent remembers, as lines that a person can read. A message has its kind as its only member.

import { argFields } from "../../../components/gist";
import type { AgentRound } from "../../../wire.generated";

/** `heard`: the question, and what others said. `said`: the agent's own words. */
export interface Line {
  kind: "heard" | "said" | "call" | "result" | "failed";
  text: string;
}

interface Sent {
  user?: { content: string | { text?: string; type?: string }[] };
  assistant?: { content: string; tool_calls?: { name: string; arguments: string }[] };
  tool?: { name: string; content: string; is_error?: boolean };
}

/** The longest text of a line. The whole of it is in the agent's file. */
const LINE_CHARS = 4_000;

export function linesOf({ messages }: Pick<AgentRound, "messages">): Line[] {
  return (messages as Sent[]).flatMap(({ user, assistant, tool }) => {
    if (user) return written("heard", textOf(user.content));
    if (assistant) {
      const calls = (assistant.tool_calls ?? []).map(({ name, arguments: json }) => line("call", `${name} ${shortArgs(json)}`));
      return [...written("said", assistant.content), ...calls];
    }
    return tool ? [line(tool.is_error ? "failed" : "result", tool.content)] : [];
  });
}

function written(kind: Line["kind"], text: string): Line[] {
  return text.trim() === "" ? [] : [line(kind, text)];
}

function line(kind: Line["kind"], text: string): Line {
  return { kind, text: text.length > LINE_CHARS ? `${text.slice(0, LINE_CHARS)}…` : text };
}

/** The texts of a message. Its images and files have none. */
function textOf(content: NonNullable<Sent["user"]>["content"]): string {
  return typeof content === "string" ? content : content.flatMap(({ text }) => text ?? []).join("\n\n");
}

function shortArgs(json: string): string {
  const fields = argFields(json);
  return fields === null ? json : fields.map(([name, value]) => `${name}: ${value}`).join(", ");
}

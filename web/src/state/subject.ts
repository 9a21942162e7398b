// The subject of a chat, which the page tells the service with each message. A context decides guidance, limits, models
// and tools; a mode decides how a turn begins (docs/wire-protocol.md, "Contexts", "Router and swarm").

import { en } from "../en";
import { features, type SubjectWords } from "../feature";
import type { ChatRequest } from "../wire";
import { PerChat } from "./perChat";

const { general, ...MODES } = en.composer.modes;

export interface Subject {
  type: string;
  /** The entity of the context, such as a project. */
  entity?: { id: string; name: string };
}

/** The subjects with their words: the general context, those of features, the modes. */
export function subjectWords(): Readonly<Record<string, SubjectWords>> {
  return Object.assign({ general }, ...features().map((feature) => feature.subjects), MODES);
}

/** Null: a chat without a subject, which has no plans and no project. */
export const subjects = new PerChat<Subject | null>("espalier.subjects", (subject) => subject === null);

/** Null for a subject that this version of the page does not know. */
export function known(subject: Subject | null | undefined): Subject | null {
  return subject && Object.hasOwn(subjectWords(), subject.type) ? subject : null;
}

export function subjectText({ type, entity }: Subject): string {
  const words = subjectWords()[type]?.name ?? type;
  return entity ? `${words}: ${entity.name}` : words;
}

/** The subject as members of a request. */
export function requestPart(chat: string): Pick<ChatRequest, "chat_context" | "mode_profile"> {
  const subject = known(subjects.of(chat));
  if (!subject) return {};
  const { type, entity } = subject;
  if (type === "swarm" || type === "auto_route") return { mode_profile: type };
  return { chat_context: { kind: "thread", context_type: type, ...(entity ? { entity_id: entity.id } : {}) } };
}

// What a chat is about: the context that the service is told with each message, which decides guidance, limits, models
// and tools (docs/wire-protocol.md, "Contexts").

import type { ChatContext } from "../wire";
import { PerChat } from "./perChat";

/** Without one a chat is just a chat: no plans, nothing of projects. */
export const SUBJECTS = {
  general: "Anything, with plans",
  project: "A project",
  project_create: "A new project",
  project_audit: "A look over a project",
  task: "Tasks",
} as const;

export interface Subject {
  type: keyof typeof SUBJECTS;
  /** The project that it is about. */
  entity?: { id: string; name: string };
}

/** Null: just a chat. */
export const subjects = new PerChat<Subject | null>("espalier.subjects", (subject) => subject === null);

export function subjectText({ type, entity }: Subject): string {
  return entity ? `${SUBJECTS[type]}: ${entity.name}` : SUBJECTS[type];
}

/** As a request says it. */
export function contextOf(chat: string): ChatContext | null {
  const subject = subjects.of(chat);
  if (!subject || !Object.hasOwn(SUBJECTS, subject.type)) return null;
  return { kind: "thread", context_type: subject.type, ...(subject.entity ? { entity_id: subject.entity.id } : {}) };
}

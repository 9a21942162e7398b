// What a chat is about, or how it works: told to the service with each message. A context decides guidance, limits, models
// and tools; a mode how a turn begins (docs/wire-protocol.md, "Contexts", "Router and swarm").

import type { ChatRequest } from "../wire";
import { PerChat } from "./perChat";

/** Without one a chat is just a chat: no plans, nothing of projects. */
export const SUBJECTS = {
  general: "Anything, with plans",
  project: "A project",
  project_create: "A new project",
  project_audit: "A look over a project",
  task: "Tasks",
  swarm: "A swarm, step by step",
  auto_route: "A swarm where it is worth it",
} as const;

const MODES = ["swarm", "auto_route"] as const;

export interface Subject {
  type: keyof typeof SUBJECTS;
  /** The project that it is about. */
  entity?: { id: string; name: string };
}

/** Null: just a chat. */
export const subjects = new PerChat<Subject | null>("espalier.subjects", (subject) => subject === null);

/** What was kept may be of a later version of the page. */
export function known(subject: Subject | null | undefined): Subject | null {
  return subject && Object.hasOwn(SUBJECTS, subject.type) ? subject : null;
}

export function subjectText({ type, entity }: Subject): string {
  return entity ? `${SUBJECTS[type]}: ${entity.name}` : SUBJECTS[type];
}

/** As a request says it. */
export function requestPart(chat: string): Pick<ChatRequest, "chat_context" | "mode_profile"> {
  const subject = known(subjects.of(chat));
  if (!subject) return {};
  const { type, entity } = subject;
  const mode = MODES.find((each) => each === type);
  if (mode) return { mode_profile: mode };
  return { chat_context: { kind: "thread", context_type: type, ...(entity ? { entity_id: entity.id } : {}) } };
}

// A client in the types that openapi-typescript makes of the API's description. `scripts/description` compiles it.
import type { components, operations, paths } from "espalier";

type Body<Name extends keyof operations> = operations[Name] extends {
  requestBody?: { content: { "application/json": infer Shape } };
}
  ? Shape
  : never;
type Answer<Name extends keyof operations, Status extends number> = operations[Name] extends {
  responses: Record<Status, { content: { "application/json": infer Shape } }>;
}
  ? Shape
  : never;
type Event = components["schemas"]["Numbered"];

export const message: Body<"Chat"> = { content: "What is 17 * 23?" };
// @ts-expect-error The content of a message is text or parts.
export const number: Body<"Chat"> = { content: 42 };
export const decision: Body<"Approval"> = { decision: "approve" };
// @ts-expect-error Nobody decides so.
export const perhaps: Body<"Approval"> = { decision: "perhaps" };

export const route: keyof paths = "/api/threads/{id}/stream";
// @ts-expect-error There is no such route.
export const nowhere: keyof paths = "/api/nowhere";

/** The titles of a list of threads. */
export function titles(list: Answer<"Threads", 200>): (string | null | undefined)[] {
  return list.threads.map((thread) => thread.title);
}

/** The text of an event: its `type` tells which members it has. */
export function text(event: Event): string | number {
  if (event.type === "chunk") return event.content;
  if (event.type === "done") return event.seq;
  // @ts-expect-error Other events have no text of the answer.
  return event.content;
}

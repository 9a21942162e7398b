// The routes of custom instructions: those of the user, and those of a project.

import { request, requestJson } from "../api/http";
import type { Instructions } from "../wire.generated";

export const MINE = "/api/me/instructions";

export function pathOfProject(id: string): string {
  return `/api/projects/${encodeURIComponent(id)}/instructions`;
}

export function readInstructions(path: string): Promise<Instructions> {
  return requestJson<Instructions>(path);
}

export async function writeInstructions(path: string, content: string): Promise<void> {
  await request(path, { method: "PUT", body: { content } });
}

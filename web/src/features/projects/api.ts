// The routes of projects. The agent makes them; a person reads, changes and deletes them.

import { request, requestJson } from "../../api/http";
import type { DocumentChange, DocumentDetail, ProjectChange, ProjectDetail, ProjectList, TaskChange } from "../../wire.generated";

/** A task or a document of a project; null: the project itself. */
export type Part = { kind: "tasks" | "documents"; id: string } | null;

function pathOf(projectId: string, part: Part): string {
  const project = `/api/projects/${encodeURIComponent(projectId)}`;
  return part === null ? project : `${project}/${part.kind}/${encodeURIComponent(part.id)}`;
}

export function listProjects(): Promise<ProjectList> {
  return requestJson<ProjectList>("/api/projects");
}

export function readProject(id: string): Promise<ProjectDetail> {
  return requestJson<ProjectDetail>(pathOf(id, null));
}

export function readDocument(projectId: string, id: string): Promise<DocumentDetail> {
  return requestJson<DocumentDetail>(pathOf(projectId, { kind: "documents", id }));
}

export async function change(projectId: string, part: Part, body: ProjectChange | TaskChange | DocumentChange): Promise<void> {
  await request(pathOf(projectId, part), { method: "PATCH", body });
}

export async function remove(projectId: string, part: Part): Promise<void> {
  await request(pathOf(projectId, part), { method: "DELETE" });
}

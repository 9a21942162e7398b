// The routes of projects. The page reads them; the agent makes and changes them.

import { requestJson } from "../../api/http";
import type { DocumentDetail, ProjectDetail, ProjectList } from "../../wire.generated";

export function listProjects(): Promise<ProjectList> {
  return requestJson<ProjectList>("/api/projects");
}

export function readProject(id: string): Promise<ProjectDetail> {
  return requestJson<ProjectDetail>(`/api/projects/${encodeURIComponent(id)}`);
}

export function readDocument(projectId: string, id: string): Promise<DocumentDetail> {
  return requestJson<DocumentDetail>(`/api/projects/${encodeURIComponent(projectId)}/documents/${encodeURIComponent(id)}`);
}

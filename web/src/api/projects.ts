// The user's projects, and what their turns used. Read here; made and changed by the agent.

import type { DocumentDetail, ProjectDetail, ProjectList, UsageList } from "../wire";
import { requestJson } from "./http";

export function listProjects(): Promise<ProjectList> {
  return requestJson<ProjectList>("/api/projects");
}

export function readProject(id: string): Promise<ProjectDetail> {
  return requestJson<ProjectDetail>(`/api/projects/${encodeURIComponent(id)}`);
}

export function readDocument(projectId: string, id: string): Promise<DocumentDetail> {
  return requestJson<DocumentDetail>(`/api/projects/${encodeURIComponent(projectId)}/documents/${encodeURIComponent(id)}`);
}

export function readUsage(): Promise<UsageList> {
  return requestJson<UsageList>("/api/usage");
}

// The routes of workflows.

import { request, requestJson } from "../../api/http";
import type { WorkflowDetail, WorkflowList } from "../../wire.generated";

function addressOf(id: string): string {
  return `/api/workflows/${encodeURIComponent(id)}`;
}

export function listWorkflows(): Promise<WorkflowList> {
  return requestJson<WorkflowList>("/api/workflows");
}

export function readWorkflow(id: string): Promise<WorkflowDetail> {
  return requestJson<WorkflowDetail>(addressOf(id));
}

/** Writes the next version of a workflow, or the first one. The service checks the definition. */
export function putWorkflow(id: string, definition: unknown): Promise<WorkflowDetail> {
  return requestJson<WorkflowDetail>(addressOf(id), { method: "PUT", body: definition });
}

export async function deleteWorkflow(id: string): Promise<void> {
  await request(addressOf(id), { method: "DELETE" });
}

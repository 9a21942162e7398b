// The routes of a workspace.

import { request, requestJson } from "../../api/http";
import type { FileEntry, FileList } from "../../wire.generated";

export async function listFiles(threadId: string, signal: AbortSignal): Promise<FileEntry[]> {
  return (await requestJson<FileList>(`/api/threads/${threadId}/files`, { signal })).files;
}

export async function readFile(threadId: string, path: string): Promise<Blob> {
  return (await request(addressOf(threadId, path))).blob();
}

/** Replaces this version of a file. Null: creates the file, unless its path is taken. */
export function writeFile(threadId: string, path: string, file: Blob, version: string | null): Promise<FileEntry> {
  const headers: Record<string, string> = version === null ? { "if-none-match": "*" } : { "if-match": `"${version}"` };
  return requestJson<FileEntry>(addressOf(threadId, path), { method: "PUT", file, headers });
}

export async function deleteFile(threadId: string, path: string): Promise<void> {
  await request(addressOf(threadId, path), { method: "DELETE" });
}

function addressOf(threadId: string, path: string): string {
  return `/api/threads/${threadId}/files/${path.split("/").map(encodeURIComponent).join("/")}`;
}

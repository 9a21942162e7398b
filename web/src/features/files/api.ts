// The routes of a workspace.

import { request, requestJson } from "../../api/http";
import type { FileEntry, FileList, FileVersion, FileVersionList } from "../../wire.generated";

export async function listFiles(threadId: string, signal: AbortSignal): Promise<FileEntry[]> {
  return (await requestJson<FileList>(`/api/threads/${threadId}/files`, { signal })).files;
}

/** The earlier versions of all files, the last replaced one first. */
export async function listVersions(threadId: string, signal: AbortSignal): Promise<FileVersion[]> {
  return (await requestJson<FileVersionList>(`/api/threads/${threadId}/file-versions`, { signal })).versions;
}

/** The present content of a file, or an earlier version of it. */
export async function readFile(threadId: string, path: string, version: string | null = null): Promise<Blob> {
  const query = version === null ? "" : `?version=${encodeURIComponent(version)}`;
  return (await request(addressOf(threadId, path) + query)).blob();
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

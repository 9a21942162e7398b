// The download of all data of this person. The service gives it in pages; the cursor of the last page is kept, so a
// download that broke off goes on there.

import { isAbort, request, Unreachable, wordsFor } from "../api/http";
import { saveBlob } from "../state/save";
import { Store } from "../state/store";

interface Download {
  /** The lines and the bytes that have come. */
  lines: number;
  bytes: number;
  /** The chats that the service could not read. */
  unreadable: number;
  state: "none" | "running" | "failed" | "done";
  error: string | null;
}

const NONE: Download = { lines: 0, bytes: 0, unreadable: 0, state: "none", error: null };

export const download = new Store<Download>(NONE);

let pages: Blob[] = [];
let cursor = "";
let stop = new AbortController();

/** Begins a download, or goes on with the one that broke off. */
export async function downloadAll(): Promise<void> {
  if (download.get().state === "running") return;
  if (download.get().state !== "failed") forget();
  stop = new AbortController();
  const { signal } = stop;
  download.set({ state: "running", error: null });
  try {
    for (let more = true; more;) {
      const response = await request(`/api/me/export?cursor=${encodeURIComponent(cursor)}`, { signal });
      // Where the line breaks off, the rest of the page comes with the next attempt.
      const page = await response.text().catch(() => Promise.reject(new Unreachable()));
      if (signal.aborted) return;
      more = take(page);
    }
    saveBlob("export.jsonl", new Blob(pages, { type: "application/x-ndjson" }));
    download.set({ state: "done" });
    [pages, cursor] = [[], ""];
  } catch (error) {
    if (isAbort(error) || signal.aborted) return;
    download.set({ state: "failed", error: wordsFor(error) });
  }
}

/** Keeps a page without its last line, which tells where the next one begins. Tells whether there is one. */
function take(page: string): boolean {
  const lines = page.trimEnd().split("\n");
  const last = JSON.parse(lines.pop() ?? "{}") as { kind?: string; next_cursor?: string };
  const kept = new Blob(lines.map((line) => `${line}\n`));
  pages.push(kept);
  // Within a text the quotes have a backslash before them.
  const missing = lines.filter((line) => line.includes('"kind":"unreadable"')).length;
  download.set(({ lines: count, bytes, unreadable }) => ({
    lines: count + lines.length,
    bytes: bytes + kept.size,
    unreadable: unreadable + missing,
  }));
  cursor = last.next_cursor ?? "";
  return last.kind === "page";
}

/** Stops the download and forgets what has come of it. */
export function cancelDownload(): void {
  stop.abort();
  forget();
}

function forget(): void {
  [pages, cursor] = [[], ""];
  download.set(NONE);
}

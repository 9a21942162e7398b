// The files of the open chat's workspace, which the agent's tools read and write as well. An upload replaces an existing
// file only after the person has confirmed it, and only the version that the page has seen.

import { Refusal, isAbort, wordsFor } from "../../api/http";
import { saveBlob } from "../../state/save";
import { Store } from "../../state/store";
import type { FileEntry, FileVersion } from "../../wire.generated";
import { deleteFile, listFiles, listVersions, readFile, writeFile } from "./api";
import { words } from "./panel/en";
import { previewOf, type Preview } from "./preview";

/** A file on its way into the workspace, or the reason why it did not arrive. */
export interface Upload {
  path: string;
  file: File;
  /** `there`: the workspace has a file of this name. */
  state: "waiting" | "sending" | "there" | "refused";
  words: string;
}

export interface Opened {
  file: FileEntry;
  /** The earlier version that the person reads; null for the present one. */
  version: FileVersion | null;
  /** Null until it has come. */
  preview: Preview | null;
  problem: string | null;
}

export interface WorkspaceState {
  threadId: string | null;
  phase: "loading" | "ready" | "failed";
  files: FileEntry[];
  uploads: Upload[];
  /** The earlier versions of all files; null until somebody asks for them. */
  versions: FileVersion[] | null;
  /** The file that the person reads; null shows the list. */
  opened: Opened | null;
  problem: string | null;
}

/** Tools that change the list. */
const FILE_TOOLS: ReadonlySet<string> = new Set(["write_file", "edit_file", "delete_file"]);

/** The service's limit for one file (docs/wire-protocol.md). */
export const MAX_FILE_BYTES = 1_048_576;
/** The limit for one upload, since each file is a request. */
export const MAX_UPLOADS = 50;
/** Tools write one file after another. The page reads the list once for several. */
const READ_AFTER_MS = 300;

const EMPTY: WorkspaceState = { threadId: null, phase: "loading", files: [], uploads: [], versions: null, opened: null, problem: null };

export class Workspace {
  readonly store = new Store<WorkspaceState>(EMPTY);
  #visit = new AbortController();
  #timer: ReturnType<typeof setTimeout> | null = null;
  #sending = false;
  /** Counts the changes made here: a list that was requested before a change does not have it. */
  #changes = 0;

  /** Shows the files of a chat; null: the panel is closed. */
  show(threadId: string | null): void {
    if (threadId === this.store.get().threadId) return;
    this.#visit.abort();
    this.#visit = new AbortController();
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    this.store.set({ ...EMPTY, threadId });
    if (threadId !== null) void this.load();
  }

  async load(): Promise<void> {
    const { threadId } = this.store.get();
    const { signal } = this.#visit;
    if (threadId === null) return;
    try {
      for (;;) {
        const changes = this.#changes;
        const files = await listFiles(threadId, signal);
        if (signal.aborted) return;
        if (changes !== this.#changes) continue;
        this.store.set({ phase: "ready", files, problem: null });
        if (this.store.get().versions !== null) void this.loadVersions();
        await this.#reopen();
        return;
      }
    } catch (error) {
      if (signal.aborted || isAbort(error)) return;
      // A list on screen stays. Only a failed first reading leaves none.
      this.store.set(({ phase }) => ({ phase: phase === "ready" ? phase : "failed", problem: wordsFor(error) }));
    }
  }

  /** Reads the earlier versions. */
  async loadVersions(): Promise<void> {
    const { threadId } = this.store.get();
    const { signal } = this.#visit;
    if (threadId === null) return;
    try {
      const versions = await listVersions(threadId, signal);
      if (!signal.aborted) this.store.set({ versions });
    } catch (error) {
      if (!signal.aborted && !isAbort(error)) this.store.set({ problem: wordsFor(error) });
    }
  }

  /** Opens an earlier version to read. */
  openVersion(version: FileVersion): Promise<void> {
    const { path, bytes, written_at } = version;
    return this.open({ path, bytes, updated_at: written_at, version: "" }, version);
  }

  /** Opens a file to read, or an earlier version of it. Null goes back to the list. */
  async open(file: FileEntry | null, version: FileVersion | null = null): Promise<void> {
    const { threadId, opened } = this.store.get();
    // A newer version of the same file replaces the old one when it has come.
    const before = opened?.file.path === file?.path && opened?.version === version ? (opened?.preview ?? null) : null;
    const next: Opened | null = file && { file, version, preview: before, problem: null };
    this.store.set({ opened: next });
    if (threadId === null || file === null) return;
    const show = (change: Partial<Opened>) => {
      if (this.store.get().opened === next) this.store.set({ opened: { file, version, preview: before, problem: null, ...change } });
    };
    try {
      show({ preview: await previewOf(file.path, await readFile(threadId, file.path, version?.id)) });
    } catch (error) {
      show({ problem: wordsFor(error) });
    }
  }

  /** The list has been read again: the open file may have changed, or be gone. */
  async #reopen(): Promise<void> {
    const { opened, files } = this.store.get();
    if (!opened || opened.version !== null) return;
    const file = files.find(({ path }) => path === opened.file.path) ?? null;
    if (file?.version !== opened.file.version) await this.open(file);
  }

  /** A tool ended in this chat. */
  called(threadId: string, tool: string): void {
    if (FILE_TOOLS.has(tool)) this.touched(threadId);
  }

  /** A tool or a turn may have changed this chat's files. */
  touched(threadId: string): void {
    if (threadId !== this.store.get().threadId || this.#timer !== null) return;
    this.#timer = setTimeout(() => {
      this.#timer = null;
      void this.load();
    }, READ_AFTER_MS);
  }

  /** Sends files one after the other. */
  upload(list: readonly File[]): void {
    const uploads = list.slice(0, MAX_UPLOADS).map((file): Upload => {
      const path = file.webkitRelativePath || file.name;
      if (file.size > MAX_FILE_BYTES) return { path, file, state: "refused", words: words.tooLarge };
      const there = this.store.get().files.some((known) => known.path === path);
      return { path, file, ...(there ? THERE : { state: "waiting", words: "" }) };
    });
    const surplus = list.length - uploads.length;
    this.store.set((state) => ({
      uploads: [...state.uploads.filter((old) => !uploads.some(({ path }) => path === old.path)), ...uploads],
      problem: surplus > 0 ? words.tooMany(MAX_UPLOADS, surplus) : null,
    }));
    void this.#send();
  }

  /** Sends a file in place of the existing one. */
  async replace(upload: Upload): Promise<void> {
    const { signal } = this.#visit;
    this.#change(upload, { state: "sending", words: "" });
    await this.load();
    if (signal.aborted) return;
    const known = this.store.get().files.find(({ path }) => path === upload.path);
    await this.#write(upload, known?.version ?? null);
  }

  dismiss(upload: Upload): void {
    this.store.set(({ uploads }) => ({ uploads: uploads.filter(({ path }) => path !== upload.path) }));
  }

  async download({ path }: FileEntry, version: FileVersion | null = null): Promise<void> {
    const { threadId } = this.store.get();
    if (threadId === null) return;
    await this.#try(async () => saveBlob(path.split("/").at(-1) ?? path, await readFile(threadId, path, version?.id)));
  }

  /** Writes an earlier version in place of the present one that the person has seen, which stays as an earlier version. */
  async restore(version: FileVersion): Promise<void> {
    const { threadId, files } = this.store.get();
    const { signal } = this.#visit;
    if (threadId === null) return;
    const { path, id } = version;
    const seen = files.find((file) => file.path === path)?.version ?? null;
    try {
      const entry = await writeFile(threadId, path, await readFile(threadId, path, id), seen);
      if (signal.aborted) return;
      this.#put(entry);
      this.store.set({ problem: null });
      await Promise.all([this.open(entry), this.loadVersions()]);
    } catch (error) {
      if (signal.aborted) return;
      const problem = error instanceof Refusal && error.code === "precondition_failed" ? words.changedMeanwhile : wordsFor(error);
      await this.load();
      this.store.set(({ opened }) => (opened ? { opened: { ...opened, problem } } : { problem }));
    }
  }

  async remove({ path }: FileEntry): Promise<void> {
    const { threadId } = this.store.get();
    if (threadId === null) return;
    await this.#try(async () => {
      await deleteFile(threadId, path);
      this.#drop(path);
    });
  }

  async #send(): Promise<void> {
    if (this.#sending) return;
    this.#sending = true;
    try {
      for (;;) {
        const next = this.store.get().uploads.find(({ state }) => state === "waiting");
        if (!next) return;
        await this.#write(next, null);
      }
    } finally {
      this.#sending = false;
    }
  }

  async #write(upload: Upload, version: string | null): Promise<void> {
    const { threadId } = this.store.get();
    const { signal } = this.#visit;
    if (threadId === null) return;
    this.#change(upload, { state: "sending", words: "" });
    try {
      const entry = await writeFile(threadId, upload.path, upload.file, version);
      if (signal.aborted) return;
      this.dismiss(upload);
      this.#put(entry);
    } catch (error) {
      if (!signal.aborted) this.#change(upload, refused(error, version));
    }
  }

  /** Runs an act of the person, and shows its failure. If the file is gone, reads the list again. */
  async #try(act: () => Promise<void>): Promise<void> {
    const { signal } = this.#visit;
    try {
      await act();
      if (!signal.aborted) this.store.set({ problem: null });
    } catch (error) {
      if (signal.aborted) return;
      this.store.set({ problem: wordsFor(error) });
      if (error instanceof Refusal && error.status === 404) await this.load();
    }
  }

  /** A file was written here. */
  #put(entry: FileEntry): void {
    this.#changes += 1;
    this.store.set(({ files }) => ({
      files: [...files.filter(({ path }) => path !== entry.path), entry].sort((a, b) => (a.path < b.path ? -1 : 1)),
    }));
  }

  #drop(path: string): void {
    this.#changes += 1;
    if (this.store.get().versions !== null) void this.loadVersions();
    this.store.set(({ files }) => ({ files: files.filter((file) => file.path !== path) }));
  }

  #change({ path }: Upload, change: Partial<Upload>): void {
    this.store.set(({ uploads }) => ({
      uploads: uploads.map((upload) => (upload.path === path ? { ...upload, ...change } : upload)),
    }));
  }
}

const THERE = { state: "there", words: words.there } as const;

/** Why a file did not arrive, and the person's next step. */
function refused(error: unknown, version: string | null): Pick<Upload, "state" | "words"> {
  switch (error instanceof Refusal ? error.code : "") {
    case "precondition_failed":
      return version === null ? THERE : { state: "there", words: words.changed };
    case "workspace_full":
      return { state: "refused", words: words.full };
    case "body_too_large":
      return { state: "refused", words: words.tooLarge };
    case "invalid_request":
      return { state: "refused", words: words.badName(wordsFor(error)) };
    default:
      return { state: "refused", words: words.notSent(wordsFor(error)) };
  }
}

export const workspace = new Workspace();

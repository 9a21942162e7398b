// The list of chats in the sidebar: its pages, its search, and the person's acts on an entry.

import { Refusal, isAbort, wordsFor } from "../api/http";
import { deleteThread, listThreads, pinThread, renameThread } from "../api/threads";
import { titleOf } from "../turn/title";
import type { ThreadSummary } from "../wire";
import { Store } from "./store";
import { tellTabs } from "./tabs";

export interface ThreadsState {
  phase: "loading" | "ready" | "failed";
  threads: ThreadSummary[];
  nextCursor: string | null;
  problem: string | null;
  /** The words of the search; blank shows all chats. */
  wanted: string;
  /** The chats with these words; null while the answer is on its way, or without a search. */
  found: ThreadSummary[] | null;
  /** The chat that was deleted last, while the person can undo it. */
  leaving: ThreadSummary | null;
}

/** The time to undo a deletion. The page tells the service after it. */
export const UNDO_MS = 6_000;
/** While a chat that is not open goes on, the list is read again after this time. */
const AGAIN_MS = 15_000;
/** The search waits for a pause of this length in the typing. */
const SEARCH_AFTER_MS = 250;

export class Threads {
  readonly store = new Store<ThreadsState>({
    phase: "loading",
    threads: [],
    nextCursor: null,
    problem: null,
    wanted: "",
    found: null,
    leaving: null,
  });
  /** Chats that began here. The index may not have them yet. */
  readonly #fresh = new Map<string, ThreadSummary>();
  /** Chats that were deleted here. The index may still have them for a moment. */
  readonly #deleted = new Set<string>();
  /** Counts the pins and titles that were changed here: a list that was requested before does not have them. */
  #changes = 0;
  #leavingTimer: ReturnType<typeof setTimeout> | null = null;
  #again: ReturnType<typeof setTimeout> | null = null;
  #search = new AbortController();
  #searchTimer: ReturnType<typeof setTimeout> | null = null;

  /** `goesOn`: called with each list; true: the list will change by itself. */
  constructor(private readonly goesOn: (threads: readonly ThreadSummary[]) => boolean = () => false) {}

  async load(): Promise<void> {
    const changes = this.#changes;
    try {
      const page = await listThreads(null);
      if (changes !== this.#changes) return await this.load();
      this.store.set((state) => {
        const first = this.#merge(page.threads);
        const last = first.at(-1);
        // Further pages stay below the renewed first page.
        const older = page.next_cursor === null || !last ? [] : state.threads.filter((thread) => inOrder(last, thread) < 0);
        return {
          phase: "ready",
          threads: [...first, ...older],
          nextCursor: older.length > 0 ? state.nextCursor : page.next_cursor,
          problem: null,
        };
      });
      if (this.#again !== null) clearTimeout(this.#again);
      this.#again = this.goesOn(this.store.get().threads) ? setTimeout(() => void this.load(), AGAIN_MS) : null;
    } catch (error) {
      // A list on screen stays. Only a failed first reading leaves none.
      this.store.set((state) => ({
        phase: state.phase === "ready" ? "ready" : "failed",
        problem: wordsFor(error),
      }));
    }
  }

  async loadMore(): Promise<void> {
    const { nextCursor } = this.store.get();
    if (nextCursor === null) return;
    try {
      const page = await listThreads(nextCursor);
      this.store.set((state) => {
        const known = new Set(state.threads.map((thread) => thread.id));
        const older = page.threads.filter(({ id }) => !known.has(id) && !this.#deleted.has(id));
        return { threads: [...state.threads, ...older], nextCursor: page.next_cursor, problem: null };
      });
    } catch (error) {
      this.store.set({ problem: wordsFor(error) });
    }
  }

  /** Searches chats. The latest search wins. */
  look(wanted: string): void {
    this.#search.abort();
    this.#search = new AbortController();
    if (this.#searchTimer !== null) clearTimeout(this.#searchTimer);
    const { signal } = this.#search;
    const blank = wanted.trim() === "";
    this.store.set((state) => ({ wanted, found: blank ? null : state.found, problem: null }));
    if (blank) return;
    this.#searchTimer = setTimeout(() => void this.#find(wanted.trim(), signal), SEARCH_AFTER_MS);
  }

  async #find(wanted: string, signal: AbortSignal): Promise<void> {
    try {
      const { threads } = await listThreads(null, wanted, signal);
      if (!signal.aborted) this.store.set({ found: threads.filter(({ id }) => !this.#deleted.has(id)) });
    } catch (error) {
      if (!signal.aborted && !isAbort(error)) this.store.set({ problem: wordsFor(error), found: [] });
    }
  }

  /** A turn began in this chat: it goes first, even if the index does not have it yet. */
  touch(id: string, firstWords: string): void {
    const now = Date.now();
    const known = this.store.get().threads.find((thread) => thread.id === id);
    const thread: ThreadSummary = known
      ? { ...known, updated_at: now }
      : { id, title: titleOf(firstWords), created_at: now, updated_at: now };
    if (!known) this.#fresh.set(id, thread);
    this.store.set((state) => ({
      threads: [thread, ...state.threads.filter((other) => other.id !== id)].sort(inOrder),
    }));
  }

  /** The open chat, which the index may not have yet: after a reload the list has it all the same. */
  knows({ id, title, created_at, updated_at }: ThreadSummary): void {
    if (this.find(id) || this.#deleted.has(id)) return;
    const thread = { id, title, created_at, updated_at };
    this.#fresh.set(id, thread);
    this.store.set((state) => ({ threads: [...state.threads, thread].sort(inOrder) }));
  }

  /** Pins a chat above the others at once, or takes its pin away, and undoes it if the service refuses. */
  async pin({ id, pinned_at: before = null }: ThreadSummary): Promise<void> {
    this.#change(id, { pinned_at: before ? null : Date.now() });
    try {
      await pinThread(id, !before);
      tellTabs({ what: "renamed", threadId: id });
    } catch (error) {
      this.#change(id, { pinned_at: before });
      this.store.set({ problem: wordsFor(error) });
    }
  }

  /** Shows the new title at once, and the old one again if the service refuses. */
  async rename(id: string, title: string): Promise<void> {
    const before = this.find(id)?.title;
    const words = title.trim();
    if (words === "" || words === before) return;
    this.#change(id, { title: words });
    try {
      const { title } = await renameThread(id, words);
      this.#change(id, { title });
      tellTabs({ what: "renamed", threadId: id });
    } catch (error) {
      if (before !== undefined) this.#change(id, { title: before });
      this.store.set({ problem: wordsFor(error) });
    }
  }

  /** The entry of a chat on screen. */
  find(id: string): ThreadSummary | undefined {
    const { threads, found } = this.store.get();
    return [...threads, ...(found ?? [])].find((known) => known.id === id);
  }

  /** Removes a chat from the list. The page tells the service when the time to undo is over. */
  remove(id: string): void {
    void this.settle();
    const thread = this.find(id);
    if (!thread) return;
    this.#deleted.add(id);
    this.store.set((state) => ({ ...this.#without(state), leaving: thread, problem: null }));
    this.#leavingTimer = setTimeout(() => void this.settle(), UNDO_MS);
  }

  /** Brings back the chat that was deleted last. */
  undo(): ThreadSummary | null {
    const { leaving } = this.store.get();
    if (!leaving) return null;
    this.#stay(leaving);
    return leaving;
  }

  /** Makes the last deletion final: the time to undo is over, or the person leaves the page. */
  async settle(): Promise<void> {
    const { leaving } = this.store.get();
    if (this.#leavingTimer !== null) clearTimeout(this.#leavingTimer);
    this.#leavingTimer = null;
    if (!leaving) return;
    this.store.set({ leaving: null });
    this.#fresh.delete(leaving.id);
    try {
      await deleteThread(leaving.id);
      tellTabs({ what: "deleted", threadId: leaving.id });
    } catch (error) {
      // The chat was gone already.
      if (error instanceof Refusal && error.status === 404) return;
      this.#stay(leaving);
      this.store.set({ problem: wordsFor(error) });
    }
  }

  /** Another tab deleted it. */
  dropped(id: string): void {
    this.#deleted.add(id);
    this.#fresh.delete(id);
    this.store.set((state) => this.#without(state));
  }

  forget(): void {
    this.#fresh.clear();
    this.look("");
    if (this.#leavingTimer !== null) clearTimeout(this.#leavingTimer);
    this.#leavingTimer = null;
    this.store.set({ phase: "loading", threads: [], nextCursor: null, problem: null, leaving: null });
  }

  #stay(thread: ThreadSummary): void {
    if (this.#leavingTimer !== null) clearTimeout(this.#leavingTimer);
    this.#leavingTimer = null;
    this.#deleted.delete(thread.id);
    this.store.set((state) => ({
      leaving: null,
      threads: [...state.threads.filter(({ id }) => id !== thread.id), thread].sort(inOrder),
    }));
  }

  #without(state: ThreadsState): Partial<ThreadsState> {
    const stays = ({ id }: ThreadSummary) => !this.#deleted.has(id);
    return { threads: state.threads.filter(stays), found: state.found?.filter(stays) ?? null };
  }

  #change(id: string, part: Partial<ThreadSummary>): void {
    this.#changes += 1;
    const change = (thread: ThreadSummary) => (thread.id === id ? { ...thread, ...part } : thread);
    this.store.set((state) => ({
      threads: state.threads.map(change).sort(inOrder),
      found: state.found?.map(change).sort(inOrder) ?? null,
      problem: null,
    }));
  }

  #merge(indexed: ThreadSummary[]): ThreadSummary[] {
    for (const { id } of indexed) this.#fresh.delete(id);
    return [...this.#fresh.values(), ...indexed].filter(({ id }) => !this.#deleted.has(id)).sort(inOrder);
  }
}

/** The pinned chats, then the others, each newest first, as the service lists them. */
function inOrder(a: ThreadSummary, b: ThreadSummary): number {
  return Number(!!b.pinned_at) - Number(!!a.pinned_at) || b.updated_at - a.updated_at;
}

// The list of chats in the sidebar.

import { wordsFor } from "../api/http";
import { deleteThread, listThreads } from "../api/threads";
import type { Thread } from "../wire";
import { Store } from "./store";

export interface ThreadsState {
  phase: "loading" | "ready" | "failed";
  threads: Thread[];
  nextCursor: string | null;
  problem: string | null;
}

const TITLE_CHARS = 80;

export class Threads {
  readonly store = new Store<ThreadsState>({
    phase: "loading",
    threads: [],
    nextCursor: null,
    problem: null,
  });
  /** Chats that began here and that the index may not know yet. */
  readonly #fresh = new Map<string, Thread>();
  /** Deleted here; the index may still name them for a moment. */
  readonly #deleted = new Set<string>();

  async load(): Promise<void> {
    try {
      const page = await listThreads(null);
      this.store.set((state) => {
        const first = this.#merge(page.threads);
        const oldest = first.at(-1)?.updated_at ?? 0;
        // Pages that were asked for stay below the renewed first one.
        const older =
          page.next_cursor === null ? [] : state.threads.filter((t) => t.updated_at < oldest);
        return {
          phase: "ready",
          threads: [...first, ...older],
          nextCursor: older.length > 0 ? state.nextCursor : page.next_cursor,
          problem: null,
        };
      });
    } catch (error) {
      // A list that is there stays; only its first loading can fail for good.
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

  /** A turn began in this chat: it is the newest now, whether or not the index knows it. */
  touch(id: string, firstWords: string): void {
    const now = Date.now();
    const known = this.store.get().threads.find((thread) => thread.id === id);
    const thread: Thread = known
      ? { ...known, updated_at: now }
      : { id, title: titleFrom(firstWords), created_at: now, updated_at: now };
    if (!known) this.#fresh.set(id, thread);
    this.store.set((state) => ({
      threads: [thread, ...state.threads.filter((other) => other.id !== id)],
    }));
  }

  /** Resolves to whether it is gone. */
  async remove(id: string): Promise<boolean> {
    try {
      await deleteThread(id);
    } catch (error) {
      this.store.set({ problem: wordsFor(error) });
      return false;
    }
    this.#deleted.add(id);
    this.#fresh.delete(id);
    this.store.set((state) => ({
      threads: state.threads.filter((thread) => thread.id !== id),
      problem: null,
    }));
    return true;
  }

  forget(): void {
    this.#fresh.clear();
    this.store.set({ phase: "loading", threads: [], nextCursor: null, problem: null });
  }

  #merge(indexed: Thread[]): Thread[] {
    for (const { id } of indexed) this.#fresh.delete(id);
    const threads = [...this.#fresh.values(), ...indexed].filter(({ id }) => !this.#deleted.has(id));
    return threads.sort((a, b) => b.updated_at - a.updated_at);
  }
}

function titleFrom(words: string): string {
  const line = words.trim().split("\n", 1)[0] ?? "";
  const chars = [...line];
  return chars.length <= TITLE_CHARS ? line : `${chars.slice(0, TITLE_CHARS - 1).join("")}…`;
}

// A list that comes in pages and from which things are deleted: what memories, collections and documents have in common.

import { Refusal, wordsFor } from "../api/http";
import { Store } from "./store";

export interface PagedState<T> {
  phase: "unread" | "loading" | "ready" | "failed";
  items: T[];
  nextCursor: string | null;
  problem: string | null;
}

export class Paged<T extends { id: string }> {
  readonly store = new Store<PagedState<T>>({ phase: "unread", items: [], nextCursor: null, problem: null });
  /** What was begun for an earlier list is of no use any more. */
  #reading = 0;
  /** How often something was changed here: a page that was asked for before that does not know it. */
  #changes = 0;

  constructor(private readonly read: (cursor: string | null) => Promise<{ items: T[]; next_cursor: string | null }>) {}

  /** The first page; what is on screen stays until it has come. */
  async load(): Promise<void> {
    this.store.set(({ phase }) => ({ phase: phase === "ready" ? phase : "loading" }));
    await this.#page(null);
  }

  async more(): Promise<void> {
    const { nextCursor } = this.store.get();
    if (nextCursor !== null) await this.#page(nextCursor);
  }

  /** Puts something new, or changed, at its place: where it was, else first. */
  put(item: T): void {
    this.#changes += 1;
    this.store.set(({ items }) => ({
      problem: null,
      items: items.some(({ id }) => id === item.id)
        ? items.map((each) => (each.id === item.id ? item : each))
        : [item, ...items],
    }));
  }

  /** Deletes; what is gone already is what was wanted. True if it is not there any more. */
  async remove(id: string, act: () => Promise<void>): Promise<boolean> {
    const done = await this.attempt(act);
    this.#changes += 1;
    if (done) this.store.set(({ items }) => ({ items: items.filter((each) => each.id !== id) }));
    return done;
  }

  async clear(act: () => Promise<void>): Promise<void> {
    const done = await this.attempt(act);
    this.#changes += 1;
    if (done) this.store.set({ items: [], nextCursor: null });
  }

  /** True if it went well. A failure is said beside the list. */
  async attempt(act: () => Promise<void>): Promise<boolean> {
    try {
      await act();
    } catch (error) {
      const gone = error instanceof Refusal && error.status === 404 && error.code !== "route_not_found";
      if (!gone) {
        this.store.set({ problem: wordsFor(error) });
        return false;
      }
    }
    this.store.set({ problem: null });
    return true;
  }

  forget(): void {
    this.#reading += 1;
    this.store.set({ phase: "unread", items: [], nextCursor: null, problem: null });
  }

  async #page(cursor: string | null): Promise<void> {
    this.#reading += 1;
    const mine = this.#reading;
    try {
      const changes = this.#changes;
      const { items, next_cursor } = await this.read(cursor);
      if (mine !== this.#reading) return;
      if (changes !== this.#changes) return await this.load();
      this.store.set((state) => {
        const known = new Set(cursor === null ? [] : state.items.map(({ id }) => id));
        const before = cursor === null ? [] : state.items;
        return {
          phase: "ready",
          items: [...before, ...items.filter(({ id }) => !known.has(id))],
          nextCursor: next_cursor,
          problem: null,
        };
      });
    } catch (error) {
      if (mine !== this.#reading) return;
      // A list that is there stays; only its first reading can fail for good.
      this.store.set(({ phase }) => ({ phase: phase === "ready" ? phase : "failed", problem: wordsFor(error) }));
    }
  }
}

// A list that comes in pages, and whose items a person can delete: memories, collections, documents.

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
  /** Numbers the readings: an answer to an earlier one is dropped. */
  #reading = 0;
  /** Counts the changes made here: a page that was requested before a change does not have it. */
  #changes = 0;

  constructor(private readonly read: (cursor: string | null) => Promise<{ items: T[]; next_cursor: string | null }>) {}

  /** Reads the first page. The items on screen stay until it has come. */
  async load(): Promise<void> {
    this.store.set(({ phase }) => ({ phase: phase === "ready" ? phase : "loading" }));
    await this.#page(null);
  }

  async more(): Promise<void> {
    const { nextCursor } = this.store.get();
    if (nextCursor !== null) await this.#page(nextCursor);
  }

  /** Puts a changed item in its place, and a new one first. */
  put(item: T): void {
    this.#changes += 1;
    this.store.set(({ items }) => ({
      problem: null,
      items: items.some(({ id }) => id === item.id)
        ? items.map((each) => (each.id === item.id ? item : each))
        : [item, ...items],
    }));
  }

  /** Deletes an item. True if it is gone, also if it was gone before. */
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

  /** True if the act succeeded, or its object was gone already. A failure is shown beside the list. */
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
      // A list on screen stays. Only a failed first reading leaves none.
      this.store.set(({ phase }) => ({ phase: phase === "ready" ? phase : "failed", problem: wordsFor(error) }));
    }
  }
}

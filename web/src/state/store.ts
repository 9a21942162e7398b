// A value that components can watch. Classes without React own the stores and do all asynchronous work; components read
// the value and call methods.

import { useSyncExternalStore } from "react";

export class Store<T> {
  readonly #listeners = new Set<() => void>();
  readonly #first: T;

  constructor(private value: T) {
    this.#first = value;
  }

  get = (): T => this.value;

  /** The value of the first screen, which was drawn when the page was built (prerender.tsx). */
  first = (): T => this.#first;

  set(change: Partial<T> | ((value: T) => Partial<T>)): void {
    const part = typeof change === "function" ? change(this.value) : change;
    this.value = { ...this.value, ...part };
    for (const listener of this.#listeners) listener();
  }

  subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };
}

export function useStore<T>(store: Store<T>): T {
  return useSyncExternalStore(store.subscribe, store.get, store.first);
}

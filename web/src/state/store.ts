// A value that components can watch. Classes without React own the stores and do all asynchronous work; components read
// the value and call methods.

import { useSyncExternalStore } from "react";

/** The stores that know something of the person. Those of an open panel live as long as it does. */
const ofPerson: WeakRef<Store<object>>[] = [];

/** Another person has the session: each store goes back to its first value. */
export function forgetStores(): void {
  for (const store of ofPerson) store.deref()?.forget();
}

export class Store<T extends object> {
  readonly #listeners = new Set<() => void>();
  readonly #first: T;

  /** `lasts`: it belongs to the page or to the browser, whoever has the session. */
  constructor(private value: T, lasts = false) {
    this.#first = value;
    if (!lasts) ofPerson.push(new WeakRef(this as unknown as Store<object>));
  }

  forget(): void {
    this.#change(this.#first);
  }

  get = (): T => this.value;

  /** The value of the first screen, which was drawn when the page was built (prerender.tsx). */
  first = (): T => this.#first;

  set(change: Partial<T> | ((value: T) => Partial<T>)): void {
    const part = typeof change === "function" ? change(this.value) : change;
    this.#change({ ...this.value, ...part });
  }

  #change(value: T): void {
    this.value = value;
    for (const listener of this.#listeners) listener();
  }

  subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };
}

export function useStore<T extends object>(store: Store<T>): T {
  return useSyncExternalStore(store.subscribe, store.get, store.first);
}

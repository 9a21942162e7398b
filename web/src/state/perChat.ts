// A person's choices for single chats. localStorage keeps them by chat, so a chat that is opened again goes on with its
// choice. The page tells the service with each message.

import { NEW_CHAT } from "./drafts";
import { Store } from "./store";

/** The browser keeps the choices of this many chats, the latest ones. */
const MAX_CHATS = 100;

export class PerChat<T> {
  readonly store = new Store<{ byChat: Record<string, T> }>({ byChat: {} });

  /** `isNothing`: a choice that equals no choice, and is not kept. */
  constructor(
    private readonly key: string,
    private readonly isNothing: (choice: T) => boolean,
  ) {}

  /** Where the storage is forbidden or damaged, no chat has a choice. */
  load(): void {
    try {
      const kept = JSON.parse(localStorage.getItem(this.key) ?? "{}") as Record<string, T> | null;
      this.store.set({ byChat: kept ?? {} });
    } catch {
      // As if nothing were kept.
    }
  }

  of(chat: string): T | undefined {
    return this.store.get().byChat[chat];
  }

  choose(chat: string, choice: T): void {
    this.#keep([...this.#others(chat), [chat, choice]]);
  }

  clear(chat: string): void {
    this.#keep(this.#others(chat));
  }

  /** Copies the new chat's choice to the chat that begins. The new chat is cleared when the service has the message. */
  takeAlong(threadId: string): void {
    const taken = this.of(NEW_CHAT);
    if (taken !== undefined) this.choose(threadId, taken);
  }

  /** Changes the choice of every chat. */
  change(each: (choice: T) => T): void {
    this.#keep(Object.entries(this.store.get().byChat).map(([chat, choice]) => [chat, each(choice)]));
  }

  #others(chat: string): [string, T][] {
    return Object.entries(this.store.get().byChat).filter(([each]) => each !== chat);
  }

  #keep(entries: [string, T][]): void {
    const byChat = Object.fromEntries(entries.filter(([, choice]) => !this.isNothing(choice)).slice(-MAX_CHATS));
    this.store.set({ byChat });
    try {
      localStorage.setItem(this.key, JSON.stringify(byChat));
    } catch {
      // Storage is full or forbidden: the choice lasts as long as the page.
    }
  }
}

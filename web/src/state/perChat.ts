// What a person chose for single chats. Kept in localStorage by chat, so that a chat that is opened again goes on with
// it; the service is told with each message.

import { NEW_CHAT } from "./drafts";
import { Store } from "./store";

/** So many chats' choices are kept, the latest ones. */
const MAX_CHATS = 100;

export class PerChat<T> {
  readonly store = new Store<{ byChat: Record<string, T> }>({ byChat: {} });

  /** `nothing`: what is not worth keeping. */
  constructor(
    private readonly key: string,
    private readonly nothing: (choice: T) => boolean,
  ) {}

  /** Nothing is chosen where the storage is forbidden or damaged. */
  load(): void {
    try {
      const kept = JSON.parse(localStorage.getItem(this.key) ?? "{}") as Record<string, T> | null;
      this.store.set({ byChat: kept ?? {} });
    } catch {
      // Then it is as if there were none.
    }
  }

  of(chat: string): T | undefined {
    return this.store.get().byChat[chat];
  }

  choose(chat: string, choice: T): void {
    const { [chat]: _, ...others } = this.store.get().byChat;
    this.#keep([...Object.entries(others), [chat, choice]]);
  }

  /** A chat that begins takes the choice along; it stays at the next new one until the first has really begun. */
  takeAlong(threadId: string): void {
    const taken = this.of(NEW_CHAT);
    if (taken !== undefined) this.choose(threadId, taken);
  }

  /** Changes the choice of every chat. */
  change(each: (choice: T) => T): void {
    this.#keep(Object.entries(this.store.get().byChat).map(([chat, choice]) => [chat, each(choice)]));
  }

  #keep(entries: [string, T][]): void {
    const byChat = Object.fromEntries(entries.filter(([, choice]) => !this.nothing(choice)).slice(-MAX_CHATS));
    this.store.set({ byChat });
    try {
      localStorage.setItem(this.key, JSON.stringify(byChat));
    } catch {
      // Storage is full or forbidden: the choice holds as long as the page.
    }
  }
}

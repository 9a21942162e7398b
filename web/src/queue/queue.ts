// The messages of the open chat that wait for their turn. The service keeps them and starts their turns.

import { Store } from "../state/store";
import type { MessageQueue } from "../wire";
import { editQueued, readQueue, removeQueued, resumeQueue } from "./api";

const NONE: MessageQueue = { held: false, messages: [] };

export class Queue {
  readonly store = new Store<MessageQueue>(NONE);
  #threadId: string | null = null;
  /** The reading that is under way, and whether the queue has changed since it began. */
  #reading: Promise<void> | null = null;
  #changed = false;

  /** `failed`: an act failed. `told`: an act of this page changed the queue of a chat. */
  constructor(
    private readonly failed: (error: unknown) => void,
    private readonly told: (threadId: string) => void,
  ) {}

  /** Another chat is open. */
  open(threadId: string | null): void {
    this.#threadId = threadId;
    if (this.store.get() !== NONE) this.store.set(NONE);
  }

  /** Whether the turn of a waiting message starts by itself when none runs. */
  get goesOn(): boolean {
    const { held, messages } = this.store.get();
    return !held && messages.length > 0;
  }

  get isEmpty(): boolean {
    return this.store.get().messages.length === 0;
  }

  /** The service has told the queue of a chat. */
  show(threadId: string, queue: MessageQueue): void {
    if (threadId === this.#threadId) this.store.set(queue);
  }

  /** Reads the queue of the open chat. Changes that come meanwhile are read together. */
  read(): Promise<void> {
    this.#changed = true;
    this.#reading ??= this.#readOn().finally(() => (this.#reading = null));
    return this.#reading;
  }

  async #readOn(): Promise<void> {
    while (this.#changed && this.#threadId !== null) {
      this.#changed = false;
      const threadId = this.#threadId;
      // A failure leaves the list as it is: the next event, or the next visit, reads it again.
      await readQueue(threadId).then((queue) => this.show(threadId, queue), () => {});
    }
  }

  /** Gives a message other words. Returns whether the service took them. */
  edit(id: string, content: string): Promise<boolean> {
    return this.#act(async (threadId) => this.show(threadId, await editQueued(threadId, id, content)));
  }

  remove(id: string): Promise<boolean> {
    return this.#act(async (threadId) => {
      await removeQueued(threadId, id);
      this.store.set(({ messages }) => ({ messages: messages.filter((each) => each.id !== id) }));
    });
  }

  /** Lets the queue go on. */
  resume(): Promise<boolean> {
    return this.#act(async (threadId) => this.show(threadId, await resumeQueue(threadId)));
  }

  async #act(act: (threadId: string) => Promise<void>): Promise<boolean> {
    const threadId = this.#threadId;
    if (threadId === null) return false;
    try {
      await act(threadId);
      this.told(threadId);
      return true;
    } catch (error) {
      if (threadId !== this.#threadId) return false;
      this.failed(error);
      // The message may have begun meanwhile.
      void this.read();
      return false;
    }
  }
}

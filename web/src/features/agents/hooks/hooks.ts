// The hooks of the open chat: listed, put and deleted. The service checks them, and names the member that it refuses.

import { Refusal, wordsFor } from "../../../api/http";
import { Store } from "../../../state/store";
import { AGENT_NAME, type Hook } from "../../../wire.generated";
import { deleteHook, listHooks, putHook } from "../api";
import { words } from "./en";
import { bodyOf, type Draft } from "./rules";

interface Desk {
  threadId: string | null;
  phase: "loading" | "ready" | "failed";
  hooks: readonly Hook[];
  /** The operator's, which nobody removes here. */
  operators: readonly Hook[];
  /** Those that the main agent has made itself. */
  own: readonly Hook[];
  problem: string | null;
}

/** Why a hook was not put, and the member of the request where it is known. */
export interface Refused {
  field: string | null;
  words: string;
}

const NONE: Desk = { threadId: null, phase: "loading", hooks: [], operators: [], own: [], problem: null };

export class Hooks {
  readonly desk = new Store<Desk>(NONE);
  #reading = 0;

  /** Reads the hooks of a chat. Those on screen stay until the new ones have come. */
  async show(threadId: string): Promise<void> {
    if (threadId !== this.desk.get().threadId) this.desk.set({ ...NONE, threadId });
    this.#reading += 1;
    const mine = this.#reading;
    try {
      const { hooks, operators, own } = await listHooks(threadId);
      if (mine === this.#reading) this.desk.set({ phase: "ready", hooks, operators, own, problem: null });
    } catch (error) {
      if (mine === this.#reading) this.desk.set({ phase: "failed", problem: wordsFor(error) });
    }
  }

  /** Puts a new hook, or one in place of the hook with its name. Null, or why the service refused. */
  async put(draft: Draft, isNew: boolean): Promise<Refused | null> {
    const { threadId, hooks } = this.desk.get();
    if (threadId === null) return null;
    if (!AGENT_NAME.pattern.test(draft.name)) return { field: "name", words: words.nameRule };
    if (isNew && hooks.some(({ name }) => name === draft.name)) return { field: "name", words: words.nameTaken(draft.name) };
    try {
      const put = await putHook(threadId, draft.name, bodyOf(draft));
      this.#change(threadId, (known) => {
        const isThere = known.some(({ name }) => name === put.name);
        return isThere ? known.map((hook) => (hook.name === put.name ? put : hook)) : [...known, put];
      });
      return null;
    } catch (error) {
      return { field: error instanceof Refusal ? error.field : null, words: wordsFor(error) };
    }
  }

  async remove(name: string): Promise<void> {
    const { threadId, hooks } = this.desk.get();
    if (threadId === null) return;
    const without = (known: readonly Hook[]) => known.filter((hook) => hook.name !== name);
    try {
      await deleteHook(threadId, name);
      // The service deletes a hook of the chat before one of this name that the agent made.
      if (hooks.some((hook) => hook.name === name)) this.#change(threadId, without);
      else if (this.desk.get().threadId === threadId) this.desk.set(({ own }) => ({ own: without(own) }));
    } catch (error) {
      this.desk.set({ problem: wordsFor(error) });
    }
  }

  /** A list that is on its way may be older than this change. */
  #change(threadId: string, change: (known: readonly Hook[]) => readonly Hook[]): void {
    if (this.desk.get().threadId !== threadId) return;
    this.#reading += 1;
    this.desk.set(({ hooks }) => ({ phase: "ready", hooks: change(hooks), problem: null }));
  }
}

export const hooks = new Hooks();

// The agents of the open chat: listed, read, ended, saved as files and restored from them.

import { wordsFor } from "../../../api/http";
import { Paged } from "../../../state/paged";
import { saveBlob } from "../../../state/save";
import { Store } from "../../../state/store";
import { AGENT_NAME, type AgentList, type AgentRound, type AgentSummary, type MainAgent } from "../../../wire.generated";
import { dumpAgent, endAgent, listAgents, readRounds, restoreAgent, type Dump } from "../api";
import { choice, NOTHING, talkTo } from "../choice";
import { words } from "./en";

export interface Round extends AgentRound {
  id: string;
}

interface Desk {
  threadId: string | null;
  phase: "unread" | "loading" | "ready" | "failed";
  /** The agent that answers the user; null before the first list has come. */
  main: MainAgent | null;
  agents: readonly AgentSummary[];
  problem: string | null;
  /** The agent whose memory is open. */
  open: string | null;
  /** A dump that waits for a free name. */
  dump: Dump | null;
  /** Why a dump is not restored yet. */
  refused: string | null;
}

const NOBODY: Desk = { threadId: null, phase: "unread", main: null, agents: [], problem: null, open: null, dump: null, refused: null };

/** The service's limit for a dump, in bytes (docs/agents.md). */
export const MAX_DUMP_BYTES = 2_000_000;
/** The agent that answers the user. Its dump is restored under another name. */
export const MAIN = "main";

export class Agents {
  readonly desk = new Store<Desk>(NOBODY);
  /** The rounds of the open agent, newest first: a page more has older ones. */
  rounds = this.#roundsOf("");
  #reading = 0;

  /** Reads the agents of a chat. Those on screen stay until the new ones have come. */
  async show(threadId: string | null): Promise<void> {
    if (threadId !== this.desk.get().threadId) this.desk.set({ ...NOBODY, threadId });
    if (threadId === null) return;
    this.#reading += 1;
    const mine = this.#reading;
    this.desk.set(({ phase }) => ({ phase: phase === "ready" ? phase : "loading" }));
    try {
      const list = await listAgents(threadId);
      if (mine === this.#reading) this.#list(list);
    } catch (error) {
      if (mine === this.#reading) this.desk.set(({ phase }) => ({ phase: phase === "ready" ? phase : "failed", problem: wordsFor(error) }));
    }
    const { open } = this.desk.get();
    if (open !== null && mine === this.#reading) await this.rounds.load();
  }

  reload(): Promise<void> {
    return this.show(this.desk.get().threadId);
  }

  /** Opens the memory of an agent; null goes back to the list. */
  async open(name: string | null): Promise<void> {
    this.desk.set({ open: name, problem: null });
    if (name === null) return;
    this.rounds = this.#roundsOf(name);
    // The panel draws the new list from now on.
    this.desk.set({});
    await this.rounds.load();
  }

  /** Has the browser save an agent as a file. */
  save(name: string): Promise<boolean> {
    return this.#act(async (threadId) => saveBlob(`${name}.agent.json`, await dumpAgent(threadId, name)));
  }

  /** Ends an agent, with those that it made. */
  end(name: string): Promise<boolean> {
    return this.#act(async (threadId) => {
      await endAgent(threadId, name);
      this.#list(await listAgents(threadId));
      const { to } = choice.of(threadId) ?? NOTHING;
      if (to !== null && !this.#has(to)) talkTo(threadId, null);
    });
  }

  /** Reads a file that a person chose. It is restored at once where its name is free. */
  async take(file: File): Promise<void> {
    const dump = file.size > MAX_DUMP_BYTES ? null : await file.text().then(read, () => null);
    this.desk.set({ dump, refused: dump === null ? words.noDump(file.name) : null });
    if (dump === null) return;
    if (this.#has(dump.name) || !AGENT_NAME.pattern.test(dump.name)) this.desk.set({ refused: words.nameTaken(dump.name) });
    else await this.restore(dump.name);
  }

  /** Restores the dump that waits, under this name. */
  async restore(name: string): Promise<void> {
    const { dump, threadId } = this.desk.get();
    if (dump === null || threadId === null) return;
    try {
      const list = await restoreAgent(threadId, { ...dump, name });
      this.#reading += 1;
      this.desk.set({ dump: null, refused: null });
      this.#list(list);
    } catch (error) {
      this.desk.set({ refused: wordsFor(error) });
    }
  }

  dropDump(): void {
    this.desk.set({ dump: null, refused: null });
  }

  /** A free name like this one. */
  freeName(name: string): string {
    const base = AGENT_NAME.pattern.test(name) ? name : "agent";
    for (let number = 2; ; number += 1) {
      const next = `${base.slice(0, 28)}-${number}`;
      if (!this.#has(next)) return next;
    }
  }

  #has(name: string): boolean {
    return name === MAIN || this.desk.get().agents.some((agent) => agent.name === name);
  }

  #list({ main, agents }: AgentList): void {
    const isThere = (name: string | null) => agents.some((agent) => agent.name === name);
    this.desk.set(({ open }) => ({ phase: "ready", main, agents, problem: null, open: isThere(open) ? open : null }));
  }

  async #act(act: (threadId: string) => Promise<void>): Promise<boolean> {
    const { threadId } = this.desk.get();
    if (threadId === null) return false;
    try {
      await act(threadId);
      this.desk.set({ problem: null });
      return true;
    } catch (error) {
      this.desk.set({ problem: wordsFor(error) });
      return false;
    }
  }

  #roundsOf(name: string): Paged<Round> {
    return new Paged<Round>(async (cursor) => {
      const { threadId } = this.desk.get();
      const { rounds, next_cursor } = await readRounds(threadId ?? "", name, cursor);
      const items = rounds.map((round, index) => ({ ...round, id: `${cursor ?? ""}/${index}` })).reverse();
      return { items, next_cursor };
    });
  }
}

/** A dump; null where the text is none. The service checks the rest. */
function read(text: string): Dump | null {
  try {
    const value = JSON.parse(text) as Partial<Dump> | null;
    return typeof value?.name === "string" && typeof value["instructions"] === "string" ? (value as Dump) : null;
  } catch {
    return null;
  }
}

export const agents = new Agents();

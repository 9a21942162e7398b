// The open chat: what is on screen, the turn that runs, and the person's acts on it.
//
// Invariant: at most one "visit" is alive. Opening another chat aborts the visit; the turn itself
// goes on in the service, and is read on when the chat is opened again.

import { followTurn } from "../api/follow";
import { Refusal, Unreachable, isAbort, wordsFor } from "../api/http";
import { cancelTurn, decide, readContent, readMessages, readOn, readThread, startTurn } from "../api/threads";
import type { TurnRequest } from "../api/threads";
import { contentOf, isImage, partsOf, type Medium } from "../turn/attachments";
import type { Connection } from "../turn/status";
import type { Content, Decision, ThreadDetail } from "../wire";
import { waitingPlan } from "../turn/plan";
import { begunExchange, exchangesOf, questionIdOf, renewed, type Exchange } from "../turn/stored";
import { chosen, chosenFor, refuse } from "./chosen";
import { drawing } from "./drawing";
import { clearDraft, NEW_CHAT, restoreDraft } from "./drafts";
import { awaitAnswer, Look, pause } from "./pause";
import { setModel, settings } from "./settings";
import { Store } from "./store";
import { requestPart, subjects } from "./subject";

/** The running time of a turn, by this machine's clock. It stands still while the turn waits for a person. */
export interface TurnClock {
  /** When it was nothing, the waits since then left out. */
  since: number;
  /** Since when the turn waits; null when it does not. */
  waitsSince: number | null;
}

export interface Running {
  turnId: string;
  connection: Connection;
  stopping: boolean;
  /** The first event has come: the turn exists in the service and can be stopped there. */
  begun: boolean;
  clock: TurnClock;
}

export interface ConversationState {
  /** Null: a new chat of which nothing was sent. */
  threadId: string | null;
  phase: "loading" | "ready" | "missing" | "failed";
  exchanges: Exchange[];
  running: Running | null;
  /** What went wrong with the last act, in words for the reader. */
  problem: string | null;
}

/** Tells the rest of the page what happened to a chat. */
export interface Listener {
  /** Gets what drawing an answer needs, as far as it is to be had. A chat that is opened waits for it. */
  prepare: () => Promise<unknown>;
  began: (threadId: string, content: string) => void;
  ended: (threadId: string) => void;
  /** A tool has run. */
  called: (threadId: string, tool: string) => void;
  /** A call that waited has its answer. */
  answered: (threadId: string) => void;
}

/** A message on its way. */
interface Said {
  words: string;
  media: readonly Medium[];
  instead: Exchange | null;
}

const EMPTY: ConversationState = {
  threadId: null,
  phase: "ready",
  exchanges: [],
  running: null,
  problem: null,
};

export class Conversation {
  readonly store = new Store<ConversationState>(EMPTY);
  #visit = new AbortController();
  /** A send whose fate is unknown. The same words again use its names, so they cannot run twice. */
  #unsure: TurnRequest | null = null;
  /** The newest event that is on screen; what is newer came from elsewhere. */
  #lastSeq = 0;
  #refreshing = false;
  /** Wanted when a turn that waits may have been answered. */
  readonly #look = new Look();

  constructor(private readonly listener: Listener) {}

  /** Shows a chat (null: a new one); one that is open already stays as it is. */
  async open(threadId: string | null): Promise<void> {
    if (threadId !== null && threadId === this.store.get().threadId) return;
    await this.#load(threadId);
  }

  /** A chat will be opened as soon as there is a session: until then nothing can be sent. */
  expect(): void {
    this.store.set({ phase: "loading" });
  }

  reload(): Promise<void> {
    return this.#load(this.store.get().threadId);
  }

  /** Looks whether another tab or device went on with the open chat, or answered a turn that waits. What is on screen
      stays until it has come. */
  async refresh(): Promise<void> {
    const { threadId, phase, running } = this.store.get();
    if (running) this.#look.want();
    if (threadId === null || phase !== "ready" || running || this.#refreshing) return;
    const { signal } = this.#visit;
    this.#refreshing = true;
    try {
      const details = await readThread(threadId, signal);
      if (details.running_turn_id === null && details.last_seq === this.#lastSeq) return;
      const read = exchangesOf(await readMessages(threadId, signal));
      if (signal.aborted || this.store.get().running) return;
      this.#lastSeq = details.last_seq;
      this.store.set((state) => ({ exchanges: renewed(state.exchanges, read) }));
      this.#refreshing = false;
      await this.#catchUp(details);
    } catch (error) {
      // Nobody asked for this: without an answer the chat stays as it is. One that is gone is not.
      if (!signal.aborted && error instanceof Refusal && error.status === 404) {
        this.store.set({ phase: "missing", running: null });
      }
    } finally {
      this.#refreshing = false;
    }
  }

  /** Sends a message. `instead` names the exchange whose place it takes, which must be the last. */
  async send(
    words: string,
    instead: Exchange | null = null,
    media: readonly Medium[] = instead?.media ?? [],
  ): Promise<void> {
    const { threadId, phase, running } = this.store.get();
    if (running || phase !== "ready" || (words.trim() === "" && media.length === 0)) return;
    const replaced = instead && questionIdOf(instead);
    const request = this.#requestFor(threadId, contentOf(words, media), replaced);
    const chat = threadId ?? NEW_CHAT;
    const signal = this.#visit.signal;
    if (!instead) clearDraft(chat);
    if (threadId === null) {
      chosen.takeAlong(request.thread_id);
      subjects.takeAlong(request.thread_id);
    }
    this.store.set((state) => {
      const before = state.exchanges.filter(({ turnId }) => turnId !== request.turn_id && turnId !== instead?.turnId);
      return {
        threadId: request.thread_id,
        problem: null,
        running: { turnId: request.turn_id, connection: "open", stopping: false, begun: false, clock: started() },
        exchanges: [...before, begunExchange(request.turn_id, words, media, waitingPlan(before)?.plan)],
      };
    });
    try {
      await this.#follow(request.thread_id, request.turn_id, () => startTurn(request, signal));
    } catch (error) {
      if (signal.aborted || isAbort(error)) return;
      this.#unsend(threadId, request, { words, media, instead }, error);
    }
  }

  async stop(): Promise<void> {
    const { threadId, running } = this.store.get();
    if (!threadId || !running || running.stopping) return;
    this.#setRunning({ stopping: true });
    if (running.begun) await this.#cancel(threadId);
  }

  /** Gets the images and files of a question that is on screen. What the service has no more stays a mark. */
  async loadMedia(exchange: Exchange): Promise<void> {
    const { threadId } = this.store.get();
    const id = questionIdOf(exchange);
    const { signal } = this.#visit;
    if (threadId === null || id === null) return;
    const { media } = await readContent(threadId, id, signal).then(partsOf, () => ({ media: [] }));
    if (signal.aborted || media.length !== exchange.media.length) return;
    // An image has no name of its own: its mark says what it is.
    const named = media.map((each, index) => (isImage(each) ? { ...each, name: exchange.media[index]?.name ?? "" } : each));
    this.store.set(({ exchanges }) => ({
      exchanges: exchanges.map((each) => (each.turnId === exchange.turnId ? { ...each, media: named } : each)),
    }));
  }

  /** Whether it took is told by the turn's events. */
  async decide(approvalId: string, decision: Decision): Promise<void> {
    const { threadId } = this.store.get();
    const { signal } = this.#visit;
    if (!threadId) return;
    try {
      await decide(threadId, approvalId, decision);
      this.#look.want();
      this.listener.answered(threadId);
    } catch (error) {
      if (!signal.aborted) this.store.set({ problem: wordsFor(error) });
    }
  }

  dismissProblem(): void {
    this.store.set({ problem: null });
  }

  async #load(threadId: string | null, problem: string | null = null): Promise<void> {
    this.#visit.abort();
    this.#visit = new AbortController();
    const { signal } = this.#visit;
    this.store.set({ ...EMPTY, threadId, phase: threadId === null ? "ready" : "loading" });
    if (threadId === null) return;
    try {
      // In this order: a turn that ends in between is then in the messages, never in neither.
      const prepared = this.listener.prepare();
      const details = await readThread(threadId, signal);
      const exchanges = exchangesOf(await readMessages(threadId, signal));
      await prepared;
      if (signal.aborted) return;
      this.#lastSeq = details.last_seq;
      this.store.set({ phase: "ready", exchanges, problem });
      await this.#catchUp(details);
    } catch (error) {
      if (signal.aborted || isAbort(error)) return;
      const missing = error instanceof Refusal && (error.status === 404 || error.status === 400);
      this.store.set({ phase: missing ? "missing" : "failed", problem: wordsFor(error) });
    }
  }

  /** Reads a turn on that runs in the service, unless it has ended meanwhile. */
  async #catchUp(details: ThreadDetail): Promise<void> {
    const { id: threadId, running_turn_id: turnId, running_turn_first_seq: first, running_ms: runningMs } = details;
    const { exchanges } = this.store.get();
    const asked = exchanges.find((exchange) => exchange.turnId === turnId);
    if (turnId === null || asked?.answer) return;
    const before = exchanges.filter((exchange) => exchange !== asked);
    const begun = begunExchange(turnId, "", [], waitingPlan(before)?.plan);
    this.store.set({
      running: { turnId, connection: "open", stopping: false, begun: true, clock: started(runningMs ?? 0) },
      exchanges: [...before, { ...begun, ...asked, answer: begun.answer }],
    });
    await this.#follow(threadId, turnId, null, (first ?? 1) - 1);
  }

  async #follow(
    threadId: string,
    turnId: string,
    start: (() => Promise<Response>) | null,
    after = 0,
  ): Promise<void> {
    const { signal } = this.#visit;
    const drawn = drawing(this.store, turnId, signal);
    const ending = await followTurn({
      turnId,
      start,
      after,
      signal,
      resume: (after) => {
        this.#look.looks();
        return readOn(threadId, after, signal);
      },
      onEvent: (event) => {
        if (signal.aborted) return;
        this.#lastSeq = event.seq;
        drawn.add(event);
        if (start && this.store.get().running?.begun === false) this.#begin(threadId);
        if (event.type === "tool_call_update" && event.status === "end") this.listener.called(threadId, event.name);
        if (event.type === "agent_state") this.#setWaiting(event.state === "waiting_on_user");
      },
      onOpen: () => this.#setRunning({ connection: "open" }, signal),
      onCut: () => this.#setRunning({ connection: "reconnecting" }, signal),
      pause: (ms) => pause(ms, signal),
      await: (ms) => awaitAnswer(ms, signal, this.#look),
    }).finally(drawn.finish);
    if (signal.aborted || ending === "aborted") return;
    this.store.set({ running: null });
    this.listener.ended(threadId);
    if (ending === "gone") await this.reload();
  }

  /** The first event is the proof that the service has the message. */
  #begin(threadId: string): void {
    const { running, exchanges } = this.store.get();
    this.#unsure = null;
    this.#setRunning({ begun: true, clock: started() });
    this.listener.began(threadId, exchanges.at(-1)?.question ?? "");
    if (running?.stopping) void this.#cancel(threadId);
  }

  #setWaiting(waits: boolean): void {
    const { running } = this.store.get();
    if (!running || waits === (running.clock.waitsSince !== null)) return;
    const { since, waitsSince } = running.clock;
    const now = Date.now();
    this.#setRunning({
      clock: waits ? { since, waitsSince: now } : { since: since + now - (waitsSince ?? now), waitsSince: null },
    });
  }

  async #cancel(threadId: string): Promise<void> {
    const { signal } = this.#visit;
    try {
      await cancelTurn(threadId);
      this.#look.want();
    } catch (error) {
      if (signal.aborted) return;
      this.#setRunning({ stopping: false });
      this.store.set({ problem: wordsFor(error) });
    }
  }

  #requestFor(threadId: string | null, content: Content, replaced: string | null): TurnRequest {
    const unsure = this.#unsure;
    const again =
      unsure !== null &&
      JSON.stringify(unsure.content) === JSON.stringify(content) &&
      (threadId ?? unsure.thread_id) === unsure.thread_id &&
      (unsure.replaces_message_id ?? null) === replaced;
    if (again) return unsure;
    const { model, memory } = settings.get();
    const collections = chosenFor(threadId ?? NEW_CHAT).map(({ id }) => id);
    return {
      content,
      thread_id: threadId ?? crypto.randomUUID(),
      turn_id: crypto.randomUUID(),
      ...(replaced === null ? {} : { replaces_message_id: replaced }),
      ...(model === null ? {} : { model }),
      ...(memory ? { memory_enabled: true } : {}),
      ...(collections.length === 0 ? {} : { collections }),
      ...requestPart(threadId ?? NEW_CHAT),
    };
  }

  /** The message was not taken, or the line broke for good: nothing of what was typed is lost. */
  #unsend(threadId: string | null, request: TurnRequest, { words, media, instead }: Said, error: unknown): void {
    const begun = this.store.get().running?.begun ?? false;
    if (begun) {
      // Refused while reading on: the chat was deleted, or belongs to a session that is over.
      this.store.set({ running: null, problem: wordsFor(error) });
      return;
    }
    this.#unsure = error instanceof Unreachable ? request : null;
    // The deployment offers it no more: the next attempt leaves the choice to the service.
    if (error instanceof Refusal && error.field === "model") setModel(null);
    if (error instanceof Refusal && error.code === "collection_not_found") refuse(threadId ?? NEW_CHAT, error.field);
    if (words !== instead?.question) restoreDraft(threadId ?? NEW_CHAT, words, media);
    this.store.set((state) => ({
      threadId,
      running: null,
      problem: wordsFor(error),
      exchanges: [
        ...state.exchanges.filter((exchange) => exchange.turnId !== request.turn_id),
        ...(instead ? [instead] : []),
      ],
    }));
    // Another tab started a turn here: show it, beside the words why this message has to wait.
    if (threadId !== null && error instanceof Refusal && error.code === "turn_in_progress") {
      void this.#load(threadId, wordsFor(error));
    }
  }

  #setRunning(change: Partial<Running>, signal = this.#visit.signal): void {
    if (signal.aborted) return;
    this.store.set(({ running }) => (running ? { running: { ...running, ...change } } : {}));
  }
}

function started(runningMs = 0): TurnClock {
  return { since: Date.now() - runningMs, waitsSince: null };
}

// The open chat: what is on screen, the turn that runs, and the person's acts on it.
//
// Invariant: at most one "visit" is alive. Opening another chat aborts the visit; the turn itself
// goes on in the service, and is read on when the chat is opened again.

import { followTurn } from "../api/follow";
import { Refusal, Unreachable, isAbort, wordsFor } from "../api/http";
import { cancelTurn, decide, readMessages, readOn, readThread, startTurn } from "../api/threads";
import type { ChatRequest } from "../api/threads";
import { reduceTurn } from "../turn/reduce";
import type { Connection } from "../turn/status";
import { exchangesOf, type Exchange } from "../turn/stored";
import { newTurn } from "../turn/view";
import type { Decision, TurnEvent } from "../wire";
import { NEW_CHAT, restoreDraft, setDraft } from "./drafts";
import { pause } from "./pause";
import { Store } from "./store";

export interface Running {
  turnId: string;
  connection: Connection;
  stopping: boolean;
  /** The first event has come: the turn exists in the service and can be stopped there. */
  begun: boolean;
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
  began: (threadId: string, content: string) => void;
  ended: (threadId: string) => void;
}

const EMPTY: ConversationState = {
  threadId: null,
  phase: "ready",
  exchanges: [],
  running: null,
  problem: null,
};

/** Chunks come faster than anybody reads: they are drawn together, about 30 times a second. */
const DRAW_EVERY_MS = 33;

export class Conversation {
  readonly store = new Store<ConversationState>(EMPTY);
  #visit = new AbortController();
  /** A send whose fate is unknown. The same words again use its names, so they cannot run twice. */
  #unsure: ChatRequest | null = null;

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

  async send(content: string): Promise<void> {
    const { threadId, phase, running } = this.store.get();
    if (running || phase !== "ready" || content.trim() === "") return;
    const request = this.#requestFor(threadId, content);
    const chat = threadId ?? NEW_CHAT;
    const signal = this.#visit.signal;
    setDraft(chat, "");
    this.store.set((state) => ({
      threadId: request.thread_id,
      problem: null,
      running: { turnId: request.turn_id, connection: "open", stopping: false, begun: false },
      exchanges: [
        ...state.exchanges.filter((exchange) => exchange.turnId !== request.turn_id),
        { turnId: request.turn_id, question: content, answer: newTurn(request.turn_id) },
      ],
    }));
    try {
      await this.#follow(request.thread_id, request.turn_id, () => startTurn(request, signal));
    } catch (error) {
      if (signal.aborted || isAbort(error)) return;
      this.#unsend(threadId, request, error);
    }
  }

  async stop(): Promise<void> {
    const { threadId, running } = this.store.get();
    if (!threadId || !running || running.stopping) return;
    this.#setRunning({ stopping: true });
    if (running.begun) await this.#cancel(threadId);
  }

  /** Whether it took is told by the turn's events. */
  async decide(approvalId: string, decision: Decision): Promise<void> {
    const { threadId } = this.store.get();
    const { signal } = this.#visit;
    if (!threadId) return;
    try {
      await decide(threadId, approvalId, decision);
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
      const details = await readThread(threadId, signal);
      const exchanges = exchangesOf(await readMessages(threadId, signal));
      if (signal.aborted) return;
      const runningId = details.running_turn_id;
      const finished = exchanges.some(({ turnId, answer }) => turnId === runningId && answer);
      this.store.set({ phase: "ready", exchanges, problem });
      if (runningId === null || finished) return;
      await this.#readOn(threadId, runningId, (details.running_turn_first_seq ?? 1) - 1);
    } catch (error) {
      if (signal.aborted || isAbort(error)) return;
      const missing = error instanceof Refusal && (error.status === 404 || error.status === 400);
      this.store.set({ phase: missing ? "missing" : "failed", problem: wordsFor(error) });
    }
  }

  async #readOn(threadId: string, turnId: string, after: number): Promise<void> {
    this.store.set((state) => {
      const asked = state.exchanges.find((exchange) => exchange.turnId === turnId);
      const others = state.exchanges.filter((exchange) => exchange.turnId !== turnId);
      return {
        running: { turnId, connection: "open", stopping: false, begun: true },
        exchanges: [
          ...others,
          { turnId, question: asked?.question ?? "", answer: newTurn(turnId) },
        ],
      };
    });
    await this.#follow(threadId, turnId, null, after);
  }

  async #follow(
    threadId: string,
    turnId: string,
    start: (() => Promise<Response>) | null,
    after = 0,
  ): Promise<void> {
    const { signal } = this.#visit;
    const drawing = this.#drawing(turnId, signal);
    const ending = await followTurn({
      turnId,
      start,
      after,
      signal,
      resume: (after) => readOn(threadId, after, signal),
      onEvent: (event) => {
        if (signal.aborted) return;
        drawing.add(event);
        if (start && this.store.get().running?.begun === false) this.#begin(threadId);
      },
      onOpen: () => this.#setRunning({ connection: "open" }, signal),
      onCut: () => this.#setRunning({ connection: "reconnecting" }, signal),
      pause: (ms) => pause(ms, signal),
    }).finally(drawing.finish);
    if (signal.aborted || ending === "aborted") return;
    this.store.set({ running: null });
    this.listener.ended(threadId);
    if (ending === "gone") await this.reload();
  }

  /** The first event is the proof that the service has the message. */
  #begin(threadId: string): void {
    const { running, exchanges } = this.store.get();
    this.#unsure = null;
    this.#setRunning({ begun: true });
    this.listener.began(threadId, exchanges.at(-1)?.question ?? "");
    if (running?.stopping) void this.#cancel(threadId);
  }

  #drawing(turnId: string, signal: AbortSignal) {
    let waiting: TurnEvent[] = [];
    let timer: ReturnType<typeof setTimeout> | null = null;
    const draw = () => {
      timer = null;
      const events = waiting;
      waiting = [];
      if (signal.aborted || events.length === 0) return;
      this.store.set((state) => ({
        exchanges: state.exchanges.map((exchange) =>
          exchange.turnId === turnId && exchange.answer
            ? { ...exchange, answer: events.reduce(reduceTurn, exchange.answer) }
            : exchange,
        ),
      }));
    };
    return {
      add: (event: TurnEvent) => {
        waiting.push(event);
        timer ??= setTimeout(draw, DRAW_EVERY_MS);
      },
      finish: () => {
        if (timer !== null) clearTimeout(timer);
        draw();
      },
    };
  }

  async #cancel(threadId: string): Promise<void> {
    const { signal } = this.#visit;
    try {
      await cancelTurn(threadId);
    } catch (error) {
      if (signal.aborted) return;
      this.#setRunning({ stopping: false });
      this.store.set({ problem: wordsFor(error) });
    }
  }

  #requestFor(threadId: string | null, content: string): ChatRequest {
    const unsure = this.#unsure;
    const again = unsure?.content === content && (threadId ?? unsure.thread_id) === unsure.thread_id;
    if (unsure && again) return unsure;
    return {
      content,
      thread_id: threadId ?? crypto.randomUUID(),
      turn_id: crypto.randomUUID(),
    };
  }

  /** The message was not taken, or the line broke for good: nothing of what was typed is lost. */
  #unsend(threadId: string | null, request: ChatRequest, error: unknown): void {
    const begun = this.store.get().running?.begun ?? false;
    if (begun) {
      // Refused while reading on: the chat was deleted, or belongs to a session that is over.
      this.store.set({ running: null, problem: wordsFor(error) });
      return;
    }
    this.#unsure = error instanceof Unreachable ? request : null;
    restoreDraft(threadId ?? NEW_CHAT, request.content);
    this.store.set((state) => ({
      threadId,
      running: null,
      problem: wordsFor(error),
      exchanges: state.exchanges.filter((exchange) => exchange.turnId !== request.turn_id),
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

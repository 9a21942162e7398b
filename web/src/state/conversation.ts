// The open chat: its exchanges on screen, its running turn, and the person's acts on it.
//
// Invariant: at most one visit is alive. Opening another chat aborts the visit. The turn goes on in the service; the page
// follows it again when the chat is opened again.

import { followTurn } from "../api/follow";
import { Refusal, Unreachable, isAbort } from "../api/http";
import { cancelTurn, choosePath, decide, type DecisionParts, readContent, readOn, startTurn, type TurnRequest } from "../api/threads";
import { en } from "../en";
import { features, preparedFor } from "../feature";
import { Queue } from "../queue/queue";
import { contentOf, isImage, partsOf, withFiles, type Medium } from "../turn/attachments";
import type { Content, Decision, ThreadDetail } from "../wire";
import { begunExchange, questionIdOf, renewed, type Exchange } from "../turn/stored";
import { withVersion } from "../turn/versions";
import { choices } from "./choices";
import { drawing } from "./drawing";
import { clearDraft, draftOf, NEW_CHAT, restoreDraft } from "./drafts";
import { started, waiting, type Running, type TurnClock } from "./clock";
import { awaitAnswer, Look, pause } from "./pause";
import { problemOf, type Problem } from "./problem";
import type { Listener } from "./listener";
import { Meanwhile, type Outgoing } from "./meanwhile";
import { EMPTY, type ConversationState } from "./onScreen";
import { outcomes } from "./outcome";
import { OneByOne } from "./oneByOne";
import { readDetails, readExchanges } from "./reading";
import { continuationOf, leaveOut, requestOf, sends } from "./request";
import { Store } from "./store";

export type { ConversationState, Running, TurnClock };

export class Conversation {
  readonly store = new Store<ConversationState>(EMPTY);
  readonly queue = new Queue(
    (error) => this.store.set({ problem: problemOf(error) }),
    (threadId) => {
      this.listener.queued(threadId);
      void this.refresh();
    },
  );
  readonly #meanwhile = new Meanwhile(this.queue, {
    signal: () => this.#visit.signal,
    isRunning: () => this.store.get().running !== null,
    lastSeq: () => this.#lastSeq,
    start: (request, outgoing, start) => this.#start(request.thread_id, request, outgoing, start),
    refresh: () => this.refresh(),
    queued: (threadId) => this.listener.queued(threadId),
    failed: (request, error) => {
      this.#unsure = error instanceof Unreachable ? request : null;
      this.store.set({ problem: problemOf(error) });
    },
  });
  #visit = new AbortController();
  /** A request that may have arrived. Sending the same words again uses its ids, so the service runs them once. */
  #unsure: TurnRequest | null = null;
  /** The newest event on screen. Newer ones come from another tab or device. */
  #lastSeq = 0;
  /** The readings of the open chat: what one of them finds must not overwrite a path that is chosen meanwhile. */
  readonly #readings = new OneByOne();
  /** Wanted when somebody may have answered a turn that waits. */
  readonly #look = new Look();

  constructor(private readonly listener: Listener) {}

  /** Shows a chat (null: a new one). A chat that is open already stays as it is. */
  async open(threadId: string | null): Promise<void> {
    if (threadId !== null && threadId === this.store.get().threadId) return;
    await this.#load(threadId);
  }

  /** The page opens a chat as soon as it has a session. Until then nothing can be sent. */
  expect(): void {
    this.store.set({ phase: "loading" });
  }

  reload(): Promise<void> {
    return this.#load(this.store.get().threadId);
  }

  /** Reads the open chat again if another tab or device went on with it, or answered a turn that waits. The exchanges on
      screen stay until the new ones have come. */
  async refresh(): Promise<void> {
    const { threadId, phase, running } = this.store.get();
    if (running) this.#look.want();
    if (threadId === null || phase !== "ready" || running || this.#readings.isBusy) return;
    const { signal } = this.#visit;
    try {
      const details = await this.#readings.run(async () => {
        const details = await readDetails(threadId, signal, this.listener);
        if ((details.queued ?? 0) > 0 || !this.queue.isEmpty) await this.queue.read();
        if (details.running_turn_id === null && details.last_seq === this.#lastSeq) return details;
        const read = await readExchanges(threadId, signal);
        if (signal.aborted || this.store.get().running) return null;
        this.#lastSeq = details.last_seq;
        this.store.set((state) => ({ exchanges: renewed(state.exchanges, read) }));
        return details;
      });
      if (details) await this.#catchUp(details);
    } catch (error) {
      // The person did not ask for this: a failure leaves the chat as it is, unless the chat is gone.
      if (!signal.aborted && error instanceof Refusal && error.status === 404) {
        this.store.set({ phase: "missing", running: null });
      }
    }
  }

  /** Sends a message. It begins a version beside the exchange `instead`. `draft`: it was written in the composer. */
  async send(
    words: string,
    instead: Exchange | null = null,
    media: readonly Medium[] = instead?.media ?? [],
    draft = instead === null,
  ): Promise<void> {
    const { threadId, phase, running } = this.store.get();
    if (phase !== "ready" || (words.trim() === "" && media.length === 0)) return;
    if (running && (instead || !running.begun)) return;
    const replaced = instead && questionIdOf(instead);
    const request = this.#requestFor(threadId, contentOf(words, media), replaced, instead?.answer);
    const { signal } = this.#visit;
    if (draft) clearDraft(threadId ?? NEW_CHAT);
    const outgoing = { words, media, instead, draft };
    this.dismissProblem();
    if (running) return this.#meanwhile.enqueue(request, outgoing);
    if (threadId === null) for (const choice of choices()) choice.takeAlong(request.thread_id);
    await this.#start(threadId, request, outgoing, () => startTurn(request, signal));
  }

  /** Goes on from the last exchange, whose turn a limit ended. */
  async goOn({ turnId }: Pick<Exchange, "turnId">): Promise<void> {
    const { threadId, phase, running, exchanges } = this.store.get();
    if (threadId === null || phase !== "ready" || running) return;
    const from = exchanges.find((exchange) => exchange.turnId === turnId)?.answer ?? null;
    const request = this.#unsure?.continue === turnId ? this.#unsure : continuationOf(threadId, turnId, from);
    const { signal } = this.#visit;
    const outgoing = { words: en.answer.continued, media: [], instead: null, draft: false, continued: turnId };
    await this.#start(threadId, request, outgoing, () => startTurn(request, signal));
  }

  /** Sends a message in place of the turn that runs. */
  async sendNow(words: string, media: readonly Medium[]): Promise<void> {
    const { threadId, running } = this.store.get();
    if (!threadId || !running?.begun || (words.trim() === "" && media.length === 0)) return;
    const request = this.#requestFor(threadId, contentOf(words, media), null);
    clearDraft(threadId);
    await this.#meanwhile.sendNow(request, { words, media, instead: null, draft: true });
  }

  async #start(threadId: string | null, request: TurnRequest, outgoing: Outgoing, start: () => Promise<Response>): Promise<void> {
    const { words, media, instead } = outgoing;
    const { signal } = this.#visit;
    const shown = this.store.get().exchanges;
    const at = instead ? shown.findIndex(({ turnId }) => turnId === instead.turnId) : -1;
    const left = at === -1 ? [] : shown.slice(at);
    if (threadId === null) this.queue.open(request.thread_id);
    this.store.set((state) => {
      const before = state.exchanges.filter((each) => each.turnId !== request.turn_id && !left.includes(each));
      const again = instead !== null && words === instead.question && media === instead.media;
      const versions = instead ? withVersion(request.turn_id, again, instead, before.at(-1)?.turnId ?? null) : [];
      return {
        threadId: request.thread_id,
        problem: null,
        running: { turnId: request.turn_id, connection: "open", stopping: false, begun: false, clock: started() },
        exchanges: [...before, begunExchange(request.turn_id, words, media, before, versions)],
      };
    });
    try {
      await this.#follow(request.thread_id, request.turn_id, start);
    } catch (error) {
      if (signal.aborted || isAbort(error)) return;
      this.#unsend(threadId, request, outgoing, left, error);
    }
  }

  /** Shows another version of a turn, and the conversation that goes on from it. */
  async choose(turnId: string): Promise<void> {
    const { threadId, phase, running } = this.store.get();
    if (threadId === null || phase !== "ready" || running) return;
    const { signal } = this.#visit;
    try {
      await this.#readings.run(async () => {
        if (signal.aborted || this.store.get().running) return;
        const details = await choosePath(threadId, turnId);
        this.listener.chose(threadId);
        const read = await readExchanges(threadId, signal);
        if (signal.aborted) return;
        this.#lastSeq = details.last_seq;
        this.store.set((state) => ({ problem: null, exchanges: renewed(state.exchanges, read) }));
      });
    } catch (error) {
      if (!signal.aborted) this.store.set({ problem: problemOf(error, () => void this.choose(turnId)) });
    }
  }

  async stop(): Promise<void> {
    const { threadId, running } = this.store.get();
    if (!threadId || !running || running.stopping) return;
    this.#setRunning({ stopping: true });
    if (running.begun) await this.#cancel(threadId);
  }

  /** Loads the images and files of a question on screen. Media that the service no longer has keep their marks. */
  async loadMedia(exchange: Exchange): Promise<void> {
    const { threadId } = this.store.get();
    const id = questionIdOf(exchange);
    const { signal } = this.#visit;
    if (threadId === null || id === null) return;
    const { media } = await readContent(threadId, id, signal).then(partsOf, () => ({ media: [] }));
    if (signal.aborted || media.length !== exchange.media.length) return;
    // An image has no name of its own: its mark gives one.
    const named = media.map((each, index) => (isImage(each) ? { ...each, name: exchange.media[index]?.name ?? "" } : each));
    this.store.set(({ exchanges }) => ({
      exchanges: exchanges.map((each) => (each.turnId === exchange.turnId ? { ...each, media: named } : each)),
    }));
  }

  /** Sends the person's decision about a call, or the form that it asked for. The turn's events tell whether it took effect.
      False: it did not arrive. */
  async decide(approvalId: string, decision: Decision, more: DecisionParts = {}): Promise<boolean> {
    const { threadId } = this.store.get();
    const { signal } = this.#visit;
    if (!threadId) return false;
    try {
      await decide(threadId, approvalId, decision, more);
      this.#look.want();
      this.listener.answered(threadId);
      return true;
    } catch (error) {
      // The words of a reason go back to the composer, where they can be sent again.
      const retry = more.reason ? null : () => void this.decide(approvalId, decision, more);
      if (!signal.aborted) this.store.set({ problem: problemOf(error, retry) });
      return false;
    }
  }

  dismissProblem(): void {
    this.store.set({ problem: null });
  }

  /** The service answers again: a failure for want of an answer is over. */
  async reached(): Promise<void> {
    const { phase, problem } = this.store.get();
    if (!problem?.lost) return;
    if (phase === "failed") await this.reload();
    else this.dismissProblem();
  }

  async #load(threadId: string | null, problem: Problem | null = null): Promise<void> {
    this.#visit.abort();
    this.#visit = new AbortController();
    const { signal } = this.#visit;
    this.#meanwhile.forget();
    this.queue.open(threadId);
    this.store.set({ ...EMPTY, threadId, phase: threadId === null ? "ready" : "loading" });
    if (threadId === null) return;
    try {
      // In this order: the messages then have a turn that ends between the two requests.
      const prepared = this.listener.prepare();
      const details = await readDetails(threadId, signal, this.listener);
      const exchanges = await readExchanges(threadId, signal);
      await Promise.all([prepared, preparedFor(exchanges), details.queued ? this.queue.read() : null]);
      if (signal.aborted) return;
      this.#lastSeq = details.last_seq;
      this.store.set({ phase: "ready", exchanges, problem });
      await this.#catchUp(details);
    } catch (error) {
      if (signal.aborted || isAbort(error)) return;
      const missing = error instanceof Refusal && (error.status === 404 || error.status === 400);
      this.store.set({ phase: missing ? "missing" : "failed", problem: problemOf(error, () => void this.reload()) });
    }
  }

  /** Follows the turn that runs in the service, unless it has ended meanwhile. */
  async #catchUp(details: ThreadDetail): Promise<void> {
    const { id: threadId, running_turn_id: turnId, running_turn_first_seq: first, running_ms: runningMs } = details;
    const { exchanges } = this.store.get();
    const asked = exchanges.find((exchange) => exchange.turnId === turnId);
    if (turnId === null || asked?.answer) return this.#meanwhile.next(threadId);
    const before = exchanges.filter((exchange) => exchange !== asked);
    const begun = begunExchange(turnId, "", [], before);
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
    const tell = outcomes((what) => this.listener.told(threadId, turnId, what));
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
        if (event.type === "queue_update") void this.queue.read();
        if (event.type === "agent_state") this.#setWaiting(event.state === "waiting_on_user");
        tell(event);
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
    else await this.#meanwhile.next(threadId);
  }

  /** The first event has come: the service has the message. */
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
    this.#setRunning({ clock: waiting(running.clock, waits) });
  }

  async #cancel(threadId: string): Promise<void> {
    const { signal } = this.#visit;
    try {
      await cancelTurn(threadId);
      this.#look.want();
    } catch (error) {
      if (signal.aborted) return;
      this.#setRunning({ stopping: false });
      this.store.set({ problem: problemOf(error, () => void this.stop()) });
    }
  }

  #requestFor(threadId: string | null, content: Content, replaced: string | null, from: Exchange["answer"] = null): TurnRequest {
    const unsure = this.#unsure;
    return unsure && sends(unsure, threadId, content, replaced) ? unsure : requestOf(threadId, content, replaced, from);
  }

  /** The service refused the message, or the connection is lost for good. The typed words go back to the draft. */
  #unsend(threadId: string | null, request: TurnRequest, outgoing: Outgoing, left: readonly Exchange[], error: unknown): void {
    const { words, media, instead, draft, continued } = outgoing;
    if (this.store.get().running?.begun) {
      // The service refused to go on: the chat was deleted, or its session is over.
      this.store.set({ running: null, problem: problemOf(error) });
      return;
    }
    this.#unsure = error instanceof Unreachable ? request : null;
    if (error instanceof Refusal) leaveOut(error.field);
    if (error instanceof Refusal) for (const feature of features()) feature.refused?.(threadId ?? NEW_CHAT, error);
    const problem = problemOf(error, () => void this.#resend(outgoing));
    // The words of a button stay out of the draft where they can be tried again.
    if (instead ? words !== instead.question : draft || !(continued || problem.retry)) restoreDraft(threadId ?? NEW_CHAT, words, media);
    this.store.set((state) => ({
      threadId,
      running: null,
      problem,
      exchanges: [...state.exchanges.filter(({ turnId }) => turnId !== request.turn_id), ...left],
    }));
    // Another tab started a turn here: show it, and say why this message has to wait.
    if (threadId !== null && error instanceof Refusal && error.code === "turn_in_progress") {
      void this.#load(threadId, problem);
    }
  }

  /** Sends an unsent message again. One of the composer is sent as the draft has it now. */
  async #resend({ words, media, instead, draft, continued }: Outgoing): Promise<void> {
    if (continued) return this.goOn({ turnId: continued });
    if (!draft) return this.send(words, instead, media, draft);
    const now = draftOf(this.store.get().threadId ?? NEW_CHAT);
    await this.send(withFiles(now.text, now.files), null, now.media);
  }

  #setRunning(change: Partial<Running>, signal = this.#visit.signal): void {
    if (signal.aborted) return;
    this.store.set(({ running }) => (running ? { running: { ...running, ...change } } : {}));
  }
}

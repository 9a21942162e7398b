// The messages that the person sends while a turn runs, and the turn that follows it.

import { passes } from "../api/follow";
import { isAbort, Refusal, retryAfterMs } from "../api/http";
import { readOn, startTurn, type TurnRequest } from "../api/threads";
import type { Queue } from "../queue/queue";
import type { Medium } from "../turn/attachments";
import type { Exchange } from "../turn/stored";
import type { MessageQueue } from "../wire";
import { restoreDraft } from "./drafts";
import { pause } from "./pause";

/** A message on its way. */
export interface Outgoing {
  words: string;
  media: readonly Medium[];
  /** The exchange beside which it begins a version. */
  instead: Exchange | null;
  /** It was written in the composer. */
  draft: boolean;
  /** The turn that it continues; it is no message then. */
  continued?: string;
}

/** The conversation, as far as this file needs it. */
interface Host {
  /** Aborted when another chat is opened. */
  signal: () => AbortSignal;
  isRunning: () => boolean;
  /** The newest event on screen. */
  lastSeq: () => number;
  /** Shows a message and follows its turn. */
  start: (request: TurnRequest, outgoing: Outgoing, start: () => Promise<Response>) => Promise<void>;
  refresh: () => Promise<void>;
  queued: (threadId: string) => void;
  failed: (request: TurnRequest, error: unknown) => void;
}

/** A message that stops the turn that runs, and its answer. */
interface Now {
  request: TurnRequest;
  outgoing: Outgoing;
  answer: Promise<Response>;
}

/** The pause before the page asks again for a turn that should begin. */
const BETWEEN_MS = 2_000;

export class Meanwhile {
  /** The message that is shown once the turn that it stops has ended. */
  #now: Now | null = null;
  /** A turn has begun that the page does not follow yet. */
  #missed = false;

  constructor(private readonly queue: Queue, private readonly host: Host) {}

  /** Another chat is opened. */
  forget(): void {
    this.#now = null;
    this.#missed = false;
  }

  /** Sends a message that waits for its turn. */
  async enqueue(request: TurnRequest, outgoing: Outgoing): Promise<void> {
    const signal = this.host.signal();
    try {
      const answer = await startTurn({ ...request, if_running: "queue" }, signal);
      if (answer.status === 202) this.queue.show(request.thread_id, (await answer.json()) as MessageQueue);
      else {
        // The turn before it has just ended, and its own runs.
        void answer.body?.cancel();
        this.#missed = true;
        void this.host.refresh();
      }
      this.host.queued(request.thread_id);
    } catch (error) {
      if (!signal.aborted && !isAbort(error)) this.#giveBack(request, outgoing, error);
    }
  }

  /** Sends a message in place of the turn that runs. */
  async sendNow(plain: TurnRequest, outgoing: Outgoing): Promise<void> {
    const signal = this.host.signal();
    const request = { ...plain, if_running: "supersede" as const };
    const now = { request, outgoing, answer: startTurn(request, signal) };
    this.#now = now;
    await now.answer.catch((error: unknown) => {
      // The turn that runs goes on. Once it has ended, the message shows its own refusal.
      if (signal.aborted || isAbort(error) || this.#now !== now) return;
      this.#now = null;
      this.#giveBack(plain, outgoing, error);
    });
  }

  /** No turn is followed: shows the message that was sent now, or the turn of the next message that waited. */
  async next(threadId: string): Promise<void> {
    const signal = this.host.signal();
    const now = this.#now;
    this.#now = null;
    if (now) {
      let first: Promise<Response> | null = now.answer;
      return this.host.start(now.request, now.outgoing, () => {
        const answer = first ?? startTurn(now.request, signal);
        first = null;
        return answer;
      });
    }
    if (!this.queue.isEmpty) {
      const went = this.queue.goesOn;
      await this.queue.read();
      // The end of the turn may have held the queue. Otherwise the first message may have its turn by now.
      if (went && !this.queue.store.get().held) this.#missed = true;
    }
    while ((this.queue.goesOn || this.#missed) && !signal.aborted && !this.host.isRunning()) {
      try {
        // The service answers when the next turn has begun.
        const answer = await readOn(threadId, this.host.lastSeq(), signal);
        void answer.body?.cancel();
        this.#missed = false;
        if (answer.status === 200) return await this.host.refresh();
        await this.queue.read();
        await pause(retryAfterMs(answer) ?? BETWEEN_MS, signal);
      } catch (error) {
        if (signal.aborted || isAbort(error) || (error instanceof Refusal && !passes(error))) return;
        await pause((error as Partial<Refusal>).retryAfterMs ?? BETWEEN_MS, signal);
      }
    }
  }

  /** The message comes back into the draft. */
  #giveBack(request: TurnRequest, { words, media }: Outgoing, error: unknown): void {
    restoreDraft(request.thread_id, words, media);
    this.host.failed(request, error);
  }
}

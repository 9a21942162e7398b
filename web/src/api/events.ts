// A response's body → its events.

import { createParser } from "eventsource-parser";
import type { TurnEvent } from "../wire";

/**
 * The service writes at least a comment every 15 s. A connection that is silent for three such periods is dead, even if
 * the browser does not know it (the laptop slept, the network changed).
 */
const SILENCE_MS = 45_000;

/** The comment that ends the stream of a turn that waits for a person. */
const PARKED = "parked";

/** Ends when the body ends; throws when it breaks or falls silent. */
export async function* readEvents(
  response: Response,
  onParked: () => void,
  silenceMs = SILENCE_MS,
): AsyncGenerator<TurnEvent> {
  if (!response.body) return;
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  let events: TurnEvent[] = [];
  const parser = createParser({
    onEvent: (message) => {
      const event = parse(message.data);
      if (event) events.push(event);
    },
    onComment: (comment) => {
      if (comment.trim() === PARKED) onParked();
    },
  });
  try {
    for (;;) {
      const { done, value } = await withinSilence(reader.read(), silenceMs);
      if (done) return;
      parser.feed(decoder.decode(value, { stream: true }));
      const batch = events;
      events = [];
      yield* batch;
    }
  } finally {
    // Also closes the connection when the consumer stops early.
    reader.cancel().catch(() => {});
  }
}

function parse(data: string): TurnEvent | null {
  try {
    const event = JSON.parse(data) as Partial<TurnEvent> | null;
    return typeof event?.type === "string" && typeof event.seq === "number"
      ? (event as TurnEvent)
      : null;
  } catch {
    return null;
  }
}

async function withinSilence<T>(read: Promise<T>, silenceMs: number): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const silence = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error("the stream fell silent")), silenceMs);
  });
  try {
    return await Promise.race([read, silence]);
  } finally {
    clearTimeout(timer);
  }
}

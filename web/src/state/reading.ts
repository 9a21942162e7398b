// A chat and its exchanges, as the service has them.

import { readMessages, readThread } from "../api/threads";
import { exchangesOf, type Exchange } from "../turn/stored";
import type { ThreadDetail } from "../wire";
import type { Listener } from "./listener";

export async function readExchanges(threadId: string, signal: AbortSignal): Promise<Exchange[]> {
  const { messages, versions } = await readMessages(threadId, signal);
  return exchangesOf(messages, versions);
}

/** Reads a chat, and tells the listener. */
export async function readDetails(threadId: string, signal: AbortSignal, listener: Listener): Promise<ThreadDetail> {
  const details = await readThread(threadId, signal);
  if (!signal.aborted) listener.read(details);
  return details;
}

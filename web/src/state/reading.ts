// The exchanges of a chat, as the service has them.

import { readMessages } from "../api/threads";
import { exchangesOf, type Exchange } from "../turn/stored";

export async function readExchanges(threadId: string, signal: AbortSignal): Promise<Exchange[]> {
  const { messages, versions } = await readMessages(threadId, signal);
  return exchangesOf(messages, versions);
}

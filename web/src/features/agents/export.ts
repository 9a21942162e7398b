// The agents of a chat in its file: as dumps, from which they can be restored.

import { dumpAgent, listAgents } from "./api";

/** One after the other: each may have half a megabyte, and a chat has at most 16. */
export async function dumpsOf(threadId: string): Promise<unknown[]> {
  const dumps: unknown[] = [];
  for (const { name } of (await listAgents(threadId)).agents) {
    dumps.push(JSON.parse(await (await dumpAgent(threadId, name)).text()));
  }
  return dumps;
}

// The agents of a chat in its file: as dumps, from which they can be restored.

import { dumpAgent, listAgents } from "./api";

/** Those of the main agent, one after the other: each has its own agents in it, two megabytes at most. */
export async function dumpsOf(threadId: string): Promise<unknown[]> {
  const dumps: unknown[] = [];
  for (const { name, parent } of (await listAgents(threadId)).agents) {
    if (parent !== null) continue;
    dumps.push(JSON.parse(await (await dumpAgent(threadId, name)).text()));
  }
  return dumps;
}

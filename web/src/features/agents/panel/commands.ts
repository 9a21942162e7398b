// The words of the composer for agents: /list, /talkwith NAME, /dump NAME, /restore. The page reads them; the service sees
// the requests that they stand for.

import { wordsFor } from "../../../api/http";
import type { CommandPlace } from "../../../feature";
import { saveBlob } from "../../../state/save";
import { dumpAgent, listAgents } from "../api";
import { talkTo } from "../choice";
import { MAIN } from "./agents";
import { words } from "./en";

export async function carryOut(command: string, name: string | null, place: CommandPlace): Promise<void> {
  const { chat, threadId, show, refuse } = place;
  if (command === "list" || command === "restore") return show();
  if (name === null) return refuse(words.needsName(command));
  if (command === "talkwith" && name === MAIN) return talkTo(chat, null);
  if (threadId === null) return refuse(words.noAgent(name));
  try {
    if (command === "dump") return saveBlob(`${name}.agent.json`, await dumpAgent(threadId, name));
    const isThere = (await listAgents(threadId)).agents.some((agent) => agent.name === name);
    if (isThere) talkTo(chat, name);
    else refuse(words.noAgent(name));
  } catch (error) {
    refuse(wordsFor(error));
  }
}

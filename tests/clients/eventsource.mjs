// `eventsource`, whose connection breaks off in the middle of the turn: it connects again by itself, with
// `Last-Event-ID`.

import { EventSource } from "eventsource";
import { cuttableLine } from "../browser/line.mjs";
import { BASE, openSession, question, release, report } from "./common.mjs";

const TYPES = ["session", "agent_state", "tool_call_update", "model_call_update", "chunk", "cost_summary", "done"];

const cookie = await openSession();
const started = await fetch(`${BASE}/api/chat`, question(cookie));
// `EventSource` cannot post. This needs only the thread's id, in the first event of the answer.
let head = "";
for await (const piece of started.body.pipeThrough(new TextDecoderStream())) {
  head += piece;
  if (head.includes("\n\n")) break;
}
const thread = JSON.parse(/^data: (.*)$/m.exec(head)[1]).thread_id;

const line = await cuttableLine(BASE);
const asked = [];
const source = new EventSource(`${line.url}api/threads/${thread}/stream`, {
  fetch: (url, init) => {
    asked.push(init.headers["Last-Event-ID"] ?? null);
    return fetch(url, { ...init, headers: { ...init.headers, cookie } });
  },
});
const frames = [];
await new Promise((resolve, reject) => {
  source.addEventListener("error", (event) => {
    if (source.readyState === EventSource.CLOSED) reject(new Error(`${event.code}: ${event.message}`));
  });
  for (const type of TYPES) {
    source.addEventListener(type, ({ lastEventId, data }) => {
      frames.push({ id: lastEventId, event: type, data });
      if (type === "chunk" && asked.length === 1) {
        line.cut();
        release().catch(reject);
      }
      if (type === "done") resolve();
    });
  }
});
source.close();
line.close();
const cutAfter = frames.find(({ event }) => event === "chunk").id;
if (JSON.stringify(asked) !== JSON.stringify([null, cutAfter])) throw new Error(`asked after ${JSON.stringify(asked)}`);
report(cookie, frames);

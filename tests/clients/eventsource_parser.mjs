// `eventsource-parser` behind Node's `fetch`.

import { EventSourceParserStream } from "eventsource-parser/stream";
import { BASE, openSession, question, report } from "./common.mjs";

const cookie = await openSession();
const reply = await fetch(`${BASE}/api/chat`, question(cookie));
const frames = [];
const parsed = reply.body.pipeThrough(new TextDecoderStream()).pipeThrough(new EventSourceParserStream());
for await (const frame of parsed) frames.push(frame);
report(cookie, frames);

// Node's own `fetch`, and the frames taken apart by hand.

import { BASE, openSession, question, report } from "./common.mjs";

const cookie = await openSession();
const reply = await fetch(`${BASE}/api/chat`, question(cookie));
const frames = [];
let text = "";
for await (const piece of reply.body.pipeThrough(new TextDecoderStream())) {
  text += piece;
  const whole = text.split("\n\n");
  text = whole.pop();
  for (const frame of whole) {
    const lines = frame.split("\n").filter((line) => !line.startsWith(":"));
    if (lines.length > 0) frames.push(Object.fromEntries(lines.map((line) => line.split(/: (.*)/s, 2))));
  }
}
report(cookie, frames);

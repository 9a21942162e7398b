// Plays turns. Reading is cheap on purpose (two timestamps, no parsing while it counts): client and fake LLM share the
// machine with the measured Worker.

import http from "node:http";
import { DIALECTS, chatWith } from "./dialects.mjs";
import { OURS } from "./workers.mjs";

const agent = new http.Agent({ keepAlive: true, maxSockets: 64 });

export function post(url, body, headers = {}) {
  return new Promise((resolve, reject) => {
    const started = performance.now();
    const request = http.request(url, {
      method: "POST",
      agent,
      headers: { "content-type": "application/json", ...headers },
    });
    request.on("error", reject);
    request.on("response", (response) => {
      const parts = [];
      let firstEvent = 0;
      let firstText = 0;
      response.on("data", (bytes) => {
        parts.push(bytes);
        firstEvent ||= performance.now() - started;
        if (!firstText && bytes.includes("word0 ")) firstText = performance.now() - started;
      });
      response.on("error", reject);
      response.on("end", () => {
        const text = Buffer.concat(parts).toString();
        resolve({ status: response.statusCode, headers: response.headers, text, firstEvent, firstText });
      });
    });
    request.end(JSON.stringify(body));
  });
}

// Espalier needs a session; the floors need none.
export async function session(worker) {
  if (!OURS.includes(worker.name)) return {};
  const { status, headers, text } = await post(`${worker.url}api/session`, {});
  if (status !== 200) throw new Error(`no session: ${status} ${text}`);
  return { cookie: headers["set-cookie"][0].split(";")[0] };
}

/** How a worker says that it ran a tool, and that it is done. The floor with D1 has a wire of its own. */
const OUR_WIRE = {
  path: "api/chat",
  ran: /"status":"end"[^\n]*"result"|"result"[^\n]*"status":"end"/g,
  done: /"type":"done".*"finish_reason":"stop"/,
};
const WIRES = {
  espalier: OUR_WIRE,
  recording: OUR_WIRE,
  counted: OUR_WIRE,
  loop: OUR_WIRE,
  "loop-d1": { path: "loop-d1", ran: /^event: tool$/gm, done: /^event: done$/m },
  pipe: { path: "api/chat", ran: null, done: /^data: \[DONE\]$/ },
};

export async function turn(worker, scenario, threadId) {
  const { name, tools, words, replies } = scenario;
  const { path, ran, done, headers, body } = WIRES[worker.name] ?? DIALECTS[worker.name];
  const content = `bench:${name}`;
  const chat = body && chatWith(worker.name, threadId, content);
  // `replies` is for the pipe, which cannot know when to stop; the others ignore it.
  const sent = chat ? body(threadId, chat) : { thread_id: threadId, content, replies };
  const answer = await post(worker.url + path, sent, { ...worker.credentials, ...headers });

  // A turn that went wrong must not count as a fast one. Some dialects tell a text again as a whole.
  const text = new Set(answer.text.match(/word\d+ /g));
  const said = text.size;
  chat?.push({ role: "assistant", text: [...text].join("") });
  const last = answer.text.trimEnd().split("\n\n").at(-1);
  const calls = ran ? (answer.text.match(ran) ?? []).length : tools;
  if (answer.status !== 200 || !done.test(last) || said !== words || calls !== tools) {
    throw new Error(`${worker.name}, ${name}: ${answer.status}, ${said} words, ${calls} tools\n${answer.text.slice(-2000)}`);
  }
  return answer;
}

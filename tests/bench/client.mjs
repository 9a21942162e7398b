// Plays turns. The reading is cheap on purpose (two timestamps, no parsing while it counts): client and fake LLM share
// the machine with what is measured.

import http from "node:http";

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
        if (!firstText && bytes.includes('"content":"word0')) firstText = performance.now() - started;
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

// Espalier wants to know who asks; the floors do not care.
export async function session(worker) {
  if (worker.name !== "espalier") return {};
  const { status, headers, text } = await post(`${worker.url}api/session`, {});
  if (status !== 200) throw new Error(`no session: ${status} ${text}`);
  return { cookie: headers["set-cookie"][0].split(";")[0] };
}

export async function turn(worker, scenario, threadId) {
  const { name, tools, words, replies } = scenario;
  // `replies` is for the pipe, which cannot know when to stop; the others ignore it.
  const body = { thread_id: threadId, content: `bench:${name}`, replies };
  const answer = await post(`${worker.url}api/chat`, body, worker.credentials);

  // A turn that went wrong must not count as a fast one.
  const said = (answer.text.match(/word\d+ /g) ?? []).length;
  const last = answer.text.trimEnd().split("\n\n").at(-1);
  const ended = worker.name === "pipe" ? last === "data: [DONE]" : /"type":"done".*"finish_reason":"stop"/.test(last);
  const ran = (answer.text.match(/"status":"end"[^\n]*"result"|"result"[^\n]*"status":"end"/g) ?? []).length;
  if (answer.status !== 200 || !ended || said !== words || (worker.name !== "pipe" && ran !== tools)) {
    throw new Error(`${worker.name}, ${name}: ${answer.status}, ${said} words, ${ran} tools\n${answer.text.slice(-2000)}`);
  }
  return answer;
}

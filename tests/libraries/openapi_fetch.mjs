// `openapi-fetch` of npm, over our own routes. `scripts/description` checks the types that its generator makes.

import createClient from "openapi-fetch";
import { collect, instructions, key, play, said, service } from "./common.mjs";

const clientWith = (token) => createClient({ baseUrl: service, headers: { authorization: `Bearer ${token}` } });
const client = clientWith(key);

/** The events of a turn. */
const say = async function* (content) {
  const { data } = await client.POST("/api/chat", { body: { content, instructions }, parseAs: "stream" });
  let rest = "";
  for await (const text of data.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + text).split("\n");
    rest = lines.pop();
    for (const line of lines) if (line.startsWith("data:")) yield JSON.parse(line.slice(5));
  }
};
const chunks = async function* (events) {
  for await (const event of events) if (event.type === "chunk") yield event.content;
};

await play({
  async plain() {
    let thread;
    let text = "";
    for await (const event of say(said.plain)) {
      thread ??= event.thread_id;
      if (event.type === "chunk") text += event.content;
    }
    const { data } = await client.GET("/api/threads/{id}/messages", { params: { path: { id: thread } } });
    const stored = data.messages.at(-1).content;
    if (stored !== text) throw new Error(`${stored} instead of ${text}`);
    return stored;
  },
  streamed: () => collect(chunks(say(said.streamed))),
  async unauthorized() {
    const { error, response } = await clientWith("espk_wrong").GET("/api/threads");
    return { error: error.title, status: response.status, message: error.detail };
  },
});

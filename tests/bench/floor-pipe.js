// Floor 1: the cost of the platform itself. A Durable Object asks the model as often as the scenario says and passes
// its bytes through unread, reply after reply: it parses nothing, runs no tools and speaks the provider's wire.

export class ThreadObject {
  constructor(state, env) {
    this.state = state;
    this.env = env;
  }

  async fetch(request) {
    const { readable, writable } = new IdentityTransformStream();
    this.state.waitUntil(this.pipe(await request.json(), writable));
    return new Response(readable, { headers: { "content-type": "text/event-stream" } });
  }

  async pipe({ content, replies }, writable) {
    const messages = [{ role: "user", content }];
    for (let left = replies; left > 0; left--) {
      const upstream = await fetch(`${this.env.LLM_BASE_URL}/chat/completions`, {
        method: "POST",
        headers: { "content-type": "application/json", authorization: `Bearer ${this.env.LLM_API_KEY}` },
        body: JSON.stringify({ model: this.env.LLM_MODEL, stream: true, messages }),
      });
      await upstream.body.pipeTo(writable, { preventClose: left > 1 });
      messages.push({ role: "assistant", content: null, tool_calls: [{}] }); // the next round, for the fake LLM
    }
  }
}

export default {
  async fetch(request, env) {
    if (!new URL(request.url).pathname.endsWith("/chat")) return Response.json({ status: "ok" });
    const { thread_id, ...rest } = await request.json();
    const body = JSON.stringify(rest);
    return env.THREADS.get(env.THREADS.idFromName(thread_id)).fetch("http://object/chat", { method: "POST", body });
  },
};

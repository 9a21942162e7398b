// Floor 1: what the platform itself costs. A Durable Object asks the model once per reply, passes its bytes through
// unread, and knows nothing of tools: it answers the `direct` scenario only.

export class ThreadObject {
  constructor(_state, env) {
    this.env = env;
  }

  async fetch(request) {
    const { content } = await request.json();
    const upstream = await fetch(`${this.env.LLM_BASE_URL}/chat/completions`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${this.env.LLM_API_KEY}` },
      body: JSON.stringify({ model: this.env.LLM_MODEL, stream: true, messages: [{ role: "user", content }] }),
    });
    return new Response(upstream.body, { headers: { "content-type": "text/event-stream" } });
  }
}

export default {
  async fetch(request, env) {
    if (!new URL(request.url).pathname.endsWith("/chat")) return Response.json({ status: "ok" });
    const { thread_id, content } = await request.json();
    const body = JSON.stringify({ content });
    return env.THREADS.get(env.THREADS.idFromName(thread_id)).fetch("http://object/chat", { method: "POST", body });
  },
};

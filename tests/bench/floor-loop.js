// Floor 2: an agent loop that somebody would write by hand in an afternoon. It speaks our wire (the same events with
// the same fields), runs tool calls in parallel, keeps the thread's messages in memory, and stores nothing: no journal,
// no budget, no resuming, no credentials. Idiomatic rather than tuned: one enqueue per event (the same through an
// IdentityTransformStream costs more).

const encoder = new TextEncoder();
const decoder = new TextDecoder();

export class ThreadObject {
  constructor(state, env) {
    this.state = state;
    this.env = env;
    this.history = [];
    this.seq = 0;
  }

  async fetch(request) {
    const { thread_id, content } = await request.json();
    const turn = new Turn(this, thread_id);
    const body = new ReadableStream({
      start: (controller) => {
        turn.controller = controller;
        this.state.waitUntil(turn.run(content));
      },
    });
    return new Response(body, { headers: { "content-type": "text/event-stream" } });
  }
}

class Turn {
  constructor(thread, thread_id) {
    this.thread = thread;
    this.thread_id = thread_id;
    this.turn_id = crypto.randomUUID();
    this.total = { llm_calls: 0, tool_calls: 0, subtasks: 0, input_tokens: 0, cached_tokens: 0, output_tokens: 0 };
  }

  emit(type, fields) {
    const seq = ++this.thread.seq;
    const data = JSON.stringify({ type, seq, turn_id: this.turn_id, ...fields });
    this.controller.enqueue(encoder.encode(`id: ${seq}\nevent: ${type}\ndata: ${data}\n\n`));
  }

  async run(content) {
    const { thread, total } = this;
    const { env } = thread;
    const message_id = crypto.randomUUID();
    this.emit("session", {
      thread_id: this.thread_id,
      user_message_id: crypto.randomUUID(),
      assistant_message_id: message_id,
      provider: "openai",
      model: env.LLM_MODEL,
    });
    this.emit("agent_state", { state: "thinking", context_type: "thread" });
    const messages = [{ role: "system", content: SYSTEM }, ...thread.history, { role: "user", content }];

    let reply;
    for (;;) {
      reply = await this.callModel(messages);
      if (reply.calls.length === 0) break;
      messages.push({
        role: "assistant",
        content: reply.text || null,
        tool_calls: reply.calls.map((call) => ({
          id: call.id,
          type: "function",
          function: { name: call.name, arguments: call.arguments },
        })),
      });
      this.emit("agent_state", {
        state: "thinking",
        context_type: "thread",
        details: `executing_tool:${reply.calls[0].name}`,
      });
      const results = await Promise.all(reply.calls.map((call) => this.callTool(call)));
      reply.calls.forEach((call, i) => messages.push({ role: "tool", tool_call_id: call.id, content: results[i] }));
      this.emit("agent_state", { state: "thinking", context_type: "thread" });
    }

    // Espalier's model sees the tool calls of earlier turns too, so requests grow alike.
    thread.history = [...messages.slice(1), { role: "assistant", content: reply.text }];
    const { llm_calls, input_tokens, cached_tokens, output_tokens } = total;
    const by_model = { [env.LLM_MODEL]: { llm_calls, input_tokens, cached_tokens, output_tokens, cost_usd: null } };
    this.emit("cost_summary", { ...total, cost_usd: null, by_model });
    this.emit("done", { message_id, finish_reason: reply.finish_reason });
    this.controller.close();
  }

  async callModel(messages) {
    const { env } = this.thread;
    const id = crypto.randomUUID();
    const where = { model_call_id: id, parent_id: null, depth: 0 };
    const part_id = crypto.randomUUID();
    this.total.llm_calls++;
    this.emit("model_call_update", { ...where, status: "start", model: env.LLM_MODEL });

    const response = await fetch(`${env.LLM_BASE_URL}/chat/completions`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${env.LLM_API_KEY}` },
      body: JSON.stringify({
        model: env.LLM_MODEL,
        stream: true,
        stream_options: { include_usage: true },
        messages,
        tools: TOOLS,
      }),
    });
    const reply = { text: "", calls: [], finish_reason: "stop" };
    let usage = null;
    let rest = "";
    const reader = response.body.getReader(); // "for await" costs a third more
    for (;;) {
      const { value: bytes, done } = await reader.read();
      if (done) break;
      rest += decoder.decode(bytes, { stream: true });
      const blocks = rest.split("\n\n");
      rest = blocks.pop();
      for (const block of blocks) {
        if (!block.startsWith("data: ") || block === "data: [DONE]") continue;
        const data = JSON.parse(block.slice(6));
        if (data.usage) usage = data.usage;
        const choice = data.choices[0];
        if (!choice) continue;
        if (choice.finish_reason) reply.finish_reason = choice.finish_reason;
        if (choice.delta.content) {
          reply.text += choice.delta.content;
          this.emit("chunk", { content: choice.delta.content, part_id, ...where });
        }
        for (const delta of choice.delta.tool_calls ?? []) {
          const call = (reply.calls[delta.index] ??= { id: "", name: "", arguments: "" });
          if (delta.id) call.id = delta.id;
          if (delta.function?.name) call.name = delta.function.name;
          if (delta.function?.arguments) call.arguments += delta.function.arguments;
        }
      }
    }
    if (reply.text) this.emit("chunk", { content: "", part_id, ...where, done: true });

    const spent = {
      input_tokens: usage?.prompt_tokens ?? 0,
      cached_tokens: usage?.prompt_tokens_details?.cached_tokens ?? 0,
      output_tokens: usage?.completion_tokens ?? 0,
    };
    for (const [name, tokens] of Object.entries(spent)) this.total[name] += tokens;
    this.emit("model_call_update", {
      ...where,
      status: "end",
      model: env.LLM_MODEL,
      usage: spent,
      finish_reason: reply.finish_reason,
    });
    return reply;
  }

  async callTool({ id, name, arguments: text }) {
    const started = Date.now();
    const where = { tool_call_id: id, name, parent_id: null, depth: 0 };
    const args = JSON.parse(text);
    this.total.tool_calls++;
    this.emit("tool_call_update", { ...where, status: "start", args });
    const result = JSON.stringify({ result: calculate(args.expression) });
    this.emit("tool_call_update", {
      ...where,
      status: "end",
      result,
      is_error: false,
      duration_ms: Date.now() - started,
    });
    return result;
  }
}

// Precedence climbing over + - * / and parentheses: enough for the scenarios.
function calculate(expression) {
  const tokens = expression.match(/\d+(?:\.\d+)?|[-+*/()]/g) ?? [];
  const binding = { "+": 1, "-": 1, "*": 2, "/": 2 };
  const atom = () => {
    const token = tokens.shift();
    if (token === "-") return -atom();
    if (token !== "(") return Number(token);
    const value = sum(1);
    tokens.shift();
    return value;
  };
  const sum = (least) => {
    let left = atom();
    while (binding[tokens[0]] >= least) {
      const operator = tokens.shift();
      const right = sum(binding[operator] + 1);
      left = { "+": left + right, "-": left - right, "*": left * right, "/": left / right }[operator];
    }
    return left;
  };
  return sum(1);
}

const SYSTEM =
  "You are a helpful assistant. Answer directly when you can. Use a tool when it gives you something that you do not " +
  "know or cannot work out reliably. Call independent tools together.";

const TOOLS = [
  tool("calculate", "Evaluates an arithmetic expression.", { expression: { type: "string" } }),
  tool("current_time", "The current date and time in UTC.", {}),
];

function tool(name, description, properties) {
  const parameters = { type: "object", properties, required: Object.keys(properties), additionalProperties: false };
  return { type: "function", function: { name, description, parameters } };
}

export default {
  async fetch(request, env) {
    if (!new URL(request.url).pathname.endsWith("/chat")) return Response.json({ status: "ok" });
    const { thread_id, content } = await request.json();
    const body = JSON.stringify({ thread_id, content });
    return env.THREADS.get(env.THREADS.idFromName(thread_id)).fetch("http://object/chat", { method: "POST", body });
  },
};

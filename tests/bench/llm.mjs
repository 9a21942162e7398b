// The fake LLM of the benchmark. Its own process keeps its work out of the numbers, and without state it costs next to
// nothing: the words of the last user message choose the scenario, and the number of tool rounds since then gives its
// progress. (The one in tests/support records requests and plays scripts; that is for tests.)
//
// Every chunk is its own write in its own turn of the event loop, like the tokens of a real provider. PACE_MS puts time
// between them.

import { createServer } from "node:http";
import { setImmediate as breath } from "node:timers/promises";
import { setTimeout as sleep } from "node:timers/promises";

const pace = Number(process.env.PACE_MS ?? 0);
const call = (index, id, expression) => ({
  index,
  id,
  type: "function",
  function: { name: "calculate", arguments: JSON.stringify({ expression }) },
});

// The answer after `round` rounds of tools: words, or tool calls.
const scenarios = {
  direct: () => ({ words: 50 }),
  parallel: (round) =>
    round === 0 ? { calls: Array.from({ length: 8 }, (_, i) => call(i, `call_${i}`, `${i + 2} * (3 + ${i})`)) } : { words: 5 },
  // Takes a minute, as a turn with much thought does.
  minute: () => ({ words: 50, pace: 60_000 / 55 }),
  sequential: (round) => (round < 10 ? { calls: [call(0, `call_${round}`, `${round + 1} * 7`)] } : { words: 5 }),
};

function* chunksOf({ words = 0, calls = [] }) {
  yield { delta: { role: "assistant", content: "" } };
  for (let i = 0; i < words; i++) yield { delta: { content: `word${i} ` } };
  for (const { index, function: f, ...rest } of calls) {
    yield { delta: { tool_calls: [{ index, ...rest, function: { name: f.name, arguments: "" } }] } };
    yield { delta: { tool_calls: [{ index, function: { arguments: f.arguments } }] } };
  }
  yield { delta: {}, finish_reason: calls.length ? "tool_calls" : "stop" };
}

const server = createServer(async (request, response) => {
  let text = "";
  for await (const bytes of request) text += bytes;
  const { messages, model } = JSON.parse(text);
  const start = messages.findLastIndex((message) => message.role === "user");
  const asked = JSON.stringify(messages[start].content);
  const name = Object.keys(scenarios).find((name) => asked.includes(`bench:${name}`));
  const round = messages.slice(start).filter((message) => message.tool_calls?.length).length;

  response.writeHead(200, { "content-type": "text/event-stream" });
  const frame = { id: "chatcmpl-bench", object: "chat.completion.chunk", created: 1, model };
  const write = (fields) => response.write(`data: ${JSON.stringify({ ...frame, ...fields })}\n\n`);
  const reply = scenarios[name](round);
  for (const { delta, finish_reason = null } of chunksOf(reply)) {
    write({ choices: [{ index: 0, delta, finish_reason }], usage: null });
    await (reply.pace || pace ? sleep(reply.pace ?? pace) : breath());
  }
  write({ choices: [], usage: { prompt_tokens: 100, completion_tokens: 50, total_tokens: 150 } });
  response.end("data: [DONE]\n\n");
});
server.listen(0, "127.0.0.1", () => process.send({ port: server.address().port }));
process.on("disconnect", () => process.exit());

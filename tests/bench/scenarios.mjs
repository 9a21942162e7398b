// The turns of the benchmark. The fake LLM (llm.mjs) plays them by their names.

export const SCENARIOS = [
  { name: "direct", title: "50 chunks, no tools", words: 50, tools: 0, replies: 1, turns: { 1: 24, 16: 96 } },
  { name: "parallel", title: "8 parallel tool calls", words: 5, tools: 8, replies: 2, turns: { 1: 16, 16: 64 } },
  { name: "sequential", title: "10 tool rounds, one after another", words: 5, tools: 10, replies: 11, turns: { 1: 8, 16: 32 } },
];

/** One chunk a second: only counted, never timed. */
export const MINUTE = { name: "minute", words: 50, tools: 0, replies: 1 };

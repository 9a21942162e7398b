// `ai`, with each provider: `ai_core.mjs compatible` (`@ai-sdk/openai-compatible`), `chat` and `responses` (`@ai-sdk/openai`).

import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { Output, ToolLoopAgent, generateText, isStepCount, streamText, tool as toolOf } from "ai";
import {
  BASE, DESCRIPTION, MODEL, TOO_LONG, answer, book, collect, instructions, key, play, refusal, said, taken, trip,
} from "./common.mjs";

const MODELS = {
  compatible: (apiKey) => createOpenAICompatible({ name: "espalier", baseURL: BASE, apiKey })(MODEL),
  chat: (apiKey) => createOpenAI({ baseURL: BASE, apiKey }).chat(MODEL),
  responses: (apiKey) => createOpenAI({ baseURL: BASE, apiKey })(MODEL),
};
const modelWith = MODELS[process.argv[2]];
const model = modelWith(key);
const tools = { book_trip: toolOf({ description: DESCRIPTION, inputSchema: trip, execute: book }) };
const messages = [];
const turn = async (content) => {
  messages.push({ role: "user", content });
  const result = await generateText({ model, instructions, messages, tools, stopWhen: isStepCount(5) });
  messages.push(...result.responseMessages);
  return result.text;
};

await play({
  plain: async () => (await generateText({ model, instructions, prompt: said.plain })).text,
  streamed: () => collect(streamText({ model, instructions, prompt: said.streamed }).textStream),
  tool: async () => ({ text: await turn(said.tool), calls: taken() }),
  second: () => turn(said.second),
  async streamedCalls() {
    const agent = new ToolLoopAgent({ model, instructions, tools });
    const stream = await agent.stream({ prompt: said.streamedCalls });
    return { text: (await Array.fromAsync(stream.textStream)).join(""), calls: taken() };
  },
  unauthorized: () => refusal(() => generateText({ model: modelWith("espk_wrong"), prompt: "Hello" })),
  tooLong: () => refusal(() => generateText({ model, instructions: TOO_LONG, prompt: "Hello" })),
  structured: async () => (await generateText({
    model, instructions, prompt: said.structured, output: Output.object({ schema: answer }),
  })).output,
});

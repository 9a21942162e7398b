// `@openai/agents`, which speaks Responses by its default: `openai_agents.mjs responses`, and `chat`.

import { Agent, Runner, run, setDefaultOpenAIClient, setOpenAIAPI, tool as toolOf } from "@openai/agents";
import { OpenAIProvider, user } from "@openai/agents";
import OpenAI from "openai";
import {
  BASE, DESCRIPTION, MODEL, TOO_LONG, answer, book, collect, instructions, key, play, refusal, said, taken, trip,
} from "./common.mjs";

setDefaultOpenAIClient(new OpenAI({ baseURL: BASE, apiKey: key }));
if (process.argv[2] === "chat") setOpenAIAPI("chat_completions");

const bookTrip = toolOf({ name: "book_trip", description: DESCRIPTION, parameters: trip, execute: book });
const agentWith = (given) => new Agent({ name: "Pirate", instructions, model: MODEL, ...given });
const agent = agentWith({ tools: [bookTrip] });
let history = [];
const turn = async (content) => {
  const result = await run(agent, [...history, user(content)]);
  history = result.history;
  return result.finalOutput;
};

await play({
  plain: async () => (await run(agent, said.plain)).finalOutput,
  async streamed() {
    const result = await run(agent, said.streamed, { stream: true });
    const text = await collect(result.toTextStream());
    await result.completed;
    return text;
  },
  tool: async () => ({ text: await turn(said.tool), calls: taken() }),
  second: () => turn(said.second),
  async streamedCalls() {
    const result = await run(agent, said.streamedCalls, { stream: true });
    await result.completed;
    return { text: result.finalOutput, calls: taken() };
  },
  unauthorized: () => refusal(() => {
    const modelProvider = new OpenAIProvider({
      openAIClient: new OpenAI({ baseURL: BASE, apiKey: "espk_wrong" }), useResponses: process.argv[2] !== "chat",
    });
    return new Runner({ modelProvider }).run(agent, "Hello");
  }),
  tooLong: () => refusal(() => run(agentWith({ instructions: TOO_LONG }), "Hello")),
  structured: async () => (await run(agentWith({ outputType: answer }), said.structured)).finalOutput,
});

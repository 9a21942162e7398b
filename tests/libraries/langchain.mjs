// `langchain` and `@langchain/openai` of npm: `langchain.mjs chat` over Chat Completions, `langchain.mjs responses` over
// Responses.

import { ChatOpenAI } from "@langchain/openai";
import { HumanMessage, SystemMessage, createAgent, tool as toolOf } from "langchain";
import {
  BASE, DESCRIPTION, MODEL, TOO_LONG, answer, book, collect, instructions, key, play, refusal, said, taken, trip,
} from "./common.mjs";

const modelWith = (apiKey) => new ChatOpenAI({
  model: MODEL, apiKey, configuration: { baseURL: BASE }, ...(process.argv[2] === "responses" && { useResponsesApi: true }),
});
const model = modelWith(key);
const bookTrip = toolOf(book, { name: "book_trip", description: DESCRIPTION, schema: trip });
const agent = createAgent({ model, tools: [bookTrip], systemPrompt: instructions });
const ask = (content, system = instructions) => [new SystemMessage(system), new HumanMessage(content)];
let messages = [];
const turn = async (content) => {
  ({ messages } = await agent.invoke({ messages: [...messages, { role: "user", content }] }));
  return messages.at(-1).text;
};

await play({
  plain: async () => (await model.invoke(ask(said.plain))).text,
  async streamed() {
    const texts = async function* () {
      for await (const { text } of await model.stream(ask(said.streamed))) yield text;
    };
    return collect(texts());
  },
  tool: async () => ({ text: await turn(said.tool), calls: taken() }),
  second: () => turn(said.second),
  async streamedCalls() {
    const stream = await agent.stream({ messages: [new HumanMessage(said.streamedCalls)] }, { streamMode: "messages" });
    let text = "";
    for await (const [message] of stream) if (message.type === "ai") text += message.text;
    return { text, calls: taken() };
  },
  unauthorized: () => refusal(() => modelWith("espk_wrong").invoke("Hello")),
  tooLong: () => refusal(() => model.invoke(ask("Hello", TOO_LONG))),
  structured: () => model.withStructuredOutput(answer).invoke(ask(said.structured)),
  ...(process.argv[2] === "chat" && {
    async structuredAgent() {
      const agent = createAgent({ model, tools: [], systemPrompt: instructions, responseFormat: answer });
      return (await agent.invoke({ messages: [{ role: "user", content: said.structuredAgent }] })).structuredResponse;
    },
  }),
});

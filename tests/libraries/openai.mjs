// `openai` of npm: `openai.mjs chat` over Chat Completions, `openai.mjs responses` over Responses.

import OpenAI from "openai";
import { zodFunction, zodResponseFormat, zodResponsesFunction, zodTextFormat } from "openai/helpers/zod";
import {
  BASE, DESCRIPTION, MODEL, TOO_LONG, answer, book, instructions, key, play, refusal, release, said, strictTrip, taken,
} from "./common.mjs";

const client = new OpenAI({ baseURL: BASE, apiKey: key });
const wrong = new OpenAI({ baseURL: BASE, apiKey: "espk_wrong" });
const user = (content) => ({ role: "user", content });
const described = { name: "book_trip", description: DESCRIPTION, parameters: strictTrip };

const chat = () => {
  const ask = (content) => [{ role: "system", content: instructions }, user(content)];
  const tools = [zodFunction({ ...described, function: book })];
  const messages = [];
  const create = async (given, who = client) => (await who.chat.completions.create({ model: MODEL, ...given })).choices[0].message;
  return {
    plain: async () => (await create({ messages: ask(said.plain) })).content,
    async streamed() {
      const stream = client.chat.completions.stream({ model: MODEL, messages: ask(said.streamed) });
      stream.once("content", release);
      return stream.finalContent();
    },
    async tool() {
      const runner = client.chat.completions.runTools({ model: MODEL, messages: ask(said.tool), tools });
      const text = await runner.finalContent();
      messages.push(...runner.messages);
      return { text, calls: taken() };
    },
    async streamedCalls() {
      const runner = client.chat.completions.runTools({ model: MODEL, messages: ask(said.streamedCalls), tools, stream: true });
      return { text: await runner.finalContent(), calls: taken() };
    },
    second: async () => (await create({ messages: [...messages, user(said.second)] })).content,
    unauthorized: () => refusal(() => create({ messages: ask("Hello") }, wrong)),
    tooLong: () => refusal(() => create({ messages: [{ role: "system", content: TOO_LONG }, user("Hello")] })),
    async structured() {
      const { choices } = await client.chat.completions.parse({
        model: MODEL, messages: ask(said.structured), response_format: zodResponseFormat(answer, "answer"),
      });
      return choices[0].message.parsed;
    },
  };
};

const responses = () => {
  const tools = [zodResponsesFunction(described)];
  const input = [];
  const create = (input, given = {}, who = client) => who.responses.create({ model: MODEL, instructions, input, ...given });
  /** Runs the tool until the model has an answer. */
  const loop = async (input, ask) => {
    for (;;) {
      const response = await ask({ model: MODEL, instructions, input, tools });
      input.push(...response.output);
      const asked = response.output.filter(({ type }) => type === "function_call");
      if (asked.length === 0) return { text: response.output_text, calls: taken() };
      for (const { call_id, parsed_arguments } of asked) {
        input.push({ type: "function_call_output", call_id, output: book(parsed_arguments) });
      }
    }
  };
  return {
    plain: async () => (await create(said.plain)).output_text,
    async streamed() {
      const stream = client.responses.stream({ model: MODEL, instructions, input: said.streamed });
      stream.once("response.output_text.delta", release);
      return (await stream.finalResponse()).output_text;
    },
    async tool() {
      input.push(user(said.tool));
      return loop(input, (given) => client.responses.parse(given));
    },
    streamedCalls: () => loop([user(said.streamedCalls)], (given) => client.responses.stream(given).finalResponse()),
    second: async () => (await create([...input, user(said.second)], { tools })).output_text,
    unauthorized: () => refusal(() => create("Hello", {}, wrong)),
    tooLong: () => refusal(() => create("Hello", { instructions: TOO_LONG })),
    async structured() {
      const response = await client.responses.parse({
        model: MODEL, instructions, input: said.structured, text: { format: zodTextFormat(answer, "answer") },
      });
      return response.output_parsed;
    },
  };
};

await play({ chat, responses }[process.argv[2]]());

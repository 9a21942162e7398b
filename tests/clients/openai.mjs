// OpenAI's own library (`openai` of npm). Each case of `tests/e2e/openai.rs` is a function here; it reports what the client
// has in the end.

import OpenAI from "openai";
import { zodFunction } from "openai/helpers/zod";
import { z } from "zod";
import { BASE, release } from "./common.mjs";

const given = JSON.parse(process.env.CLIENT_CASE);
const client = new OpenAI({ baseURL: `${BASE}/v1`, apiKey: process.env.CLIENT_KEY });
const model = "espalier";
const user = (content) => ({ role: "user", content });

const parameters = { type: "object", properties: { city: { type: "string" } } };
const weather = { name: "getWeather", description: "Tells the weather.", parameters };
const erase = { name: "erase", description: "Erases a file.", parameters: { type: "object" } };
const inChat = (tool) => ({ type: "function", function: tool });
const inResponses = (tool) => ({ type: "function", strict: null, ...tool });

const collect = async (stream) => {
  const all = [];
  for await (const one of stream) all.push(one);
  return all;
};
const told = async (promise) => {
  try {
    return await promise;
  } catch (error) {
    const { status, code, param, type, message } = error;
    return { status, code: code ?? null, param: param ?? null, type, message };
  }
};

const CASES = {
  async models() {
    return (await collect(client.models.list())).map(({ id }) => id);
  },

  /** The same question in both APIs, as a stream and not. */
  async says() {
    const body = { model, messages: [user(given.content)], ...given.body };
    const completion = await client.chat.completions.create(body);
    const chunks = await collect(await client.chat.completions.create({
      ...body, stream: true, stream_options: { include_usage: true },
    }));
    const response = await client.responses.create({ model, input: given.content });
    const events = await collect(await client.responses.create({ model, input: given.content, stream: true }));
    return {
      completion, text: chunks.map(({ choices }) => choices[0]?.delta.content ?? "").join(""),
      usage: chunks.at(-1).usage, response, output: response.output_text, streamed: events.at(-1).response,
      kinds: events.map(({ type }) => type),
    };
  },

  /** The library's own loop over the tools of the client, with the arguments in zod. */
  async runsTools() {
    const calls = [];
    const tool = zodFunction({
      ...weather,
      parameters: z.object({ city: z.string(), to: z.email(), unit: z.enum(["c", "f"]).nullable() }),
      function: (args) => {
        calls.push(args);
        return `It rains in ${args.city}.`;
      },
    });
    const messages = [{ role: "system", content: given.instructions }, user(given.content)];
    const runner = client.chat.completions.runTools({ model, stream: given.stream, messages, tools: [tool] });
    const text = await runner.finalContent();
    return { text, calls, roles: runner.messages.map(({ role }) => role), messages: runner.messages };
  },

  async respondsWithTools() {
    const first = await client.responses.create({ model, input: given.content, tools: [inResponses(weather)] });
    const call = first.output.find(({ type }) => type === "function_call");
    const input = [{ type: "function_call_output", call_id: call.call_id, output: "It rains." }];
    const second = await client.responses.create({ model, previous_response_id: first.id, input });
    const late = await client.responses.create({ model, previous_response_id: first.id, input });
    return { first, second, late: late.output_text };
  },

  /** A person decides on a call in a subtask. */
  async asks() {
    const body = { model, input: given.content, tools: [inResponses(erase)] };
    const first = await client.responses.create(body);
    const question = first.output.find(({ type }) => type === "mcp_approval_request");
    const input = [{ type: "mcp_approval_response", approval_request_id: question.id, approve: given.approve }];
    let last = await client.responses.create({ model, previous_response_id: first.id, input });
    const call = last.output.find(({ type }) => type === "function_call");
    if (call) {
      const input = [{ type: "function_call_output", call_id: call.call_id, output: "gone" }];
      last = await client.responses.create({ model, previous_response_id: last.id, input });
    }
    return { question, first, last };
  },

  async isRefused() {
    const body = { model, messages: [user(given.content)], tools: [inChat(erase)] };
    const { choices: [{ message, finish_reason }], metadata } = await client.chat.completions.create(body);
    return { message, finish_reason, metadata };
  },

  async fails() {
    return told(client.chat.completions.create({ model, messages: [user(given.content)], ...given.body }));
  },

  async streamFails() {
    const body = { model, messages: [user(given.content)], stream: true };
    return told(client.chat.completions.create(body).then(collect));
  },

  /** A closed stream of Chat Completions stops its turn, also where it goes on with the result of a function. */
  async aborts() {
    const body = { model, stream: true, messages: [user(given.content)], tools: [inChat(weather)] };
    if (given.answers) {
      const { choices: [{ message }] } = await client.chat.completions.create({ ...body, stream: false });
      const [{ id }] = message.tool_calls;
      body.messages.push(message, { role: "tool", tool_call_id: id, content: "It rains." });
    }
    const stream = await client.chat.completions.create(body);
    for await (const chunk of stream) {
      if (chunk.choices[0]?.delta.content === "It is ") stream.controller.abort();
    }
    return {};
  },

  /** A response in the background, read on after each of its events, then stopped or left to its end. */
  async background() {
    const body = { model, input: given.content, background: true };
    const begun = await client.responses.create(body);
    const live = [];
    const stream = await client.responses.retrieve(begun.id, { stream: true });
    for await (const event of stream) {
      live.push(event);
      if (event.type === "response.output_text.delta") break;
    }
    const running = await client.responses.retrieve(begun.id);
    if (given.stops) {
      const cancelled = await client.responses.cancel(begun.id);
      return { begun, running, cancelled, ended: await client.responses.retrieve(begun.id) };
    }
    const rests = live.map(async ({ sequence_number: starting_after }) => {
      const options = { stream: true, starting_after };
      return collect(await client.responses.retrieve(begun.id, options));
    });
    await new Promise((resolve) => setImmediate(resolve));
    await release();
    const read = await Promise.all(rests);
    const whole = await collect(await client.responses.retrieve(begun.id, { stream: true }));
    return { begun, running, whole, read, ended: await client.responses.retrieve(begun.id), count: live.length };
  },

  /** Follows an answer, then follows the first one again. */
  async follows() {
    const ask = async (input, previous_response_id) => client.responses.create({ model, input, previous_response_id });
    const first = await ask(given.first);
    const second = await ask(given.second, first.id);
    const other = await ask(given.other, first.id);
    return { first, second, other };
  },

  /** Each request has an own body and headers. */
  async requests() {
    const answers = [];
    for (const { body, headers } of given.requests) {
      const { data, response } = await client.chat.completions
        .create({ model, ...body }, { headers }).withResponse();
      answers.push({ data, warning: response.headers.get("warning") });
    }
    return answers;
  },

  async reads() {
    const other = given.id;
    const { param, ...wrong } = given.body ?? {};
    return {
      retrieved: await told(client.responses.retrieve(other)),
      cancelled: await told(client.responses.cancel(other)),
      followed: await told(client.responses.create({ model, input: "Hello", previous_response_id: other, ...wrong })),
    };
  },
};

console.log(JSON.stringify(await CASES[given.case]()));

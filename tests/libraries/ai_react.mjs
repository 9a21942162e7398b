// `useChat` of `@ai-sdk/react` in a page.

import { show } from "./page.mjs";
import { useChat } from "@ai-sdk/react";
import { DefaultChatTransport, lastAssistantMessageIsCompleteWithToolCalls } from "ai";
import { useEffect, useState } from "react";
import { z } from "zod";
import { DESCRIPTION, TOO_LONG, book, described, instructions, key, play, release, said, service, taken, trip } from "./common.mjs";

const tools = { book_trip: { description: DESCRIPTION, parameters: z.toJSONSchema(trip, { io: "input" }) } };
const text = ({ messages }) => messages.at(-1)?.parts.findLast(({ type }) => type === "text")?.text ?? "";
const isOver = ({ status, messages }) => status === "error" || (status === "ready" && messages.at(-1)?.role === "assistant");

const app = ({ system = instructions, bearer = key } = {}) => function App({ onShow }) {
  const [transport] = useState(() => new DefaultChatTransport({
    api: `${service}/api/ai-sdk/chat`, headers: { authorization: `Bearer ${bearer}` }, body: { system, tools },
  }));
  const chat = useChat({
    transport,
    sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithToolCalls,
    onToolCall: ({ toolCall: { toolName: tool, toolCallId, input } }) => {
      chat.addToolOutput({ tool, toolCallId, output: book(trip.parse(input)) });
    },
  });
  useEffect(() => onShow(chat));
  return null;
};
const ask = async (until, content) => {
  const { sendMessage } = await until(() => true);
  await sendMessage({ text: content });
  return until((chat) => isOver(chat) && !lastAssistantMessageIsCompleteWithToolCalls(chat));
};
const refusal = (given) => show(app(given), async (until) => {
  const { error } = await ask(until, "Hello");
  return error ? described(error) : "not refused";
});

let both;
/** Two turns of one chat. */
const conversation = () => both ??= show(app(), async (until) => {
  const booked = text(await ask(until, said.tool));
  return { tool: { text: booked, calls: taken() }, second: text(await ask(until, said.second)) };
});

await play({
  plain: () => show(app(), async (until) => text(await ask(until, said.plain))),
  streamed: () => show(app(), async (until) => {
    const answered = ask(until, said.streamed);
    await until((chat) => text(chat) === "One ");
    await release();
    return text(await answered);
  }),
  tool: async () => (await conversation()).tool,
  second: async () => (await conversation()).second,
  streamedCalls: () => show(app(), async (until) => ({ text: text(await ask(until, said.streamedCalls)), calls: taken() })),
  unauthorized: () => refusal({ bearer: "espk_wrong" }),
  tooLong: () => refusal({ system: TOO_LONG }),
});

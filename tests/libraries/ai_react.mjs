// `useChat` of `@ai-sdk/react` in a page.

import { playOnPage } from "./page.mjs";
import { useChat } from "@ai-sdk/react";
import { DefaultChatTransport, lastAssistantMessageIsCompleteWithToolCalls } from "ai";
import { useEffect, useState } from "react";
import { z } from "zod";
import { DESCRIPTION, book, described, instructions, key, service, trip } from "./common.mjs";

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

await playOnPage({ app, ask, text, described: ({ error }) => error && described(error) });

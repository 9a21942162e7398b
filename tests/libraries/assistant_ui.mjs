// assistant-ui's runtime for the AI SDK (`@assistant-ui/react-ai-sdk`) in a page.

import { playOnPage } from "./page.mjs";
import {
  AssistantRuntimeProvider, AuiConfig, Tools, useAssistantInstructions, useAui, useAuiState,
} from "@assistant-ui/react";
import { AssistantChatTransport, useChatRuntime } from "@assistant-ui/react-ai-sdk";
import { lastAssistantMessageIsCompleteWithToolCalls } from "ai";
import { createElement, useEffect, useState } from "react";
import { DESCRIPTION, book, instructions, key, service, trip } from "./common.mjs";

const toolkit = {
  book_trip: { type: "frontend", description: DESCRIPTION, parameters: trip, execute: async (args) => book(args) },
};
const config = AuiConfig({ tools: Tools({ toolkit }) });

const Thread = ({ system, onShow }) => {
  useAssistantInstructions(system);
  const aui = useAui();
  const thread = useAuiState((state) => state.thread);
  useEffect(() => onShow({ aui, thread }));
  return null;
};
const app = ({ system = instructions, bearer = key } = {}) => function App({ onShow }) {
  const [transport] = useState(() => new AssistantChatTransport({
    api: `${service}/api/ai-sdk/chat`, headers: { authorization: `Bearer ${bearer}` },
  }));
  const runtime = useChatRuntime({ transport, sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithToolCalls });
  return createElement(AssistantRuntimeProvider, { runtime, config }, createElement(Thread, { system, onShow }));
};

/** The newest answer, and how it ended. */
const newest = ({ thread: { messages } }) => messages.findLast(({ role }) => role === "assistant");
const text = (shown) => newest(shown)?.content.findLast(({ type }) => type === "text")?.text ?? "";
const ask = async (until, content) => {
  const { aui, thread } = await until(({ thread }) => !thread.isDisabled && !thread.isLoading);
  const before = newest({ thread })?.id;
  aui.composer.setText(content);
  aui.composer.send();
  return until((shown) => {
    const answer = newest(shown);
    return answer && answer.id !== before && ["complete", "incomplete"].includes(answer.status.type);
  });
};
const described = (shown) => {
  const { status } = newest(shown);
  return status.reason === "error" ? { error: status.error.code, status: null, message: status.error.message } : null;
};

await playOnPage({ app, ask, text, described });

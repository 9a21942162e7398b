// The AI SDK (`ai`, `@ai-sdk/react`): `Chat` is the part of `useChat` without React. Each case of `tests/e2e/ai_sdk.rs`
// is a function here; it reports what the client has in the end.

import { Chat } from "@ai-sdk/react";
import {
  DefaultChatTransport, lastAssistantMessageIsCompleteWithApprovalResponses as areAllowed,
  lastAssistantMessageIsCompleteWithToolCalls as haveResults,
} from "ai";
import { BASE, openSession, release } from "./common.mjs";

const API = `${BASE}/api/ai-sdk/chat`;
const given = JSON.parse(process.env.CLIENT_CASE);
const cookie = await openSession();

const pages = [];
// A case that waits for ever ends here: its chats tell why.
process.on("exit", (code) => code !== 0 && console.error(JSON.stringify(pages.map(states))));

/**
 * A chat as a page has it. It answers by itself once a person has decided and its own tools have run. `until` waits until
 * the chat is so.
 */
function open({ id, messages, through } = {}) {
  const told = { preliminary: 0, data: [], finishes: [] };
  const listeners = new Set();
  const chat = new Chat({
    id,
    messages,
    transport: new DefaultChatTransport({ api: API, headers: { cookie }, body: given.body, fetch: through }),
    sendAutomaticallyWhen: (options) => haveResults(options) || areAllowed(options),
    onToolCall: ({ toolCall: { toolName: tool, toolCallId } }) => {
      void chat.addToolOutput({ tool, toolCallId, output: given.output });
    },
    onData: ({ type, data }) => told.data.push({ type, data }),
    onFinish: ({ isError, finishReason }) => {
      told.finishes.push({ isError, finishReason });
      listeners.forEach((look) => look());
    },
  });
  chat["~registerMessagesCallback"](() => {
    const parts = chat.lastMessage.parts;
    if (parts.some(({ preliminary, output }) => preliminary && "calls" in output)) told.preliminary += 1;
  });
  const until = (holds) =>
    new Promise((resolve) => {
      const look = () => holds() && resolve();
      listeners.add(look);
      chat["~registerMessagesCallback"](look);
      chat["~registerStatusCallback"](look);
      look();
    });
  pages.push({ chat, told });
  return { chat, told, until };
}

const states = ({ chat, told }) => ({
  messages: chat.messages, status: chat.status, error: chat.error?.message ?? null, told,
});

const get = (id, method = "GET") => fetch(`${API}/${encodeURIComponent(id)}/stream`, { method, headers: { cookie } });

const CASES = {
  async says() {
    const page = open({ id: given.id });
    await page.chat.sendMessage({ text: given.content });
    return states(page);
  },

  /** A person decides each question. */
  async asks() {
    const page = open();
    const { chat, told, until } = page;
    const asked = () => chat.lastMessage?.parts.filter(({ state }) => state === "approval-requested") ?? [];
    await chat.sendMessage({ text: given.content });
    const parked = structuredClone(chat.messages);
    for (const { approval } of asked()) await chat.addToolApprovalResponse({ id: approval.id, approved: given.approved });
    await until(() => told.finishes.at(-1).finishReason !== "tool-calls");
    // A request that the chat makes by itself after the end counts.
    await new Promise((resolve) => setTimeout(resolve, 200));
    await until(() => chat.status === "ready" || chat.status === "error");
    return { ...states(page), parked };
  },

  /** `stop` closes the connection; the route stops the turn. */
  async stops() {
    const page = open({ id: "a chat/with a slash" });
    const sent = page.chat.sendMessage({ text: given.content });
    await page.until(() => page.chat.lastMessage?.parts.some(({ text }) => text === "It is "));
    await page.chat.stop();
    await sent;
    const running = await get(page.chat.id);
    const stopped = await get(page.chat.id, "DELETE");
    const replay = await running.text();
    const idle = await get(page.chat.id);
    return { ...states(page), running: running.status, stopped: await stopped.json(), replay, idle: idle.status };
  },

  /** Streams that break off after each of their frames, and are resumed. */
  async resumes() {
    const first = open();
    const sent = first.chat.sendMessage({ text: given.content });
    await first.until(() => first.chat.lastMessage?.parts.some(({ text }) => text === "It is "));
    const id = first.chat.id;
    const question = first.chat.messages[0];
    const cutAfter = (count) => async (url, init) => {
      const answer = await fetch(url, init);
      if (answer.status !== 200) return answer;
      const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
      let left = count;
      let rest = "";
      const body = new ReadableStream({
        async pull(controller) {
          while (left > 0) {
            const end = rest.indexOf("\n\n");
            if (end < 0) {
              rest += (await reader.read()).value;
              continue;
            }
            const frame = rest.slice(0, end + 2);
            rest = rest.slice(end + 2);
            left -= 1;
            return controller.enqueue(new TextEncoder().encode(frame));
          }
          await reader.cancel();
          controller.error(new TypeError("network error"));
        },
      });
      return new Response(body, { status: 200, headers: answer.headers });
    };
    const resumed = [];
    for (let frames = given.from; frames < given.to; frames += 1) {
      let isCut = false;
      const through = (url, init) => (isCut ? fetch(url, init) : cutAfter(frames)(url, init));
      const page = open({ id, messages: [structuredClone(question)], through });
      await page.chat.resumeStream();
      if (page.told.finishes.at(-1)?.isError !== true) throw new Error(`after ${frames} frames nothing broke off`);
      isCut = true;
      resumed.push({ page, whole: page.chat.resumeStream() });
    }
    await Promise.all(resumed.map(({ page }) => page.until(() => page.chat.status === "streaming")));
    await release();
    await Promise.all([sent, ...resumed.map(({ whole }) => whole)]);
    return { ...states(first), resumed: resumed.map(({ page }) => page.chat.messages), after: (await get(id)).status };
  },

  /** Another answer, and another question. */
  async versions() {
    const page = open();
    const { chat } = page;
    const answers = [];
    const said = () => answers.push(chat.lastMessage.parts.findLast(({ type }) => type === "text").text);
    await chat.sendMessage({ text: given.content });
    said();
    await chat.sendMessage({ text: given.next });
    said();
    await chat.regenerate();
    said();
    await chat.sendMessage({ text: given.edited, messageId: chat.messages[2].id });
    said();
    await chat.regenerate({ messageId: chat.messages[1].id });
    said();
    return { ...states(page), answers };
  },

  /** A chat that another service kept, whose first request asks for another answer. */
  async brings() {
    const page = open({ messages: given.messages });
    const { chat } = page;
    const answers = [];
    const said = () => answers.push(chat.lastMessage.parts.findLast(({ type }) => type === "text")?.text ?? null);
    await chat.regenerate();
    said();
    await chat.regenerate();
    said();
    await chat.sendMessage({ text: given.edited, messageId: chat.messages[2].id });
    said();
    return { ...states(page), answers };
  },

  /** The same request twice. */
  async repeats() {
    const messages = [{ id: "m1", role: "user", parts: [{ type: "text", text: given.content }] }];
    const body = JSON.stringify({ id: "c", messages, trigger: "submit-message" });
    const headers = { cookie, "content-type": "application/json" };
    const answers = [];
    for (let times = 0; times < 2; times += 1) {
      const answer = await fetch(API, { method: "POST", headers, body });
      answers.push({ header: answer.headers.get("x-vercel-ai-ui-message-stream"), text: await answer.text() });
    }
    return { answers };
  },

  /** A chat with this many bytes of old messages. */
  async sendsItsHistory() {
    const old = { id: "old", role: "assistant", parts: [{ type: "text", text: "x".repeat(given.bytes) }] };
    const page = open({ messages: [old] });
    await page.chat.sendMessage({ text: given.content });
    const { status, error, messages } = states(page);
    return { status, error, answer: messages.at(-1).parts?.at(-2) ?? null };
  },
};

console.log(JSON.stringify({ cookie, ...(await CASES[given.case]()) }));

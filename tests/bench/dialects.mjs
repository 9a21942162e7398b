// The same turn over the wires of other services' clients. Each sends what its client sends: the AI SDK and Chat
// Completions the whole chat with every message, Responses and MCP the newest message and the thread's id.

/** The reach of the CPU of a turn over a dialect, to that of the same turn over the native wire. */
export const REACH = 1.1;

const aiSdk = ({ role, text }) => ({ id: crypto.randomUUID(), role, parts: [{ type: "text", text }] });
const REVISION = "2026-07-28";

/** By name: the route, the headers, the body for a thread's chat, and how the answer says that it ran a tool and is done. */
export const DIALECTS = {
  "ai-sdk": {
    path: "api/ai-sdk/chat",
    body: (id, chat) => ({ id, trigger: "submit-message", messages: chat.map(aiSdk) }),
    ran: /"type":"tool-output-available"/g,
    done: /^data: \[DONE\]$/,
  },
  completions: {
    path: "v1/chat/completions",
    body: (thread_id, chat) => ({
      model: "espalier",
      stream: true,
      metadata: { thread_id },
      messages: chat.map(({ role, text }) => ({ role, content: text })),
    }),
    ran: null,
    done: /^data: \[DONE\]$/,
  },
  responses: {
    path: "v1/responses",
    body: (thread_id, chat) => ({ model: "espalier", stream: true, metadata: { thread_id }, input: chat.at(-1).text }),
    ran: null,
    done: /"type":"response.completed"/,
  },
  mcp: {
    path: "mcp",
    headers: {
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": REVISION,
      "mcp-method": "tools/call",
      "mcp-name": "chat",
    },
    body: (thread_id, chat) => ({
      jsonrpc: "2.0",
      id: 1,
      method: "tools/call",
      params: {
        name: "chat",
        arguments: { message: chat.at(-1).text, thread_id },
        _meta: {
          progressToken: 1,
          "io.modelcontextprotocol/protocolVersion": REVISION,
          "io.modelcontextprotocol/clientCapabilities": {},
        },
      },
    }),
    ran: /"message":"The agent calls calculate\."/g,
    done: /"finish_reason\W+stop/,
  },
};

/** The chats of the clients that send them whole, by dialect and thread. */
const chats = new Map();

/** The chat of a thread with a new message. */
export function chatWith(dialect, threadId, text) {
  const key = `${dialect}/${threadId}`;
  if (!chats.has(key)) chats.set(key, []);
  const chat = chats.get(key);
  chat.push({ role: "user", text });
  return chat;
}

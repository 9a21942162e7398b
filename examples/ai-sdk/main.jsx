// A chat with the AI SDK: text, tools, subtasks, approvals, stop.

import { useChat } from "@ai-sdk/react";
import { DefaultChatTransport, isToolUIPart, lastAssistantMessageIsCompleteWithApprovalResponses } from "ai";
import { createRoot } from "react-dom/client";

const API = "/api/ai-sdk/chat";
const transport = new DefaultChatTransport({ api: API });

function Part({ part, decide }) {
  if (part.type === "text") return <p>{part.text}</p>;
  if (!isToolUIPart(part)) return null;
  const { type, state, input, output, approval } = part;
  return (
    <details open={state === "approval-requested"}>
      <summary>{type.replace("tool-", "")}: {state}</summary>
      <pre>{JSON.stringify(input)}</pre>
      {state === "approval-requested" && (
        <p>
          <button onClick={() => decide({ id: approval.id, approved: true })}>Allow</button>
          <button onClick={() => decide({ id: approval.id, approved: false })}>Deny</button>
        </p>
      )}
      {output !== undefined && <pre>{output.text ?? JSON.stringify(output)}</pre>}
    </details>
  );
}

function Chat() {
  const { id, messages, sendMessage, addToolApprovalResponse, stop, status, error } = useChat({
    transport,
    sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
  });
  const isBusy = status === "submitted" || status === "streaming";
  const send = (event) => {
    event.preventDefault();
    void sendMessage({ text: new FormData(event.target).get("text") });
    event.target.reset();
  };
  // `stop` closes the connection, and the turn would go on.
  const end = () => stop().then(() => fetch(`${API}/${encodeURIComponent(id)}/stream`, { method: "DELETE" }));
  return (
    <main>
      {messages.map(({ id, role, parts }) => (
        <section key={id} className={role}>
          {parts.map((part, index) => <Part key={index} part={part} decide={addToolApprovalResponse} />)}
        </section>
      ))}
      {error && <p role="alert">{error.message}</p>}
      <form onSubmit={send}>
        <input name="text" aria-label="Message" />
        <button disabled={isBusy}>Send</button>
        <button type="button" disabled={!isBusy} onClick={end}>Stop</button>
      </form>
    </main>
  );
}

await fetch("/api/session", { method: "POST" });
createRoot(document.getElementById("root")).render(<Chat />);

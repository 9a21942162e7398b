// A shared conversation. Its texts are drawn as those of a chat are: markdown as a tree, raw HTML as text.

import { useEffect, useState } from "react";
import { FileIcon } from "../components/Icons";
import { Markdown } from "../components/Markdown";
import { parseQuestion } from "../turn/attachments";
import type { SharedConversation, SharedMessage, SharedPart } from "../wire.generated";
import { words } from "./en";

type Reading = { conversation: SharedConversation | null; note: string };

export function SharedPage({ token }: { token: string }) {
  const [{ conversation, note }, setReading] = useState<Reading>({ conversation: null, note: words.loading });
  useEffect(() => {
    const abort = new AbortController();
    read(token, abort.signal).then(setReading, () => {
      if (!abort.signal.aborted) setReading({ conversation: null, note: words.failed });
    });
    return () => abort.abort();
  }, [token]);
  useEffect(() => {
    if (conversation) document.title = words.titled(conversation.title || words.untitled);
  }, [conversation]);
  if (!conversation) return <p className="shared-note" role="status">{note}</p>;
  return (
    <main className="shared" data-testid="shared">
      <header>
        <h1 dir="auto">{conversation.title || words.untitled}</h1>
        <p className="shared-note">{words.sharedAt(new Date(conversation.shared_at).toLocaleDateString())}</p>
      </header>
      {conversation.messages.map((message, index) => (
        <Message key={index} message={message} />
      ))}
    </main>
  );
}

/** Without credentials: the token is all that the service needs to know. */
async function read(token: string, signal: AbortSignal): Promise<Reading> {
  const answer = await fetch(`/api/shared/${encodeURIComponent(token)}`, { credentials: "omit", signal });
  if (answer.ok) return { conversation: (await answer.json()) as SharedConversation, note: "" };
  return { conversation: null, note: answer.status === 404 || answer.status === 403 ? words.gone : words.failed };
}

function Message({ message: { role, parts } }: { message: SharedMessage }) {
  const asked = role === "user";
  return (
    <section className={asked ? "shared-question" : "shared-answer"} data-testid={`shared-${role}`}>
      <h2 className="visually-hidden">{asked ? words.you : words.answer}</h2>
      {parts.map((part, index) => (
        <Part key={index} part={part} asked={asked} />
      ))}
    </section>
  );
}

function Part({ part, asked }: { part: SharedPart; asked: boolean }) {
  switch (part.type) {
    case "text":
      return asked ? <Question text={part.text} /> : <Markdown text={part.text} />;
    case "reasoning":
      return (
        <details data-testid="shared-reasoning">
          <summary>{words.reasoning}</summary>
          <Markdown text={part.text} />
        </details>
      );
    case "call":
      return <Call call={part} />;
    case "image":
      return <img src={part.data} alt={words.image} />;
    case "file":
      return (
        <a className="shared-file" href={part.data} download={part.name}>
          <FileIcon />
          <span dir="auto">{part.name}</span>
        </a>
      );
  }
}

/** The words of a message, and the text files within it. */
function Question({ text }: { text: string }) {
  const question = parseQuestion(text);
  return (
    <>
      {question.text !== "" && <div className="shared-words" dir="auto">{question.text}</div>}
      {question.files.map((file, index) => (
        <details key={index}>
          <summary dir="auto">{file.name}</summary>
          <pre tabIndex={0} dir="auto">{file.text}</pre>
        </details>
      ))}
    </>
  );
}

function Call({ call }: { call: Extract<SharedPart, { type: "call" }> }) {
  const details = [[words.arguments, call.arguments], [words.result, call.result]] as const;
  return (
    <details data-testid="shared-call">
      <summary dir="auto">{call.is_error ? words.failedCall(call.name) : call.name}</summary>
      {details.map(([label, text]) => text !== undefined && (
        <div key={label}>
          <h3>{label}</h3>
          <pre tabIndex={0} dir="auto">{text}</pre>
        </div>
      ))}
    </details>
  );
}

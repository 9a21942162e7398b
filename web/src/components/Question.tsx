// The question of an exchange. An edited question begins another version.

import { useEffect } from "react";
import { en } from "../en";
import { conversation } from "../state/page";
import { editors } from "../state/parts";
import { isImage, parseQuestion, type Medium } from "../turn/attachments";
import type { Exchange } from "../turn/stored";
import { questionPicker } from "../turn/versions";
import { CopyButton } from "./CopyButton";
import { FileIcon, PencilIcon } from "./Icons";
import { VersionPicker } from "./VersionPicker";

interface Props {
  exchange: Exchange;
  /** Sends an edited message beside this one; null while a turn runs. */
  onEdit: ((question: string) => void) | null;
  editing: boolean;
  setEditing: (editing: boolean) => void;
}

export function Question({ exchange, onEdit, editing, setEditing }: Props) {
  const { question, media } = exchange;
  const { text, files } = parseQuestion(question);
  useEffect(() => {
    // Once: media that do not come are gone.
    if (media.some(({ data }) => data === null)) void conversation.loadMedia(exchange);
  }, [exchange.turnId]);
  const Editor = editors.use(editing)?.QuestionEditor;
  if (editing && onEdit && Editor) {
    return (
      <Editor
        question={question}
        alone={media.length === 0}
        onCancel={() => setEditing(false)}
        onSave={(changed) => {
          setEditing(false);
          onEdit(changed);
        }}
      />
    );
  }
  return (
    <div className="question-row">
      <div className="question" data-testid="message-user">
        <h2 className="visually-hidden">{en.answer.you}</h2>
        {media.length > 0 && <Media media={media} />}
        {text !== "" && (
          <div data-testid="question-text" dir="auto">
            {text}
          </div>
        )}
        {files.map((file, index) => (
          <details key={index} className="attached">
            <summary>
              <FileIcon />
              <span dir="auto">{file.name}</span>
            </summary>
            <pre tabIndex={0} dir="auto">{file.text}</pre>
          </details>
        ))}
      </div>
      <div className="question-acts">
        <AskedAt at={new Date(exchange.askedAt)} />
        <VersionPicker picker={questionPicker(exchange.turnId, exchange.versions)} type="message" />
        {question !== "" && <CopyButton text={question} what={en.common.copyMessage} />}
        {onEdit && <EditButton onClick={() => setEditing(true)} />}
      </div>
    </div>
  );
}

function EditButton({ onClick }: { onClick: () => void }) {
  return (
    <button type="button" className="icon-button small" data-testid="edit" title={en.answer.edit} onClick={onClick}>
      <PencilIcon />
      <span className="visually-hidden">{en.answer.edit}</span>
    </button>
  );
}

function AskedAt({ at }: { at: Date }) {
  return (
    <time className="question-time" dateTime={at.toISOString()}>
      {at.toLocaleString([], { dateStyle: "medium", timeStyle: "short" })}
    </time>
  );
}

function Media({ media }: { media: readonly Medium[] }) {
  return (
    <ul className="media">
      {media.map((medium, index) => (
        <li key={index} data-testid="medium">
          {medium.data !== null && isImage(medium) ? (
            <img src={medium.data} alt={medium.name} />
          ) : (
            <span className="media-mark">
              <FileIcon />
              <span dir="auto">{medium.name}</span>
            </span>
          )}
        </li>
      ))}
    </ul>
  );
}

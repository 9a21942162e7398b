import { useEffect, useLayoutEffect, useRef, useState, type KeyboardEvent } from "react";
import type { ConversationState } from "../state/conversation";
import { chosen } from "../state/chosen";
import { draftFiles, drafts, NEW_CHAT, setDraft, setDraftFiles, sorted, type Attachment } from "../state/drafts";
import { attach } from "../state/files";
import { conversation } from "../state/page";
import { offerIsKnown, readsMedia, settings } from "../state/settings";
import { useStore } from "../state/store";
import { known, SUBJECTS, subjects, subjectText, type Subject } from "../state/subject";
import { isImage, withFiles } from "../turn/attachments";
import { ArrowUpIcon, ClipIcon, CloseIcon, FileIcon, FlagIcon, ShelfIcon, StopIcon } from "./Icons";
import { Menu } from "./Menu";

/** What the service takes in one message. */
const MAX_CHARS = 100_000;

interface Props {
  state: ConversationState;
  /** Edits the last message; null where there is none to edit. */
  onEditLast: (() => void) | null;
  onCollections: () => void;
}

export const COMPOSER_ID = "composer";

export function Composer({ state, onEditLast, onCollections }: Props) {
  const { threadId, phase, running } = state;
  const chat = threadId ?? NEW_CHAT;
  const text = useStore(drafts)[chat] ?? "";
  const attached: readonly Attachment[] = useStore(draftFiles)[chat] ?? [];
  const searched = useStore(chosen.store).byChat[chat] ?? [];
  const subject = known(useStore(subjects.store).byChat[chat]);
  const [refused, setRefused] = useState<string | null>(null);
  const box = useRef<HTMLTextAreaElement>(null);
  const picker = useRef<HTMLInputElement>(null);
  const usable = phase === "ready";
  const { files, media } = sorted(attached);
  const message = withFiles(text, files);
  const over = [...message].length - MAX_CHARS;
  const sendable = usable && running === null && (message.trim() !== "" || media.length > 0) && over <= 0;

  useLayoutEffect(() => {
    const field = box.current;
    if (!field) return;
    // Through CSSOM, which a strict style-src allows. An empty one need not be measured.
    field.style.height = text === "" ? "" : "auto";
    if (text === "") return;
    field.style.height = `${field.scrollHeight}px`;
  }, [text]);

  // A chat that was opened can be written in at once; on a touch screen the keyboard would hide it.
  useEffect(() => {
    if (usable && window.matchMedia("(pointer: fine)").matches) box.current?.focus();
  }, [usable, threadId]);

  const send = () => {
    if (!sendable) return;
    void conversation.send(message, null, media);
    setRefused(null);
    box.current?.focus();
  };

  const take = async (list: FileList | null) => {
    if (!list || list.length === 0) return;
    const before = () => draftFiles.get()[chat] ?? [];
    // The list lives as long as the picker's value: its files are taken out before anything is waited for.
    const given = [...list];
    await offerIsKnown;
    const read = await attach(given, before(), readsMedia(settings.get()));
    setRefused(read.refused);
    setDraftFiles(chat, [...before(), ...read.attached]);
    box.current?.focus();
  };

  const onKeyDown = (event: KeyboardEvent) => {
    // Keys that pick a word of an input method are not meant for us.
    if (event.nativeEvent.isComposing) return;
    if (event.key === "Escape" && running) void conversation.stop();
    if (event.key === "ArrowUp" && text === "" && onEditLast) {
      event.preventDefault();
      onEditLast();
    }
    if (event.key !== "Enter" || event.shiftKey) return;
    event.preventDefault();
    send();
  };

  return (
    <form
      className="composer"
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
      onDragOver={(event) => event.preventDefault()}
      onDrop={(event) => {
        if (event.dataTransfer.files.length === 0) return;
        event.preventDefault();
        void take(event.dataTransfer.files);
      }}
    >
      <div className="composer-box">
        {subject && (
          <ul className="composer-files" aria-label="How this chat works">
            <li data-testid="subject">
              <FlagIcon />
              <span>{subjectText(subject)}</span>
              <button type="button" className="icon-button tiny" title="Just chat" onClick={() => subjects.choose(chat, null)}>
                <CloseIcon />
                <span className="visually-hidden">Just chat</span>
              </button>
            </li>
          </ul>
        )}
        {searched.length > 0 && (
          <ul className="composer-files" aria-label="Collections that are searched">
            {searched.map(({ id, name }) => (
              <li key={id} data-testid="chosen">
                <ShelfIcon />
                <span>{name}</span>
                <button
                  type="button"
                  className="icon-button tiny"
                  title="Do not search it"
                  onClick={() => chosen.choose(chat, searched.filter((each) => each.id !== id))}
                >
                  <CloseIcon />
                  <span className="visually-hidden">Do not search {name}</span>
                </button>
              </li>
            ))}
          </ul>
        )}
        {attached.length > 0 && (
          <ul className="composer-files" aria-label="Attached files">
            {attached.map((file, index) => (
              <li key={index} data-testid="attached">
                {"data" in file && file.data !== null && isImage(file) ? <img src={file.data} alt="" /> : <FileIcon />}
                <span>{file.name}</span>
                <button
                  type="button"
                  className="icon-button tiny"
                  title="Remove"
                  onClick={() => setDraftFiles(chat, attached.filter((_, at) => at !== index))}
                >
                  <CloseIcon />
                  <span className="visually-hidden">Remove {file.name}</span>
                </button>
              </li>
            ))}
          </ul>
        )}
        <input
          ref={picker}
          type="file"
          multiple
          hidden
          data-testid="file-input"
          aria-label="Attach files"
          onChange={(event) => {
            void take(event.target.files).then(() => {
              if (picker.current) picker.current.value = "";
            });
          }}
        />
        <button
          type="button"
          className="icon-button composer-clip"
          data-testid="attach"
          title="Attach files"
          disabled={!usable}
          onClick={() => picker.current?.click()}
        >
          <ClipIcon />
          <span className="visually-hidden">Attach files</span>
        </button>
        <button
          type="button"
          className="icon-button composer-clip"
          data-testid="choose-collections"
          title="Search collections"
          onClick={onCollections}
        >
          <ShelfIcon />
          <span className="visually-hidden">Search collections</span>
        </button>
        <Menu
          label="How this chat works"
          className="icon-button composer-clip"
          testId="choose-subject"
          items={(Object.keys(SUBJECTS) as Subject["type"][]).map((type) => ({
            label: SUBJECTS[type],
            testId: `subject-${type}`,
            act: () => {
              subjects.choose(chat, { type });
              box.current?.focus();
            },
          }))}
        >
          <FlagIcon />
        </Menu>
        <label className="visually-hidden" htmlFor={COMPOSER_ID}>
          Message
        </label>
        <textarea
          id={COMPOSER_ID}
          ref={box}
          data-testid="composer"
          rows={1}
          placeholder="Ask anything"
          enterKeyHint="send"
          value={text}
          disabled={phase === "missing"}
          aria-describedby="composer-hint"
          onChange={(event) => setDraft(chat, event.target.value)}
          onKeyDown={onKeyDown}
          onPaste={(event) => {
            if (event.clipboardData.files.length === 0) return;
            event.preventDefault();
            void take(event.clipboardData.files);
          }}
        />
        {running ? (
          <button
            type="button"
            className="round-button stop"
            data-testid="stop"
            disabled={running.stopping}
            onClick={() => void conversation.stop()}
            title="Stop"
          >
            <StopIcon />
            <span className="visually-hidden">{running.stopping ? "Stopping" : "Stop"}</span>
          </button>
        ) : (
          <button
            type="submit"
            className="round-button"
            data-testid="send"
            disabled={!sendable}
            title="Send"
          >
            <ArrowUpIcon />
            <span className="visually-hidden">Send</span>
          </button>
        )}
      </div>
      <Hint over={over} refused={refused} />
    </form>
  );
}

function Hint({ over, refused }: { over: number; refused: string | null }) {
  const warning = over > 0 ? `This message is too long by ${over.toLocaleString("en")} characters.` : refused;
  return (
    <p id="composer-hint" className="composer-hint" data-warn={warning !== null} role={warning ? "alert" : undefined}>
      {warning ?? "Enter sends, Shift + Enter starts a new line."}
    </p>
  );
}

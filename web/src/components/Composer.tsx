// The composer: the draft of the open chat with its attachments and choices, and the button that sends it.

import { useEffect, useLayoutEffect, useRef, useState, type KeyboardEvent, type RefObject } from "react";
import { en } from "../en";
import { features, useQuestion } from "../feature";
import type { ConversationState } from "../state/conversation";
import { clearDraft, draftFiles, drafts, NEW_CHAT, restoreDraft, setDraft, setDraftFiles, sorted, type Attachment } from "../state/drafts";
import { conversation } from "../state/page";
import { askedBar, attaching } from "../state/parts";
import { pastedFiles } from "../state/pasted";
import { offerIsKnown, readsMedia, settings } from "../state/settings";
import { useStore } from "../state/store";
import { withFiles } from "../turn/attachments";
import { openApprovals } from "../turn/view";
import { MAX_REASON_BYTES } from "../wire.generated";
import { AddMenu, AttachedChips, ModelMenu, SubjectChip } from "./ComposerParts";
import { DropAnywhere } from "./DropAnywhere";
import { COMPOSER_ID, focusComposer } from "./focus";
import { ArrowUpIcon, StopIcon } from "./Icons";
import { enterSendsHere, sendingOf } from "./sendKey";
import { useCommands } from "./useCommands";

/** The service's limit for one message. */
const MAX_CHARS = 100_000;

interface Props {
  state: ConversationState;
  /** Edits the last message; null unless there is one to edit. */
  onEditLast: (() => void) | null;
}

// Long: the parts of the composer share its draft.
export function Composer({ state, onEditLast }: Props) {
  const { threadId, phase, running } = state;
  const chat = threadId ?? NEW_CHAT;
  const text = useStore(drafts)[chat] ?? "";
  const attached: readonly Attachment[] = useStore(draftFiles)[chat] ?? [];
  const box = useRef<HTMLTextAreaElement>(null);
  const usable = phase === "ready";
  const { refused, setRefused, take } = useAttaching(chat, box);
  const { files, media } = sorted(attached);
  const message = withFiles(text, files);
  const over = [...message].length - MAX_CHARS;
  const complete = (message.trim() !== "" || media.length > 0) && over <= 0;
  // The service has the turn that runs: other messages can wait for it.
  const sendable = usable && (running?.begun ?? true) && complete;
  const focus = () => box.current?.focus();

  // The reader can write at once in a chat that was opened. On a touch screen the keyboard would hide the chat.
  useEffect(() => {
    if (usable && window.matchMedia("(pointer: fine)").matches) focus();
  }, [usable, threadId]);

  const isCommand = useCommands(chat, running?.begun === false ? null : threadId, setRefused);
  const sent = (act: () => Promise<void>) => {
    if (!sendable) return;
    setRefused(null);
    if (attached.length === 0 && isCommand(text.trim())) clearDraft(chat);
    else void act();
    focus();
  };
  const sendOn = () => sent(() => conversation.send(message, null, media));
  const { waits, send: sendOrWait, keep } = useSending(chat, phase, complete, sendOn);
  const { asked, AskedBar, isRead } = useAsked(state);
  // Only what the bar has announced: the words of the composer deny the call. Files are no reason.
  const denies = asked !== null && AskedBar !== null && attached.length === 0;
  const isReason = !denies || new TextEncoder().encode(text).length <= MAX_REASON_BYTES;
  const deny = async (id: string) => {
    if (!sendable || !isReason || !isRead()) return;
    clearDraft(chat);
    if (!(await conversation.decide(id, "deny", { reason: text }))) restoreDraft(chat, text, []);
  };
  const send = () => (denies ? void deny(asked.id) : sendOrWait());
  const sendNow = () => (running ? sent(() => conversation.sendNow(message, media)) : send());

  return (
    <form
      className="composer"
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
    >
      <DropAnywhere take={take} />
      <div className="composer-box">
        {asked && AskedBar && denies && <AskedBar asked={asked} onQueue={sendable ? sendOn : null} tooLong={!isReason} />}
        <SubjectChip chat={chat} />
        {features().map(({ name, Chips }) => Chips && <Chips key={name} chat={chat} />)}
        <AttachedChips attached={attached} onChange={(files) => setDraftFiles(chat, files)} />
        <Box {...{ box, chat, text, phase, take, send, sendNow, onEditLast }} onChange={keep} />
        <div className="composer-tools">
          <AddMenu chat={chat} usable={usable} take={take} onChosen={focus} />
          <ModelMenu onChosen={focus} />
        </div>
        {running && sendable && !denies && <NowButton onClick={sendNow} />}
        {running && <StopButton stopping={running.stopping} />}
        {denies && sendable && <DenyButton usable={isReason} />}
        {denies || (running && !sendable) ? null : <SendButton sendable={sendable || (phase === "loading" && complete)} waits={waits} queues={running !== null} />}
      </div>
      <Hint over={over} refused={refused} waits={waits} queues={running !== null && sendable && !denies} />
    </form>
  );
}

/** A message that was on its way when the bar appeared must not deny the call: a person needs so long to see it. */
const SEEN_MS = 1_000;

/** The call for which the person is asked, where their words can tell why they deny it, and the bar that says so. A form, and
    a question of a feature, have answers of their own. */
function useAsked({ exchanges, running }: ConversationState) {
  const view = exchanges.find(({ turnId }) => turnId === running?.turnId)?.answer;
  const newest = view ? openApprovals(view).at(-1) : undefined;
  const isOwn = useQuestion(newest) !== null;
  const asked = newest && !isOwn && newest.form === null ? newest : null;
  const AskedBar = askedBar.use(asked !== null);
  const shownAt = useRef(0);
  const shown = AskedBar ? asked?.id : undefined;
  useEffect(() => void (shownAt.current = Date.now()), [shown]);
  return { asked, AskedBar, isRead: () => Date.now() - shownAt.current >= SEEN_MS };
}

/**
 * Sends at once, or, while the chat is still loading, as soon as it has loaded. A message that is changed meanwhile is kept
 * until it is sent again.
 */
function useSending(chat: string, phase: ConversationState["phase"], complete: boolean, now: () => void) {
  const [queued, setQueued] = useState<string | null>(null);
  const loading = phase === "loading";
  useEffect(() => {
    if (queued === null || (queued === chat && loading)) return;
    setQueued(null);
    if (queued === chat) now();
  }, [queued, chat, loading]);
  const send = () => (loading && complete ? setQueued(chat) : now());
  return { waits: queued === chat, send, keep: () => setQueued(null) };
}

/** Reads attached files into the draft; `refused` names those that it cannot take. */
function useAttaching(chat: string, box: RefObject<HTMLTextAreaElement | null>) {
  const [refused, setRefused] = useState<string | null>(null);
  const take = async (list: FileList | readonly File[] | null) => {
    if (!list || list.length === 0) return;
    const before = () => draftFiles.get()[chat] ?? [];
    // The list lives as long as the picker's value, so its files are taken out before the first wait.
    const given = [...list];
    await offerIsKnown;
    const read = await attaching.load().then(
      (attach) => attach(given, before(), readsMedia(settings.get())),
      () => ({ attached: [], refused: en.page.partFailed }),
    );
    setRefused(read.refused);
    setDraftFiles(chat, [...before(), ...read.attached]);
    box.current?.focus();
  };
  return { refused, setRefused, take };
}

interface BoxProps {
  box: RefObject<HTMLTextAreaElement | null>;
  chat: string;
  text: string;
  phase: ConversationState["phase"];
  take: (files: FileList | readonly File[]) => Promise<void>;
  send: () => void;
  sendNow: () => void;
  onChange: () => void;
  onEditLast: (() => void) | null;
}

function Box({ box, chat, text, phase, take, send, sendNow, onChange, onEditLast }: BoxProps) {
  useLayoutEffect(() => {
    const field = box.current;
    if (!field) return;
    // Through CSSOM, which a strict style-src allows. An empty box needs no measuring.
    field.style.height = text === "" ? "" : "auto";
    if (text === "") return;
    field.style.height = `${field.scrollHeight}px`;
  }, [text]);

  const onKeyDown = (event: KeyboardEvent) => {
    if (event.nativeEvent.isComposing) return;
    if (event.key === "ArrowUp" && text === "" && onEditLast) {
      event.preventDefault();
      onEditLast();
    }
    const sending = sendingOf(event.nativeEvent, enterSendsHere());
    if (sending === null) return;
    event.preventDefault();
    if (sending === "now") sendNow();
    else send();
  };

  return (
    <>
      <label className="visually-hidden" htmlFor={COMPOSER_ID}>
        {en.composer.label}
      </label>
      <textarea
        id={COMPOSER_ID}
        ref={box}
        data-testid="composer"
        rows={1}
        dir="auto"
        placeholder={en.composer.placeholder}
        enterKeyHint="enter"
        value={text}
        disabled={phase === "missing"}
        aria-describedby="composer-hint"
        onChange={(event) => {
          setDraft(chat, event.target.value);
          onChange();
        }}
        onKeyDown={onKeyDown}
        onPaste={(event) => {
          const files = pastedFiles(event.clipboardData, draftFiles.get()[chat] ?? []);
          if (files.length === 0) return;
          event.preventDefault();
          void take(files);
        }}
      />
    </>
  );
}

function StopButton({ stopping }: { stopping: boolean }) {
  return (
    <button
      type="button"
      className="round-button stop"
      data-testid="stop"
      disabled={stopping}
      onClick={() => {
        void conversation.stop();
        focusComposer();
      }}
      title={en.composer.stop}
    >
      <StopIcon />
      <span className="visually-hidden">{stopping ? en.composer.stopping : en.composer.stop}</span>
    </button>
  );
}

/** Sends the message in place of the answer in progress. */
function NowButton({ onClick }: { onClick: () => void }) {
  return (
    <button type="button" className="link-button send-now" data-testid="send-now" title={en.composer.sendNowWhy} onClick={onClick}>
      {en.composer.sendNow}
    </button>
  );
}

/** Its words say what it does: the same key sends a message elsewhere. */
function DenyButton({ usable }: { usable: boolean }) {
  return (
    <button type="submit" className="deny" data-testid="deny" disabled={!usable}>
      {en.composer.deny}
    </button>
  );
}

/** `queues`: an answer is in progress, and the message waits for its end. */
function SendButton({ sendable, waits, queues }: { sendable: boolean; waits: boolean; queues: boolean }) {
  const label = waits ? en.composer.sendsWhenLoaded : queues ? en.composer.enqueue : en.common.send;
  return (
    <button type="submit" className="round-button" data-testid="send" disabled={!sendable || waits} title={label}>
      {waits ? <span className="spinner" aria-hidden="true" /> : <ArrowUpIcon />}
      <span className="visually-hidden">{label}</span>
    </button>
  );
}

function Hint({ over, refused, waits, queues }: { over: number; refused: string | null; waits: boolean; queues: boolean }) {
  const { enterSends } = useStore(settings);
  const warning = over > 0 ? en.composer.tooLong(over) : refused;
  return (
    <p id="composer-hint" className="composer-hint" data-warn={warning !== null} role={warning ? "alert" : undefined}>
      {warning ?? (waits ? en.composer.sendsWhenLoaded : queues ? en.composer.hintQueue(enterSends) : en.composer.hint(enterSends))}
    </p>
  );
}

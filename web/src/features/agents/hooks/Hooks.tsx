// The hooks of the open chat, in the panel of agents: listed, added, changed and deleted.

import { useEffect, useRef, useState } from "react";
import { Confirm } from "../../../components/Confirm";
import { ChevronIcon, CloseIcon, PlusIcon } from "../../../components/Icons";
import { Problem } from "../../../components/PagedList";
import { en } from "../../../en";
import { useStore } from "../../../state/store";
import type { Hook } from "../../../wire.generated";
import { HOOK, talkTo } from "../choice";
import { TalkButton } from "../panel/TalkButton";
import { words } from "./en";
import { HookForm } from "./HookForm";
import { hooks } from "./hooks";
import { draftOf, NEW } from "./rules";

export function Hooks({ chat, threadId }: { chat: string; threadId: string }) {
  const { phase, hooks: kept, operators, own, problem } = useStore(hooks.desk);
  useEffect(() => void hooks.show(threadId), [threadId]);
  return (
    <section className="hooks" aria-labelledby="hooks-title" data-testid="hooks">
      <h3 id="hooks-title">{words.title}</h3>
      <p className="side-note">{words.lead}</p>
      <Problem words={problem} onRetry={phase === "failed" ? () => void hooks.show(threadId) : null} />
      <ul aria-label={words.list}>
        {kept.map((hook) => (
          <Row key={hook.name} chat={chat} hook={hook} />
        ))}
      </ul>
      <p className="side-note" role="status">
        {phase === "loading" && en.common.loading}
        {phase === "ready" && kept.length === 0 && words.none}
      </p>
      {phase === "ready" && <Add key={threadId} />}
      {own.length > 0 && <Own list={own} />}
      {operators.length > 0 && <Operators list={operators} />}
    </section>
  );
}

function Row({ chat, hook }: { chat: string; hook: Hook }) {
  const { open, button, show, hide } = useForm();
  return (
    <li className="row" data-testid="hook" data-hook={hook.name}>
      {open ? (
        <HookForm label={words.edit(hook.name)} begun={draftOf(hook)} isNew={false} onDone={hide} />
      ) : (
        <>
          <button ref={button} type="button" className="row-open" data-testid="hook-edit" onClick={show}>
            <Told hook={hook} />
            <span className="visually-hidden">{words.edit(hook.name)}</span>
            <ChevronIcon />
          </button>
          {hook.instructions && <TalkButton chat={chat} name={HOOK + hook.name} talk={(to) => talkTo(chat, to)} />}
          <Remove hook={hook} />
        </>
      )}
    </li>
  );
}

function Remove({ hook: { name } }: { hook: Hook }) {
  return (
    <Confirm
      label={words.remove(name)}
      question={words.removeQuestion(name)}
      yes={words.yes}
      testId="hook-delete"
      act={() => hooks.remove(name)}
    >
      <CloseIcon />
    </Confirm>
  );
}

function Own({ list }: { list: readonly Hook[] }) {
  return (
    <>
      <p className="side-note">{words.own}</p>
      <ul aria-label={words.own}>
        {list.map((hook) => (
          <li key={hook.name} className="row" data-testid="own-hook">
            <Told hook={hook} />
            <Remove hook={hook} />
          </li>
        ))}
      </ul>
    </>
  );
}

function Add() {
  const { open, button, show, hide } = useForm();
  return open ? (
    <HookForm label={words.add} begun={NEW} isNew onDone={hide} />
  ) : (
    <button ref={button} type="button" className="outline-button hook-add" data-testid="hook-add" onClick={show}>
      <PlusIcon />
      {words.add}
    </button>
  );
}

function Operators({ list }: { list: readonly Hook[] }) {
  return (
    <>
      <p className="side-note">
        {words.operators}. {words.operatorsNote}
      </p>
      <ul aria-label={words.operators}>
        {list.map((hook) => (
          <li key={hook.name} className="row" data-testid="operators-hook">
            <Told hook={hook} />
          </li>
        ))}
      </ul>
    </>
  );
}

function Told({ hook: { name, builtin, on, of, has_quit } }: { hook: Hook }) {
  const more = [...(of === "main" ? [words.mainOnly] : []), ...(has_quit ? [words.hasQuit] : [])];
  const told = [builtin ?? words.byModel, words.points[on], ...more];
  return (
    <span className="row-words">
      <span className="row-name">{name}</span>
      <span className="row-more">{told.join(" · ")}</span>
    </span>
  );
}

/** A form in place of its button, which takes the focus back when the form closes with it. */
function useForm() {
  const [open, setOpen] = useState(false);
  const button = useRef<HTMLButtonElement>(null);
  const was = useRef(false);
  useEffect(() => {
    // A person who went elsewhere while the form was saved stays there.
    const isLost = document.activeElement === null || document.activeElement === document.body;
    if (was.current && !open && isLost) button.current?.focus();
    was.current = open;
  }, [open]);
  return { open, button, show: () => setOpen(true), hide: () => setOpen(false) };
}

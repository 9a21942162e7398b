// The editor of a definition. Below the text box lie the same lines once more: they number themselves, and underline the
// place of a mistake, which a text box cannot do. The two wrap alike, so each line stands behind its own.

import { memo, useEffect, useId, useMemo, useRef, type FormEvent, type ReactNode, type RefObject } from "react";
import { Confirm } from "../../../components/Confirm";
import { focusNext } from "../../../components/focus";
import { en } from "../../../en";
import { useStore } from "../../../state/store";
import { WORKFLOW_ID } from "../../../wire.generated";
import { workflows, type Draft } from "../workflows";
import { words } from "./en";
import { lineAt, readJson, type Place } from "./json";

/** The mistake that is shown, and where. `isRefused`: the person wanted to save. */
interface Told {
  words: string;
  place: Place | null;
  isRefused: boolean;
}

function useTold({ text, refused }: Draft): Told | null {
  const read = useMemo(() => readJson(text), [text]);
  if (refused && refused.at !== "id") return { words: refused.words, place: refused.at, isRefused: true };
  return "mistake" in read ? { words: words.mistakes[read.mistake], place: read.at, isRefused: false } : null;
}

export function Editor({ draft }: { draft: Draft }) {
  const { id, isNew, text, begun, refused } = draft;
  const { open } = useStore(workflows.desk);
  const told = useTold(draft);
  const box = useRef<HTMLTextAreaElement>(null);
  const name = useRef<HTMLInputElement>(null);
  // A button that is disabled would lose the focus.
  const busy = useRef(false);
  useEffect(() => (isNew ? name : box).current?.focus({ preventScroll: true }), [isNew]);
  useEffect(() => {
    if (refused?.at === "id") name.current?.focus();
    else if (refused?.at) show(box.current, refused.at);
  }, [refused]);
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    if (busy.current) return;
    busy.current = true;
    await workflows.save();
    busy.current = false;
  };
  return (
    <form className="workflow-editor" data-testid="workflow-editor" noValidate onSubmit={(event) => void submit(event)}>
      {isNew && <Id box={name} id={id} problem={refused?.at === "id" ? refused.words : null} />}
      {open?.built_in && <p className="side-note">{words.builtInNote}</p>}
      <Code box={box} text={text} told={told} />
      <div className="workflow-acts">
        <button type="submit" className="primary-button small" data-testid="workflow-save">
          {words.save}
        </button>
        {text === begun ? (
          <button type="button" className="quiet-button" data-testid="workflow-cancel" onClick={leave}>
            {en.common.cancel}
          </button>
        ) : (
          <Confirm label={words.discard} question={words.discardQuestion} yes={words.discardYes} className="quiet-button" testId="workflow-cancel" act={leave}>
            <span aria-hidden="true">{en.common.cancel}</span>
          </Confirm>
        )}
      </div>
    </form>
  );
}

function leave(): void {
  workflows.discard();
  // A workflow that is open has the focus at its way back.
  focusNext(() => document.querySelector<HTMLElement>("[data-testid=workflow-new]"));
}

function Code({ box, text, told }: { box: RefObject<HTMLTextAreaElement | null>; text: string; told: Told | null }) {
  const toldId = useId();
  return (
    <div className="code-frame" data-wrong={told !== null}>
      <div className="code-scroll">
        <Lines text={text} place={told?.place ?? null} />
        <textarea
          ref={box}
          dir="ltr"
          spellCheck={false}
          autoComplete="off"
          autoCapitalize="off"
          data-testid="workflow-json"
          aria-label={words.definition}
          aria-invalid={told !== null}
          aria-describedby={toldId}
          value={text}
          onChange={({ target }) => workflows.change({ text: target.value })}
        />
      </div>
      <div id={toldId} className="code-told" data-testid="workflow-told">
        {told === null ? <p>{words.valid}</p> : <Mistake told={told} text={text} show={(place) => show(box.current, place)} />}
      </div>
    </div>
  );
}

function Id({ box, id, problem }: { box: RefObject<HTMLInputElement | null>; id: string; problem: string | null }) {
  const hint = useId();
  return (
    <div className="form workflow-id">
      <label>
        {words.id}
        <input
          ref={box}
          dir="ltr"
          spellCheck={false}
          autoCapitalize="off"
          maxLength={WORKFLOW_ID.max}
          data-testid="workflow-id"
          aria-invalid={problem !== null}
          aria-describedby={hint}
          value={id}
          onChange={({ target }) => workflows.change({ id: target.value })}
        />
      </label>
      <p id={hint} className={problem === null ? "side-note" : "side-problem"} role={problem === null ? undefined : "alert"}>
        {problem ?? words.idRule}
      </p>
    </div>
  );
}

function Mistake({ told: { words: why, place, isRefused }, text, show }: { told: Told; text: string; show: (place: Place) => void }) {
  const at = place && lineAt(text, place.from);
  return (
    <p role={isRefused ? "alert" : undefined}>
      {at && <b>{words.at(at.line, at.column)}</b>}
      {why}{" "}
      {place && (
        <button type="button" className="link-button" data-testid="workflow-show" onClick={() => show(place)}>
          {words.show}
        </button>
      )}
    </p>
  );
}

/** Selects a place in the text box, and scrolls to its line. */
function show(box: HTMLTextAreaElement | null, { from, to }: Place): void {
  if (!box) return;
  box.focus({ preventScroll: true });
  box.setSelectionRange(from, to);
  const around = box.parentElement;
  const line = around?.querySelectorAll<HTMLElement>(".code-line")[lineAt(box.value, from).line - 1];
  if (around && line) around.scrollTop = line.offsetTop - around.clientHeight / 2;
}

function Lines({ text, place }: { text: string; place: Place | null }): ReactNode {
  let from = 0;
  const lines = text.split("\n").map((line) => {
    const [start, end] = [from, from + line.length];
    from = end + 1;
    const isWrong = place !== null && place.from <= end && place.from >= start;
    // An empty place, such as the end of the text, marks the line alone.
    return { line, wrong: isWrong ? [place.from - start, Math.min(place.to, end) - start] as const : null };
  });
  return (
    <div className="code-lines" dir="ltr" aria-hidden="true">
      {lines.map(({ line, wrong }, index) => (
        <Line key={index} line={line} from={wrong?.[0] ?? -1} to={wrong?.[1] ?? -1} />
      ))}
    </div>
  );
}

/** `from`, `to`: the wrong part of it; -1 where it has none. */
const Line = memo(function Line({ line, from, to }: { line: string; from: number; to: number }) {
  return (
    <div className="code-line" data-wrong={from >= 0}>
      {from < 0 ? (
        line
      ) : (
        <>
          {line.slice(0, from)}
          <span className="code-wrong">{line.slice(from, to)}</span>
          {line.slice(to)}
        </>
      )}
      {/* An empty line is as high as any. */}
      {"\u200b"}
    </div>
  );
});

// The form of one hook. What the service refuses stands beside the control of that member.

import { useEffect, useId, useRef, useState, type FormEvent, type ReactNode } from "react";
import { en } from "../../../en";
import { AGENT_NAME, type HookPoint, type HookReach } from "../../../wire.generated";
import { words } from "./en";
import { hooks, type Refused } from "./hooks";
import { BY_MODEL, REACHES, ruleOf, RULES, watchesCalls, withRule, type Draft } from "./rules";

interface Props {
  label: string;
  begun: Draft;
  /** A new hook has a name to choose; the name of another one stays. */
  isNew: boolean;
  onDone: () => void;
}

export function HookForm({ label, begun, isNew, onDone }: Props) {
  const [draft, setDraft] = useState(begun);
  const [refused, setRefused] = useState<Refused | null>(null);
  const form = useRef<HTMLFormElement>(null);
  // A button that is disabled would lose the focus.
  const busy = useRef(false);
  useEffect(() => form.current?.querySelector<HTMLElement>("input, select")?.focus(), []);
  useEffect(() => {
    if (refused) form.current?.querySelector<HTMLElement>("[aria-invalid=true]")?.focus();
  }, [refused]);
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    if (busy.current) return;
    busy.current = true;
    const why = await hooks.put(draft, isNew);
    busy.current = false;
    setRefused(why);
    if (why === null) onDone();
  };
  const beside = membersOf(draft, isNew);
  const elsewhere = refused !== null && !(refused.field !== null && beside.includes(refused.field));
  return (
    <form
      ref={form}
      className="form agent-form"
      aria-label={label}
      noValidate
      onSubmit={(event) => void submit(event)}
      onKeyDown={(event) => {
        if (event.key !== "Escape" || event.nativeEvent.isComposing) return;
        // The same key closes the panel elsewhere.
        event.preventDefault();
        onDone();
      }}
    >
      <Controls draft={draft} isNew={isNew} refused={refused} change={(part) => setDraft((known) => ({ ...known, ...part }))} />
      {elsewhere && (
        <p className="side-problem" role="alert">
          {refused.words}
        </p>
      )}
      <p className="side-note">{words.holds}</p>
      <div className="agent-acts">
        <button type="submit" className="primary-button small" data-testid="hook-save">
          {words.save}
        </button>
        <button type="button" className="quiet-button" onClick={onDone}>
          {en.common.cancel}
        </button>
      </div>
    </form>
  );
}

/** The members that have a control in the form of this hook. */
function membersOf({ rule, on }: Draft, isNew: boolean): string[] {
  const own = rule === BY_MODEL ? ["instructions", "reads"] : Object.keys(ruleOf(rule).options).map((option) => `options.${option}`);
  return [...(isNew ? ["name"] : []), "builtin", "on", ...(watchesCalls(on) ? ["match"] : []), ...own, "of"];
}

interface ControlsProps {
  draft: Draft;
  isNew: boolean;
  refused: Refused | null;
  change: (part: Partial<Draft>) => void;
}

function Controls({ draft, isNew, refused, change }: ControlsProps) {
  const { rule, on, options } = draft;
  const { points, options: kinds } = ruleOf(rule);
  const of = (member: string) => ({ member, refused });
  return (
    <>
      {isNew && (
        <Control label={words.name} hint={words.nameRule} {...of("name")}>
          {(common) => <input {...common} maxLength={AGENT_NAME.max} value={draft.name} onChange={({ target }) => change({ name: target.value })} />}
        </Control>
      )}
      <Control label={words.rule} {...of("builtin")}>
        {(common) => (
          <select {...common} value={rule} onChange={({ target }) => change(withRule(draft, target.value))}>
            <option value={BY_MODEL}>{words.byInstructions}</option>
            {Object.keys(RULES).map((name) => (
              <option key={name} value={name}>{`${name}: ${words.rules[name]}`}</option>
            ))}
          </select>
        )}
      </Control>
      {rule === BY_MODEL && (
        <Control label={words.instructions} {...of("instructions")}>
          {(common) => <textarea {...common} dir="auto" rows={4} value={draft.instructions} onChange={({ target }) => change({ instructions: target.value })} />}
        </Control>
      )}
      {Object.entries(kinds).map(([option, kind]) => (
        <Control key={option} label={words.options[option] ?? option} {...of(`options.${option}`)}>
          {(common) => (
            <input {...common} dir="auto" inputMode={kind === "count" ? "numeric" : "text"} value={options[option] ?? ""} onChange={({ target }) => change({ options: { ...options, [option]: target.value } })} />
          )}
        </Control>
      ))}
      {points.length > 1 && (
        <Control label={words.on} {...of("on")}>
          {(common) => <Choice common={common} names={words.points} only={points} value={on} change={(value) => change({ on: value as HookPoint })} />}
        </Control>
      )}
      {watchesCalls(on) && (
        <Control label={words.match} hint={words.matchHint} {...of("match")}>
          {(common) => <input {...common} value={draft.match} onChange={({ target }) => change({ match: target.value })} />}
        </Control>
      )}
      {rule === BY_MODEL && (
        <Control label={words.reads} {...of("reads")}>
          {(common) => <input {...common} dir="auto" value={draft.reads} onChange={({ target }) => change({ reads: target.value })} />}
        </Control>
      )}
      <Control label={words.of} {...of("of")}>
        {(common) => <Choice common={common} names={words.reach} only={REACHES} value={draft.of} change={(value) => change({ of: value as HookReach })} />}
      </Control>
    </>
  );
}

interface Common {
  "data-testid": string;
  "aria-invalid": boolean;
  "aria-describedby": string | undefined;
}

/** A control with its name, its hint, and why the service refused its value. */
function Control({ label, hint, member, refused, children }: { label: string; hint?: string; member: string; refused: Refused | null; children: (common: Common) => ReactNode }) {
  const id = useId();
  const why = refused?.field === member ? refused.words : null;
  const described = why !== null || hint !== undefined;
  return (
    <div>
      <label>
        {label}
        {children({ "data-testid": `hook-${member}`, "aria-invalid": why !== null, "aria-describedby": described ? id : undefined })}
      </label>
      {described && (
        <p id={id} className={why === null ? "side-note" : "side-problem"} role={why === null ? undefined : "alert"}>
          {why ?? hint}
        </p>
      )}
    </div>
  );
}

interface ChoiceProps {
  common: Common;
  names: Readonly<Record<string, string>>;
  only: readonly string[];
  value: string;
  change: (value: string) => void;
}

function Choice({ common, names, only, value, change }: ChoiceProps) {
  return (
    <select {...common} value={value} onChange={({ target }) => change(target.value)}>
      {only.map((name) => (
        <option key={name} value={name}>
          {names[name]}
        </option>
      ))}
    </select>
  );
}

// The form that a server asks the reader to fill in, in the middle of a call.

import { useEffect, useId, useMemo, useState, type FormEvent } from "react";
import { conversation } from "../state/page";
import { visibly } from "../turn/approval";
import { turnWords } from "../turn/en";
import { answerOf, filledIn, keepFilled, questionsOf, type Field, type Filled } from "../turn/form";
import type { Decision, Form } from "../wire";
import { focusComposer } from "./focus";
import { TimeLeft } from "./TimeLeft";

const words = turnWords.form;

export function FormCard({ id, form, expiresAt }: { id: string; form: Form; expiresAt: number }) {
  const questions = useMemo(() => questionsOf(form), [form]);
  const [values, setValues] = useState<Filled>(() => filledIn(id));
  const [busy, setBusy] = useState(false);
  useEffect(() => keepFilled(id, values), [values]);
  const server = visibly(form.server);
  const send = async (decision: Decision) => {
    setBusy(true);
    const answers = questions?.map(({ id, fields }) => [id, answerOf(fields, values[id] ?? {})]);
    await conversation.decide(id, decision, decision === "approve" && answers ? { content: Object.fromEntries(answers) } : {});
    setBusy(false);
    // The card disappears with its button. After a refusal the reader goes on with what stands in it.
    focusComposer();
  };
  const submitted = (event: FormEvent) => {
    event.preventDefault();
    void send("approve");
  };
  return (
    <section className="approval" data-testid="form" aria-label={words.ask(server)}>
      <h3>{words.ask(server)}</h3>
      <form
        onSubmit={submitted}
        onKeyDown={(event) => {
          // The same key stops the answer elsewhere.
          if (event.key === "Escape") event.preventDefault();
        }}
      >
        {questions?.map(({ id, message, fields }) => (
          <fieldset key={id}>
            <legend dir="auto">{message}</legend>
            {fields.map((field) => (
              <Input
                key={field.name}
                field={field}
                value={values[id]?.[field.name] ?? field.initial}
                onChange={(value) => setValues((all) => ({ ...all, [id]: { ...all[id], [field.name]: value } }))}
              />
            ))}
          </fieldset>
        ))}
        <p>{questions ? words.effect(server) : words.unusual}</p>
        <div className="approval-choices">
          {questions && (
            <button type="submit" className="primary-button small" disabled={busy} data-decision="approve">
              {words.send}
            </button>
          )}
          <button type="button" className="quiet-button" disabled={busy} data-decision="deny" onClick={() => void send("deny")}>
            {words.decline}
          </button>
          <TimeLeft expiresAt={expiresAt} />
        </div>
      </form>
    </section>
  );
}

interface InputProps {
  field: Field;
  value: Field["initial"];
  onChange: (value: Field["initial"]) => void;
}

function Input(props: InputProps) {
  const id = useId();
  const { kind, about } = props.field;
  const described = about === "" ? {} : { "aria-describedby": `${id}-about` };
  const Kind = kind === "choices" ? Several : kind === "flag" ? Flag : Line;
  return (
    <div className="form-field">
      <Kind {...props} id={id} described={described} />
      {about !== "" && (
        <small id={`${id}-about`} dir="auto">
          {about}
        </small>
      )}
    </div>
  );
}

type KindProps = InputProps & { id: string; described: { "aria-describedby"?: string } };

function Several({ field, value, described, onChange }: KindProps) {
  const chosen = Array.isArray(value) ? value : [];
  return (
    <fieldset {...described}>
      <legend dir="auto">{labelOf(field)}</legend>
      {field.options.map((option) => (
        <label key={option.value}>
          <input
            type="checkbox"
            checked={chosen.includes(option.value)}
            onChange={({ target }) => onChange(target.checked ? [...chosen, option.value] : chosen.filter((each) => each !== option.value))}
          />
          <span dir="auto">{option.label}</span>
        </label>
      ))}
    </fieldset>
  );
}

function Flag({ field, value, described, onChange }: KindProps) {
  return (
    <label>
      <input type="checkbox" checked={value === true} {...described} onChange={({ target }) => onChange(target.checked)} />
      <span dir="auto">{field.label}</span>
    </label>
  );
}

function Line({ field, value, id, described, onChange }: KindProps) {
  const { kind, required, options, bounds } = field;
  const common = { id, value: String(value), required, ...described };
  return (
    <>
      <label htmlFor={id} dir="auto">
        {labelOf(field)}
      </label>
      {kind === "choice" ? (
        <select {...common} onChange={({ target }) => onChange(target.value)}>
          <option value="">{words.none}</option>
          {options.map((option) => (
            <option key={option.value} value={option.value}>
              {option.label}
            </option>
          ))}
        </select>
      ) : (
        <input {...common} type={kind} dir="auto" {...bounds} onChange={({ target }) => onChange(target.value)} />
      )}
    </>
  );
}

function labelOf({ label, required }: Field): string {
  return required ? label : words.optional(label);
}

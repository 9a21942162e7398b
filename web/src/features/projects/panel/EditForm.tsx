// The form in which a person changes a project, a task or a document. It sends the changed members alone: what the agent
// changes at the same time stays.

import { useEffect, useRef, useState, type FormEvent, type ReactNode, type RefObject } from "react";
import { FormFoot } from "../../../components/FormFoot";
import { en } from "../../../en";
import { words } from "./en";

export interface Field {
  /** The member of the request. */
  member: string;
  label: string;
  value: string;
  /** The service's limit, in characters (docs/routes.md). */
  max: number;
  /** Such a text has several lines, and may be blank. */
  rows?: number;
  /** The values to choose from, with their words. */
  choices?: Readonly<Record<string, string>>;
}

interface Props {
  label: string;
  fields: readonly Field[];
  /** Null, or the reason why nothing was changed. */
  save: (changed: Record<string, string>) => Promise<string | null>;
  onDone: () => void;
}

function EditForm({ label, fields, save, onDone }: Props) {
  const [values, setValues] = useState(() => Object.fromEntries(fields.map(({ member, value }) => [member, value])));
  const [begun] = useState(values);
  // A button that is disabled would lose the focus.
  const busy = useRef(false);
  const [problem, setProblem] = useState<string | null>(null);
  const form = useRef<HTMLFormElement>(null);
  useEffect(() => form.current?.querySelector<HTMLElement>("input, textarea")?.focus(), []);
  const complete = fields.every(({ member, rows, choices }) => rows || choices || values[member]?.trim());
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    if (!complete || busy.current) return;
    const changed = Object.fromEntries(Object.entries(values).filter(([member, value]) => value !== begun[member]));
    if (Object.keys(changed).length === 0) return onDone();
    busy.current = true;
    const why = await save(changed);
    busy.current = false;
    setProblem(why);
    if (why === null) onDone();
  };
  const change = (member: string) => (value: string) => setValues((known) => ({ ...known, [member]: value }));
  return (
    <form
      ref={form}
      className="form project-form"
      aria-label={label}
      onSubmit={submit}
      onKeyDown={(event) => {
        if (event.key !== "Escape" || event.nativeEvent.isComposing) return;
        // The same key closes the panel elsewhere.
        event.preventDefault();
        onDone();
      }}
    >
      {fields.map((field) => (
        <Control key={field.member} field={field} value={values[field.member] ?? ""} change={change(field.member)} />
      ))}
      <FormFoot problem={problem} save={words.save} canSave={complete} testId="edit-save">
        <button type="button" className="quiet-button" onClick={onDone}>
          {en.common.cancel}
        </button>
      </FormFoot>
    </form>
  );
}

function Control({ field, value, change }: { field: Field; value: string; change: (value: string) => void }) {
  const { member, label, max, rows, choices } = field;
  const common = { "data-testid": `edit-${member}`, value, onChange: ({ target }: { target: { value: string } }) => change(target.value) };
  return (
    <label>
      {label}
      {choices ? (
        <select {...common}>
          {Object.entries(choices).map(([value, name]) => (
            <option key={value} value={value}>
              {name}
            </option>
          ))}
        </select>
      ) : rows ? (
        <textarea dir="auto" rows={rows} maxLength={max} {...common} />
      ) : (
        <input dir="auto" required maxLength={max} {...common} />
      )}
    </label>
  );
}

/** Something that a person can change, drawn with the button that opens the form in its place. `frame` stands around the
    form. */
export function Editable({ frame = (form) => form, children, ...form }: Omit<Props, "onDone"> & {
  frame?: (form: ReactNode) => ReactNode;
  children: (button: { ref: RefObject<HTMLButtonElement | null>; onClick: () => void }) => ReactNode;
}) {
  const [editing, setEditing] = useState(false);
  const button = useRef<HTMLButtonElement>(null);
  const was = useRef(false);
  // The button takes the focus back when the form closes.
  useEffect(() => {
    if (was.current && !editing) button.current?.focus();
    was.current = editing;
  }, [editing]);
  return editing ? frame(<EditForm {...form} onDone={() => setEditing(false)} />) : children({ ref: button, onClick: () => setEditing(true) });
}

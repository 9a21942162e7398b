// Forms of servers: a JSON Schema of texts, numbers, booleans and choices, as fields to fill in.

import type { Form } from "../wire";
import { visibly } from "./approval";

/** The answers to the questions of a form, by their ids. */
export type Answers = Record<string, Record<string, unknown>>;

export interface Field {
  /** The member of the answer. */
  name: string;
  label: string;
  about: string;
  required: boolean;
  kind: "text" | "number" | "flag" | "choice" | "choices";
  /** The values of a choice. */
  options: { value: string; label: string }[];
  /** The attributes of the input. */
  bounds: Record<string, string | number>;
  /** The value before anybody fills it in. */
  initial: string | boolean | string[];
}

type Members = Record<string, unknown>;

/** The values of a form, by the ids of its questions and the names of their fields. */
export type Filled = Readonly<Record<string, Readonly<Record<string, Field["initial"]>>>>;

/** Forms that a person began to fill in, by the ids of their approvals. A card that leaves the screen loses its state. */
const begun = new Map<string, Filled>();
/** A chat seldom has more forms that wait. The oldest is forgotten. */
export const MOST_BEGUN = 20;

export function filledIn(approvalId: string): Filled {
  return begun.get(approvalId) ?? {};
}

/** Null: the form is decided. */
export function keepFilled(approvalId: string, values: Filled | null): void {
  begun.delete(approvalId);
  if (values === null) return;
  begun.set(approvalId, values);
  for (const oldest of [...begun.keys()].slice(0, -MOST_BEGUN)) begun.delete(oldest);
}

/** The fields of one question; null where it needs a value that no field gives. */
export function fieldsOf(schema: Members, order: readonly string[] = []): Field[] | null {
  const required = listOf(schema["required"]);
  const place = ([name]: [string, unknown]) => (order.includes(name) ? order.indexOf(name) : order.length);
  const properties = Object.entries(membersOf(schema["properties"])).sort((one, other) => place(one) - place(other));
  const fields = properties.map(([name, property]) =>
    fieldOf(name, membersOf(property), required.includes(name)),
  );
  const known = fields.filter((field) => field !== null);
  const lacks = required.some((name) => !known.some((field) => field.name === name));
  return lacks ? null : known;
}

function fieldOf(name: string, property: Members, required: boolean): Field | null {
  const label = visibly(textOf(property["title"]) ?? name);
  const about = visibly(textOf(property["description"]) ?? "");
  const field = { name, label, about, required, options: [], bounds: {}, initial: textOf(property["default"]) ?? "" };
  const options = optionsOf(property);
  switch (property["type"]) {
    case "string":
      if (options.length > 0) return { ...field, kind: "choice", options };
      return { ...field, kind: "text", bounds: { type: INPUTS[String(property["format"])] ?? "text", ...given(property, { maxLength: "maxLength", minLength: "minLength" }) } };
    case "number":
    case "integer": {
      const step = property["type"] === "integer" ? 1 : "any";
      const initial = typeof property["default"] === "number" ? String(property["default"]) : "";
      return { ...field, kind: "number", initial, bounds: { step, ...given(property, { minimum: "min", maximum: "max" }) } };
    }
    case "boolean":
      return { ...field, kind: "flag", initial: property["default"] === true };
    case "array": {
      const options = optionsOf(membersOf(property["items"]));
      return options.length > 0 ? { ...field, kind: "choices", options, initial: listOf(property["default"]) } : null;
    }
    default:
      return null;
  }
}

/** The kinds of inputs for formats of texts. A date with a time has none: the protocol wants a time zone. */
const INPUTS: Record<string, string> = { email: "email", uri: "url", date: "date" };

function optionsOf(schema: Members): Field["options"] {
  const named = [schema["oneOf"], schema["anyOf"]].find(Array.isArray) as unknown[] | undefined;
  if (named) {
    const option = (each: unknown) => ({ value: textOf(membersOf(each)["const"]), label: textOf(membersOf(each)["title"]) });
    return named.map(option).flatMap(({ value, label }) => (value === null ? [] : [{ value, label: visibly(label ?? value) }]));
  }
  return listOf(schema["enum"]).map((value) => ({ value, label: visibly(value) }));
}

/** The answer of a question, from what stands in its fields. An optional field without a value is left out. */
export function answerOf(fields: readonly Field[], values: Readonly<Record<string, Field["initial"]>>): Members {
  const filled = fields.flatMap(({ name, kind, required, initial }): [string, unknown][] => {
    const value = values[name] ?? initial;
    if (kind === "number") return value === "" ? [] : [[name, Number(value)]];
    if (kind === "flag" || kind === "choices") return [[name, value]];
    return value === "" && !required ? [] : [[name, value]];
  });
  return Object.fromEntries(filled);
}

/** The fields of each question; null where a person cannot answer all of them. */
export function questionsOf(form: Form): { id: string; message: string; fields: Field[] }[] | null {
  const questions = form.questions.flatMap(({ id, message, schema, order }) => {
    const fields = fieldsOf(schema, order);
    return fields === null ? [] : [{ id, message: visibly(message), fields }];
  });
  return questions.length === form.questions.length ? questions : null;
}

function membersOf(value: unknown): Members {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Members) : {};
}

function listOf(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((each) => typeof each === "string") : [];
}

function textOf(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}

/** The numbers of a schema as attributes of an input. */
function given(schema: Members, names: Record<string, string>): Record<string, number> {
  const numbers = Object.entries(names).map(([from, to]) => [to, schema[from]] as const);
  return Object.fromEntries(numbers.filter((entry): entry is [string, number] => typeof entry[1] === "number"));
}

// Issue 22: the forms of servers, as fields and as answers.

import { describe, expect, it } from "vitest";
import { answerOf, fieldsOf, filledIn, keepFilled, MOST_BEGUN, questionsOf } from "./form";

const schema = {
  type: "object",
  required: ["name", "size"],
  properties: {
    name: { type: "string", title: "Your name", description: "As it is spelt", minLength: 1, maxLength: 20, default: "Ada" },
    mail: { type: "string", format: "email" },
    size: { type: "string", oneOf: [{ const: "s", title: "Small" }, { const: "l" }] },
    colour: { type: "string", enum: ["red", "blue"] },
    count: { type: "integer", minimum: 1, maximum: 9, default: 2 },
    weight: { type: "number" },
    gift: { type: "boolean", default: true },
    extras: { type: "array", items: { anyOf: [{ const: "card", title: "A card" }] } },
  },
};

describe("a form", () => {
  it("is a field for each member that a person can fill in", () => {
    const fields = fieldsOf(schema)!;
    expect(fields.map(({ name, kind, required, initial, bounds }) => [name, kind, required, initial, bounds])).toEqual([
      ["name", "text", true, "Ada", { type: "text", maxLength: 20, minLength: 1 }],
      ["mail", "text", false, "", { type: "email" }],
      ["size", "choice", true, "", {}],
      ["colour", "choice", false, "", {}],
      ["count", "number", false, "2", { step: 1, min: 1, max: 9 }],
      ["weight", "number", false, "", { step: "any" }],
      ["gift", "flag", false, true, {}],
      ["extras", "choices", false, [], {}],
    ]);
    expect(fields.map(({ options }) => options.map(({ value, label }) => `${value} ${label}`))).toEqual([
      [], [], ["s Small", "l l"], ["red red", "blue blue"], [], [], [], ["card A card"],
    ]);
    expect([fields[0]!.label, fields[0]!.about, fields[1]!.label]).toEqual(["Your name", "As it is spelt", "mail"]);
  });

  it("has its fields in the order that the server gave", () => {
    const fields = fieldsOf(schema, ["size", "name", "gone"])!;
    expect(fields.map(({ name }) => name)).toEqual(["size", "name", "mail", "colour", "count", "weight", "gift", "extras"]);
  });

  it("leaves optional fields without a value out of the answer", () => {
    const fields = fieldsOf(schema)!;
    expect(answerOf(fields, { size: "s" })).toEqual({ name: "Ada", size: "s", count: 2, gift: true, extras: [] });
    expect(answerOf(fields, { name: "", size: "l", count: "", weight: "1.5", gift: false, extras: ["card"], mail: "a@b.example" })).toEqual(
      { name: "", mail: "a@b.example", size: "l", weight: 1.5, gift: false, extras: ["card"] },
    );
  });

  it("shows marks that would reverse letters", () => {
    const [field] = fieldsOf({ properties: { a: { type: "string", title: "x\u202Ey" } } })!;
    expect(field!.label).toBe("x\\u{202e}y");
  });

  it("that needs what no field gives cannot be filled in", () => {
    const odd = { type: "object", properties: { a: { type: "object" } } };
    expect(fieldsOf(odd)).toEqual([]);
    expect(fieldsOf({ ...odd, required: ["a"] })).toBeNull();
    expect(fieldsOf({ properties: { a: { type: "array", items: { type: "string" } } }, required: ["a"] })).toBeNull();
    const form = (needed: string[]) => ({ server: "s", questions: [{ id: "q", message: "?", schema, order: [] }, { id: "r", message: "?", schema: { ...odd, required: needed }, order: [] }] });
    expect(questionsOf(form([]))?.map(({ id, fields }) => [id, fields.length])).toEqual([["q", 8], ["r", 0]]);
    expect(questionsOf(form(["a"]))).toBeNull();
    for (const broken of [{}, { properties: 7 }, { properties: { a: 7 }, required: "a" }]) expect(fieldsOf(broken)).toEqual([]);
  });
});

it("keeps what stands in a form until it is decided, for the latest forms", () => {
  const values = (name: string) => ({ box: { name } });
  expect(filledIn("0")).toEqual({});
  for (let id = 0; id < MOST_BEGUN; id++) keepFilled(`${id}`, values(`of ${id}`));
  keepFilled("0", values("Ada"));
  expect([filledIn("0"), filledIn("1")]).toEqual([values("Ada"), values("of 1")]);
  keepFilled("more", values("Eve"));
  expect([filledIn("0"), filledIn("1"), filledIn("2")]).toEqual([values("Ada"), {}, values("of 2")]);
  keepFilled("0", null);
  expect(filledIn("0")).toEqual({});
});

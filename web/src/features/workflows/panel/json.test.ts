// Issue 21: the errors of a definition stand where they are.

import { describe, expect, it } from "vitest";
import { lineAt, placeOf, readJson } from "./json";

const TEXT = `{
  "name": "Réport 🌳",
  "steps": [
    { "id": "a", "title": "A" },
    { "id": "a", "tools": ["x", "y"] }
  ]
}`;

function placesIn(text: string) {
  const read = readJson(text);
  if ("mistake" in read) throw new Error(read.mistake);
  return read.places;
}

/** A mistake with its line, its column and the letters there. */
function mistakeIn(text: string): string {
  const read = readJson(text);
  if (!("mistake" in read)) return "none";
  const { line, column } = lineAt(text, read.at.from);
  return `${read.mistake} ${line}:${column} ${text.slice(read.at.from, read.at.to)}`.trim();
}

describe("the place of a member", () => {
  it("is that of its value, by the path that the service names", () => {
    const places = placesIn(TEXT);
    const at = (path: string) => {
      const { from, to } = placeOf(places, path);
      const { line, column } = lineAt(TEXT, from);
      return `${line}:${column} ${TEXT.slice(from, to)}`;
    };
    expect(at("steps[1].id")).toBe('5:13 "a"');
    expect(at("steps[1].tools[1]")).toBe('5:33 "y"');
    expect(at("name")).toBe('2:11 "Réport 🌳"');
    // A member that is missing: the beginning of the object that lacks it.
    expect(at("steps[1].title")).toBe("5:5 {");
    expect(at("steps[0].verifier.threshold")).toBe("4:5 {");
    expect(at("goal")).toBe("1:1 {");
    expect(at("steps[7].id")).toBe("3:12 [");
    expect(at("?.[x]..[")).toBe("1:1 {");
    expect(placeOf(new Map(), "steps[0]")).toEqual({ from: 0, to: 0 });
  });

  it("counts characters, not their halves", () => {
    expect(lineAt('"🌳🌳" x', 6)).toEqual({ line: 1, column: 5 });
    expect(lineAt("", 0)).toEqual({ line: 1, column: 1 });
  });
});

describe("a text of JSON", () => {
  it("is read as the browser reads it", () => {
    const texts = [TEXT, "[]", "{}", " [ 1 , -2.5e+3 ] ", '"\\u00e9\\n\\"\\/"', "null", '{"__proto__": {"a": true}, "": [false]}', "0", "[[[]]]"];
    for (const text of texts) {
      const read = readJson(text);
      expect("value" in read && JSON.stringify(read.value), text).toBe(JSON.stringify(JSON.parse(text)));
    }
  });

  it("is refused where the browser refuses it", () => {
    const wrong = ["", " ", "{", "[1", '{"a" 1}', '{"a": 1,}', "[1,]", "[,]", "{1: 2}", "[1 2]", "01", "1.", "-", "+1", ".5", "tru", "'a'", '"a', '"\\x"', '"\\u12"', "1 1", '{"a"}', "]", '"a\tb"', '"a\nb"', "NaN", "{}}", '["a" "b"]'];
    for (const text of wrong) {
      expect(() => JSON.parse(text), text).toThrow();
      expect(mistakeIn(text), text).not.toBe("none");
    }
  });

  it("tells the first mistake at its place", () => {
    expect(mistakeIn("")).toBe("unfinished 1:1");
    expect(mistakeIn('{\n  "name": "x"\n')).toBe("unfinished 3:1");
    expect(mistakeIn('{\n  "name": "x"\n  "goal": 1\n}')).toBe('comma 3:3 "');
    expect(mistakeIn('{"a": 1,\n}')).toBe("trailing 1:8 ,");
    expect(mistakeIn('{"a" 1}')).toBe("colon 1:6 1");
    expect(mistakeIn("{a: 1}")).toBe("member 1:2 a");
    expect(mistakeIn('{"a": yes}')).toBe("value 1:7 yes");
    expect(mistakeIn("[007]")).toBe("number 1:2 007");
    expect(mistakeIn('["a\n"]')).toBe('quote 1:2 "a');
    expect(mistakeIn('["\\q"]')).toBe("escape 1:3 \\q");
    expect(mistakeIn('["\t"]')).toBe("control 1:3");
    expect(mistakeIn("{} x")).toBe("after 1:4 x");
    // The service refuses it, and the browser would drop the first one silently.
    expect(mistakeIn('{"a": 1, "a": 2}')).toBe('twice 1:10 "a"');
  });

  it("has 64 brackets within each other at most, as in the service", () => {
    const nested = (depth: number) => "[".repeat(depth) + "]".repeat(depth);
    expect(mistakeIn(nested(64))).toBe("none");
    expect(mistakeIn(nested(65))).toBe("deep 1:65 [");
    expect(mistakeIn("[".repeat(100_000))).toBe("deep 1:65 [");
  });
});

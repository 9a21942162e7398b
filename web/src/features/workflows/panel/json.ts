// JSON as a person writes it: its value with the place of each part, or the place of the first mistake. The browser's own
// parser tells neither.

/** A part of a text, from one offset to another. */
export interface Place {
  from: number;
  to: number;
}

/** The first mistake. `unfinished`: the text ends too early. */
export type Mistake =
  | "unfinished"
  | "value"
  | "comma"
  | "colon"
  | "member"
  | "trailing"
  | "quote"
  | "escape"
  | "control"
  | "number"
  | "after"
  | "twice"
  | "deep";

export type Read = { value: unknown; places: ReadonlyMap<string, Place> } | { mistake: Mistake; at: Place };

/** The service's limit (`MAX_JSON_DEPTH` in `durable/wire`), in brackets within each other. */
const MAX_DEPTH = 64;

/** Thrown and caught here alone. */
class Wrong {
  constructor(readonly mistake: Mistake, readonly at: Place) {}
}

/** `places`: by path, as the service names members: `steps[1].id`. The whole has the empty path. */
export function readJson(text: string): Read {
  const reader = new Reader(text);
  try {
    return { value: reader.whole(), places: reader.places };
  } catch (error) {
    if (error instanceof Wrong) return { mistake: error.mistake, at: error.at };
    throw error;
  }
}

class Reader {
  readonly places = new Map<string, Place>();
  #at = 0;

  constructor(private readonly text: string) {}

  whole(): unknown {
    const value = this.#value("", 0);
    this.#space();
    if (this.#at < this.text.length) this.#fail("after");
    return value;
  }

  #value(path: string, depth: number): unknown {
    this.#space();
    const from = this.#at;
    if (depth >= MAX_DEPTH && "{[".includes(this.text[from] ?? " ")) this.#fail("deep");
    const value = this.#one(path, depth);
    this.places.set(path, { from, to: this.#at });
    return value;
  }

  #one(path: string, depth: number): unknown {
    switch (this.text[this.#at]) {
      case "{":
        return this.#object(path, depth);
      case "[":
        return this.#array(path, depth);
      case '"':
        return this.#string();
      case undefined:
        return this.#fail("unfinished");
      default:
        return this.#word();
    }
  }

  #object(path: string, depth: number): Record<string, unknown> {
    const members = new Map<string, unknown>();
    this.#items("}", () => {
      if (this.text[this.#at] !== '"') this.#fail("member");
      const from = this.#at;
      const name = this.#string();
      if (members.has(name)) throw new Wrong("twice", { from, to: this.#at });
      this.#space();
      if (this.text[this.#at] !== ":") this.#fail("colon");
      this.#at += 1;
      members.set(name, this.#value(path === "" ? name : `${path}.${name}`, depth + 1));
    });
    return Object.fromEntries(members);
  }

  #array(path: string, depth: number): unknown[] {
    const items: unknown[] = [];
    this.#items("]", () => items.push(this.#value(`${path}[${items.length}]`, depth + 1)));
    return items;
  }

  /** The items between brackets, with commas between them. */
  #items(end: string, item: () => void): void {
    this.#at += 1;
    this.#space();
    if (this.#takes(end)) return;
    for (;;) {
      item();
      this.#space();
      if (this.#takes(end)) return;
      const comma = this.#at;
      if (!this.#takes(",")) this.#fail("comma");
      this.#space();
      if (this.text[this.#at] === end) throw new Wrong("trailing", { from: comma, to: comma + 1 });
    }
  }

  #takes(letter: string): boolean {
    const is = this.text[this.#at] === letter;
    if (is) this.#at += 1;
    return is;
  }

  #string(): string {
    const from = this.#at;
    this.#at += 1;
    for (;;) {
      const letter = this.text[this.#at];
      if (letter === undefined) throw new Wrong("quote", { from, to: this.#at });
      // JSON has no line breaks within a text: its end is missing.
      if (letter === "\n") throw new Wrong("quote", { from, to: this.#at });
      if (letter < " ") this.#fail("control");
      if (letter === "\\") this.#escape();
      else this.#at += 1;
      if (letter === '"') return JSON.parse(this.text.slice(from, this.#at)) as string;
    }
  }

  #escape(): void {
    const escape = /\\(?:["\\/bfnrt]|u[\da-fA-F]{4})/y;
    escape.lastIndex = this.#at;
    const found = escape.exec(this.text);
    if (!found) throw new Wrong("escape", { from: this.#at, to: Math.min(this.#at + 2, this.text.length) });
    this.#at += found[0].length;
  }

  /** A number, or one of the words of JSON. */
  #word(): unknown {
    const from = this.#at;
    const word = /[^\s,:[\]{}"]+/y;
    word.lastIndex = from;
    const [written = ""] = word.exec(this.text) ?? [];
    const at = { from, to: from + Math.max(written.length, 1) };
    if (["true", "false", "null"].includes(written)) this.#at = at.to;
    else if (/^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/.test(written)) this.#at = at.to;
    else throw new Wrong(/^[-+.\d]/.test(written) ? "number" : "value", at);
    return JSON.parse(written) as unknown;
  }

  #space(): void {
    while (" \t\n\r".includes(this.text[this.#at] ?? "x")) this.#at += 1;
  }

  #fail(mistake: Mistake): never {
    const isOver = this.#at >= this.text.length;
    throw new Wrong(isOver && mistake !== "deep" ? "unfinished" : mistake, { from: this.#at, to: isOver ? this.#at : this.#at + 1 });
  }
}

/** The place of a member, or the beginning of the innermost one around it that is there. */
export function placeOf(places: ReadonlyMap<string, Place>, path: string): Place {
  const exact = places.get(path);
  if (exact) return exact;
  for (let around = path; around !== ""; ) {
    around = around.replace(/(?:^|\.)[^.[\]]*$|\[\d*\]$|.$/s, "");
    const { from } = places.get(around) ?? {};
    if (from !== undefined) return { from, to: from + 1 };
  }
  return { from: 0, to: 0 };
}

/** The line and the column of an offset, from 1 on. */
export function lineAt(text: string, offset: number): { line: number; column: number } {
  const before = text.slice(0, offset).split("\n");
  return { line: before.length, column: [...(before.at(-1) ?? "")].length + 1 };
}

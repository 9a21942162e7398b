// Formulas within a paragraph: `$…$`, `$$…$$`, `\(…\)`, `\[…\]`, as an extension of the Markdown parser. So code stays
// code, and a formula's `_`, `*` and `\` are not read as Markdown.
//
// As on GitHub, a single dollar begins a formula only before a letter or mark, and ends it only behind one, neither touches
// a word, and there is none between them: "$5 and $10" has no formula.

import type { CompileContext, Extension as FromMarkdown } from "mdast-util-from-markdown";
import type { Code, Construct, Extension, State, TokenizeContext, Tokenizer } from "micromark-util-types";
import { MAX_FORMULA_CHARS } from "./blocks";

declare module "micromark-util-types" {
  interface TokenTypeMap {
    formula: "formula";
    formulaMark: "formulaMark";
    formulaData: "formulaData";
  }
}

/** The name of the element that stands for a formula until React draws it. */
export const FORMULA_ELEMENT = "tex-formula";

const DOLLAR = 36;
const PAREN = 40;
const BRACKET = 91;
const BACKSLASH = 92;
const ENDS: Readonly<Record<number, number>> = { [PAREN]: 41, [BRACKET]: 93 };

/** A paragraph full of dollars without a formula costs at most this many characters of looking for an end. */
const SEARCH_CHARS = 20_000;
const searched = new WeakMap<TokenizeContext, number>();

function isLineEnding(code: Code): boolean {
  return code !== null && code < -2;
}

function isSpace(code: Code): boolean {
  return code === null || code < 0 || code === 32;
}

function isWord(code: Code): boolean {
  return code !== null && code >= 0 && /[\p{L}\p{N}]/u.test(String.fromCharCode(code));
}

/** An amount and words: "$5 and 10$". */
function isProse(text: string): boolean {
  return /^\d/.test(text) && /\s\p{L}{2,}/u.test(text) && !/[\\^_=]/.test(text);
}

// Long: the states of one machine, in the order of a formula's parts.
const tokenize: Tokenizer = function (this: TokenizeContext, effects, ok, nok) {
  const context = this;
  /** The mark that ends it: one or two dollars, or a backslash and this letter. */
  let dollars = 0;
  let letter = 0;
  let last: Code = null;
  let text = "";
  let escaped = false;

  const fail = (code: Code) => {
    searched.set(context, (searched.get(context) ?? 0) + text.length);
    return nok(code);
  };

  const closing: Construct = {
    partial: true,
    tokenize(effects, ok, nok) {
      const end: State = (code) => {
        effects.exit("formulaMark");
        return dollars === 1 && (code === DOLLAR || isWord(code)) ? nok(code) : ok(code);
      };
      const second: State = (code) => {
        if (code !== (letter || DOLLAR)) return nok(code);
        effects.consume(code);
        return end;
      };
      return (code) => {
        effects.enter("formulaMark");
        effects.consume(code);
        return dollars === 1 ? end : second;
      };
    },
  };

  const done: State = (code) => {
    if (text.trim() === "" || (dollars === 1 && isProse(text))) return nok(code);
    effects.exit("formula");
    return ok(code);
  };

  const between: State = (code) => {
    if (code === null || text.length > MAX_FORMULA_CHARS) return fail(code);
    if (isLineEnding(code)) {
      effects.enter("lineEnding");
      effects.consume(code);
      effects.exit("lineEnding");
      text += "\n";
      last = code;
      return between;
    }
    if (escaped || code !== (letter ? BACKSLASH : DOLLAR)) return beginData(code);
    // A single dollar that does not end the formula begins another one, or a price.
    if (dollars === 1 && isSpace(last)) return fail(code);
    return effects.attempt(closing, done, dollars === 1 ? fail : beginData)(code);
  };

  const beginData: State = (code) => {
    effects.enter("formulaData");
    return take(code);
  };

  const take = (code: Code): State => {
    effects.consume(code);
    if (code !== null && code >= 0) text += String.fromCharCode(code);
    else text += " ";
    escaped = !escaped && code === BACKSLASH && !letter;
    last = code;
    return data;
  };

  const data: State = (code) => {
    const stops = code === null || isLineEnding(code) || code === DOLLAR || code === BACKSLASH || text.length > MAX_FORMULA_CHARS;
    if (!stops) return take(code);
    effects.exit("formulaData");
    return between(code);
  };

  const begin: State = (code) => {
    effects.exit("formulaMark");
    return dollars === 1 && isSpace(code) ? nok(code) : between(code);
  };

  const third: State = (code) => (code === DOLLAR ? nok(code) : begin(code));

  const second: State = (code) => {
    if (dollars === 0) {
      letter = ENDS[code ?? 0] ?? 0;
      if (letter === 0) return nok(code);
    } else if (code !== DOLLAR) return begin(code);
    else dollars = 2;
    effects.consume(code);
    return dollars === 2 ? third : begin;
  };

  return (code) => {
    if ((searched.get(context) ?? 0) > SEARCH_CHARS) return nok(code);
    dollars = code === DOLLAR ? 1 : 0;
    effects.enter("formula");
    effects.enter("formulaMark");
    effects.consume(code);
    return second;
  };
};

const dollar: Construct = { name: "formula", tokenize, previous: (code) => code !== DOLLAR && !isWord(code) };
const backslash: Construct = { name: "formula", tokenize };

const syntax: Extension = { text: { [DOLLAR]: dollar, [BACKSLASH]: backslash } };

const tree: FromMarkdown = {
  enter: {
    formula(this: CompileContext, token) {
      this.enter({ type: "formula", value: "" } as never, token);
      this.buffer();
    },
  },
  exit: {
    formula(this: CompileContext, token) {
      const value = this.resume();
      const source = this.sliceSerialize(token);
      const display = source.startsWith("$$") || source.startsWith("\\[");
      const node = this.stack.at(-1) as unknown as { value: string; data: object };
      node.value = value;
      node.data = {
        hName: FORMULA_ELEMENT,
        hProperties: { dataDisplay: String(display) },
        hChildren: [{ type: "text", value: source }],
      };
      this.exit(token);
    },
    formulaData(this: CompileContext, token) {
      this.config.enter["data"]?.call(this, token);
      this.config.exit["data"]?.call(this, token);
    },
  },
};

interface Processor {
  data(): { micromarkExtensions?: unknown[]; fromMarkdownExtensions?: unknown[] };
}

/** The extension, for `react-markdown`. */
export function remarkFormulas(this: unknown): void {
  const data = (this as Processor).data();
  (data.micromarkExtensions ??= []).push(syntax);
  (data.fromMarkdownExtensions ??= []).push(tree);
}

/** The TeX within a formula's marks. */
export function texOf(source: string): string {
  const marks = source.startsWith("$") && !source.startsWith("$$") ? 1 : 2;
  return source.slice(marks, -marks).trim();
}

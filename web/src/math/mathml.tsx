// TeX → MathML, in a chunk of its own (Formula.tsx). The library makes a tree; React draws it, so there is no HTML in
// between. Only elements and attributes that say how a formula looks are drawn: a formula loads nothing, links to
// nothing, and has no name in the document.

import { createElement, Fragment, type CSSProperties, type ReactNode } from "react";
import temml from "temml";
import "./math.css";

/** Macros may define macros: this many expansions at most. Real formulas need few. */
const MAX_EXPANSIONS = 200;
/** The largest length of a formula's own, in em and points: a rule must not cover the page. */
const MAX_LENGTH: [number, number] = [25, 250];
/** The deepest nesting. React draws each level by a call. */
const MAX_DEPTH = 100;

const ELEMENTS: ReadonlySet<string> = new Set([
  "math", "menclose", "mfrac", "mi", "mmultiscripts", "mn", "mo", "mover", "mpadded", "mphantom", "mprescripts", "mroot", "mrow",
  "mspace", "msqrt", "mstyle", "msub", "msubsup", "msup", "mtable", "mtd", "mtext", "mtr", "munder", "munderover", "none",
]);
const ATTRIBUTES: ReadonlySet<string> = new Set([
  "accent", "accentunder", "columnalign", "columnlines", "columnspacing", "depth", "display", "displaystyle", "fence", "form",
  "height", "largeop", "linethickness", "lspace", "mathbackground", "mathcolor", "mathsize", "mathvariant", "maxsize", "minsize",
  "movablelimits", "notation", "rowlines", "rowspacing", "rspace", "scriptlevel", "separator", "stretchy", "symmetric", "voffset",
  "width",
]);
const STYLES: ReadonlySet<string> = new Set([
  "border", "borderBottom", "borderLeft", "borderRight", "borderTop", "color", "display", "fontFamily", "fontSize", "fontStyle",
  "fontWeight", "justifyContent", "mathDepth", "mathShift", "padding", "paddingBottom", "paddingLeft", "paddingRight", "paddingTop",
  "textAlign", "width",
]);
const CLASS = /^[a-z][\w-]{0,40}$/i;

interface Node {
  type?: string;
  text?: string;
  attributes?: Record<string, unknown>;
  style?: Record<string, unknown>;
  classes?: string[];
  children?: Node[];
}

/** The formula; null if it is not valid TeX, or has something that the page does not draw. */
export function mathml(tex: string, display: boolean): ReactNode | null {
  try {
    const tree = temml.__renderToMathMLTree(tex, {
      displayMode: display,
      throwOnError: true,
      trust: false,
      maxSize: MAX_LENGTH,
      maxExpand: MAX_EXPANSIONS,
    }) as Node;
    return drawn(tree, 0);
  } catch {
    // The reader sees the source.
    return null;
  }
}

class NotDrawnError extends Error {}

/** React's elements for the library's; throws where one is not on the list. */
export function drawn(node: Node, depth: number, key?: number): ReactNode {
  if (depth > MAX_DEPTH) throw new NotDrawnError("too deep");
  if (typeof node.text === "string") return node.text;
  const children = (node.children ?? []).map((child, index) => drawn(child, depth + 1, index));
  // A fragment: its children stand in its place.
  if (node.type === undefined && node.attributes === undefined) return createElement(Fragment, { key }, ...children);
  // A number that a style counts. There is no such style here.
  if (node.type === undefined) return null;
  if (!ELEMENTS.has(node.type)) throw new NotDrawnError(node.type);
  return createElement(node.type, { key, ...propertiesOf(node) }, ...children);
}

function propertiesOf({ attributes = {}, style = {}, classes = [] }: Node): Record<string, unknown> {
  const properties: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(attributes)) if (ATTRIBUTES.has(name)) properties[name] = String(value);
  const styles = Object.entries({ ...written(attributes["style"]), ...style }).filter(([name]) => STYLES.has(name));
  // Through CSSOM, which a strict style-src allows.
  if (styles.length > 0) properties["style"] = Object.fromEntries(styles) as CSSProperties;
  const named = classes.filter((name) => CLASS.test(name));
  if (named.length > 0) properties["className"] = named.join(" ");
  return properties;
}

/** A style that is written as text: `math-style: normal; …`. */
function written(style: unknown): Record<string, string> {
  if (typeof style !== "string") return {};
  const rules = style.split(";").map((rule) => rule.split(":").map((part) => part.trim()));
  return Object.fromEntries(
    rules.flatMap(([name, value]) => (name && value ? [[name.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase()), value]] : [])),
  );
}

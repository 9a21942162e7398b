// The walls between the core and the features, and the sizes of files and functions.

import { parseAst } from "vite";
import { expect, it } from "vitest";

const sources: Record<string, string> = import.meta.glob(["./**/*.{ts,tsx}"], { query: "?raw", import: "default", eager: true });
const styles: Record<string, string> = import.meta.glob(["./**/*.css"], { query: "?raw", import: "default", eager: true });
const suites: Record<string, string> = import.meta.glob(["../../tests/browser/**/*.mjs"], { query: "?raw", import: "default", eager: true });
const GENERATED = "./wire.generated.ts";

/** May name features: the composition. */
const COMPOSITION = "./features/index.ts";
/** May import the composition: the page in a browser, and its first screen when the page is built. */
const ENTRIES = ["./main.tsx", "./prerender.tsx"];
const MAX_FILE_LINES = 400;
const MAX_FUNCTION_LINES = 60;
/** A comment above a long function that gives the reason for its length. */
const REASON = /\/\/ Long: .+|\* Long: .+/;

/** The modules of this page that a module imports, by their paths without an ending. */
function importsOf(path: string, code: string): string[] {
  const found = code.matchAll(/\b(?:from|import)\s*\(?\s*"(\.[^"]*)"/g);
  return [...found].map(([, to = ""]) => new URL(to, `file:///${path}`).pathname.replace(/^\/|\/$/g, ""));
}

function featureOf(path: string): string | null {
  return /^(?:\.\/)?features\/([^/.]+)(?:\/|$)/.exec(path)?.[1] ?? null;
}

/** The imports that pass a wall. */
function breaches(modules: Record<string, string>): string[] {
  return Object.entries(modules).flatMap(([path, code]) =>
    importsOf(path, code)
      .filter((to) => {
        const own = featureOf(path);
        const other = to === "features/index" ? null : featureOf(to);
        const composes = to === "features" || to === "features/index";
        if (composes) return !ENTRIES.includes(path);
        return other !== null && other !== own && path !== COMPOSITION;
      })
      .map((to) => `${path} imports ${to}`),
  );
}

interface Node {
  type: string;
  start: number;
  end: number;
}

/** The functions that are too long and give no reason. */
function longFunctions(path: string, code: string): string[] {
  const lineAt = (offset: number) => code.slice(0, offset).split("\n").length;
  const long: string[] = [];
  const visit = (node: Node, outer: Node) => {
    // Counting takes time, so only the lines of functions are counted.
    const lines = /Function/.test(node.type) ? code.slice(node.start, node.end).split("\n").length : 0;
    if (lines > MAX_FUNCTION_LINES) {
      // The comment stands above the statement that has the function.
      const above = code.slice(0, outer.start).trimEnd().split("\n").slice(-4).join("\n");
      if (!REASON.test(above)) long.push(`${path}:${lineAt(node.start)} has ${lines} lines`);
    }
    for (const child of Object.values(node)) {
      for (const each of Array.isArray(child) ? child : [child]) {
        if (typeof each?.type === "string") visit(each, /Statement|Declaration|Definition/.test(each.type) ? each : outer);
      }
    }
  };
  const lang = path.endsWith(".tsx") ? "tsx" : path.endsWith(".ts") ? "ts" : "js";
  const program = parseAst(code, { lang }) as unknown as Node;
  visit(program, program);
  return long;
}

it("lets only the composition name features, and no feature another", () => {
  expect(Object.keys(sources)).toContain(COMPOSITION);
  expect(breaches(sources)).toEqual([]);
});

it("finds an import that passes a wall, in every form", () => {
  const breach = (path: string, code: string) => breaches({ [path]: code }).length;
  expect(breach("./state/page.ts", 'import { workspace } from "../features/files/workspace";')).toBe(1);
  expect(breach("./state/page.ts", 'import { files } from "../features/files";')).toBe(1);
  expect(breach("./App.tsx", 'import type { Plan } from "./features/plans/plan";')).toBe(1);
  expect(breach("./App.tsx", 'import "./features";')).toBe(1);
  expect(breach("./state/parts.ts", 'part(() => import("../features/files/FilesPanel"))')).toBe(1);
  expect(breach("./features/files/api.ts", 'import { part } from "../plans/plan";')).toBe(1);
  expect(breach("./features/files/api.ts", 'import { compose } from "..";')).toBe(1);
  expect(breach("./features/files/api.ts", 'import { request } from "../../api/http";\nimport { a } from "./workspace";')).toBe(0);
  expect(breach("./features/index.ts", 'import { files } from "./files";')).toBe(0);
  expect(breach("./main.tsx", 'import "./features";')).toBe(0);
  expect(breach("./main.tsx", 'import "./features/files";')).toBe(1);
});

it(`has no file above ${MAX_FILE_LINES} lines`, () => {
  const files = Object.entries({ ...sources, ...styles, ...suites }).filter(([path]) => path !== GENERATED);
  expect(files.some(([path]) => path.endsWith("harness.mjs"))).toBe(true);
  const long = files.filter(([, code]) => code.trimEnd().split("\n").length > MAX_FILE_LINES);
  expect(long.map(([path]) => path)).toEqual([]);
});

it(`has no function above ${MAX_FUNCTION_LINES} lines without a reason`, () => {
  const code = Object.entries({ ...sources, ...suites }).filter(([path]) => path !== GENERATED);
  expect(code.flatMap(([path, text]) => longFunctions(path, text))).toEqual([]);
});

it("finds a long function, unless a comment gives the reason", () => {
  const long = `function f() {\n${"  g();\n".repeat(MAX_FUNCTION_LINES - 1)}}\n`;
  expect(longFunctions("./a.ts", long)).toEqual(["./a.ts:1 has 61 lines"]);
  expect(longFunctions("./a.ts", long.replace("  g();\n", ""))).toEqual([]);
  expect(longFunctions("./a.ts", `// Long: one table.\n${long}`)).toEqual([]);
});

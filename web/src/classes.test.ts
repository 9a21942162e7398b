// Issue 53, fault 13: each class that a component names has a rule. One without a rule looks like nobody meant it to.

import { expect, it } from "vitest";

const components: Record<string, string> = import.meta.glob(["./**/*.tsx", "!./**/*.test.tsx"], { query: "?raw", import: "default", eager: true });
const styles: Record<string, string> = import.meta.glob(["./**/*.css"], { query: "?raw", import: "default", eager: true });

/** The classes in the values of `className`, also within conditions. */
function classesIn(code: string): string[] {
  const values = code.matchAll(/className(?:=|: | = )("[^"]*"|\{[^}]*\})/g);
  return [...values].flatMap(([, value = ""]) => [...value.matchAll(/"([^"]*)"/g)].flatMap(([, words = ""]) => words.split(/\s+/).filter(Boolean)));
}

it("finds a rule for each class", () => {
  const rules = Object.values(styles).join("\n");
  const named = Object.entries(components).flatMap(([path, code]) => classesIn(code).map((name) => ({ path, name })));
  expect(named.length).toBeGreaterThan(300);
  const bare = named.filter(({ name }) => !new RegExp(`\\.${name}(?![\\w-])`).test(rules));
  expect(bare.map(({ path, name }) => `${path}: ${name}`)).toEqual([]);
});

it("finds the classes of an element in every form", () => {
  expect(classesIn('<p className="a b" /><p className={open ? "c" : undefined} /> function f({ className = "d e" }) {}')).toEqual(["a", "b", "c", "d", "e"]);
});

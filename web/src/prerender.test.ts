// The first screen in index.html. The policy (public/_headers) forbids inline code and styles.

import { expect, it } from "vitest";
import { firstScreen } from "./prerender";

it("shows the composer and the examples, with nothing inline", () => {
  const html = firstScreen();
  for (const part of ['data-testid="composer"', "What can I help you with?", 'data-testid="thread-list"']) {
    expect(html).toContain(part);
  }
  expect(html).not.toMatch(/<script|<style|\s(style|on\w+)=/);
});

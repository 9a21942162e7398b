// The first screen in index.html: the policy (public/_headers) allows nothing inline, there as elsewhere.

import { expect, it } from "vitest";
import { firstScreen } from "./prerender";

it("shows where one writes and what one may ask, with nothing inline", () => {
  const html = firstScreen();
  for (const part of ['data-testid="composer"', "What shall we work out?", 'data-testid="thread-list"']) {
    expect(html).toContain(part);
  }
  expect(html).not.toMatch(/<script|<style|\s(style|on\w+)=/);
});

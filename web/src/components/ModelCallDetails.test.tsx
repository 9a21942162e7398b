// The figures of a model call, in its lane and below the lanes.

import { renderToStaticMarkup } from "react-dom/server";
import { expect, it } from "vitest";
import type { ModelCall } from "../turn/view";
import { figuresOf, ModelCallDetails } from "./ModelCallDetails";

const CALL: ModelCall = {
  id: "m",
  parentId: null,
  model: "openai:one",
  startedMs: 100,
  firstByteMs: 450,
  durationMs: 2500,
  usage: { input_tokens: 12_345, cached_tokens: 1000, output_tokens: 67 },
  costUsd: 0.5,
  finishReason: "tool_calls",
};

const details = (call: ModelCall) => {
  const html = renderToStaticMarkup(<ModelCallDetails id="d" lane={{ kind: "model", call, from: 100, to: 2600, depth: 0 }} />);
  return [...html.matchAll(/<dt>(.*?)<\/dt><dd>(.*?)<\/dd>/g)].map(([, name, value]) => `${name}: ${value}`);
};

it("has the time to the first word, the tokens and the cost in its lane", () => {
  expect(figuresOf(CALL)).toEqual({
    shown: "450 ms · 12.3K → 67 · $0.50",
    spoken: "first word after 450 ms, 12.3K tokens in, 67 out, $0.50",
  });
});

it("has all figures below the lanes, in words", () => {
  expect(details(CALL)).toEqual([
    "Started at: 100 ms",
    "First word after: 450 ms",
    "Took: 2.5 s",
    "Tokens in: 12,345, 1,000 of them cached",
    "Tokens out: 67",
    "Cost: $0.50",
    "Ended: asked for tools",
  ]);
});

it("says which tokens the provider did not count", () => {
  const usage = { input_tokens: 1200, cached_tokens: 0, output_tokens: 67, estimated: true };
  expect(details({ ...CALL, usage }).slice(3, 5)).toEqual(["Tokens in: 1,200, estimated", "Tokens out: 67, estimated"]);
});

it("says what is not known, or not yet", () => {
  const running = { ...CALL, firstByteMs: null, durationMs: null, usage: null, costUsd: null, finishReason: null };
  expect(figuresOf(running)).toEqual({ shown: "", spoken: "still running" });
  expect(figuresOf({ ...running, durationMs: 5, finishReason: "aborted" }).spoken).toBe("stopped");
  expect(details(running).slice(1)).toEqual([
    "First word after: unknown",
    "Took: still running",
    "Tokens in: unknown",
    "Tokens out: unknown",
    "Cost: unknown",
    "Ended: still running",
  ]);
  expect(details({ ...CALL, finishReason: "provider_overloaded", costUsd: 0 }).slice(5)).toEqual(["Cost: none", "Ended: provider_overloaded"]);
});

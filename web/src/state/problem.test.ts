// The words that a person reads when an act fails, and the second attempt.

import { describe, expect, it, vi } from "vitest";
import { Refusal, Unreachable, whenReached } from "../api/http";
import { en } from "../en";
import { fakeService, finished, opened, problem } from "./conversation.fixture";
import { draftOf, NEW_CHAT, setDraft } from "./drafts";
import { problemOf } from "./problem";

const service = fakeService();

describe("a problem", () => {
  it("has words by the code of a refusal, or else the words of the service", () => {
        expect(problemOf(new Refusal(400, "invalid_request", "`content` is too long.")).words).toBe("`content` is too long.");
  });

  it("can be tried again where its cause passes by itself", () => {
    const retry = () => {};
    const offered = (error: unknown) => problemOf(error, retry).retry !== null;
    expect([new Unreachable(), new Refusal(429, "", ""), new Refusal(503, "", ""), new Refusal(409, "turn_in_progress", "")].map(offered)).toEqual([true, true, true, true]);
    expect([new Refusal(400, "", ""), new Refusal(403, "", ""), new Refusal(404, "", "")].map(offered)).toEqual([false, false, false]);
  });

  it("knows until when the service asked to wait", async () => {
    const refused = (wait: string) => Response.json({ code: "rate_limited", detail: "" }, { status: 429, headers: { "retry-after": wait } });
    for (const [wait, ms] of [["12", 12_000], ["86400", 86_400_000], ["86401", 86_400_000], ["0", null], ["soon", null]] as const) {
      service.answer = () => refused(wait);
      const { send } = opened();
      const state = await send("Hi");
      const at = state.problem?.retryAt ?? null;
      expect(at === null ? null : at - Date.now()).toBe(ms);
    }
  });
});

it("names the wait in its largest unit", () => {
  expect([1, 99, 100, 5_999, 6_000, 86_400].map(en.common.tryAgainIn)).toEqual([
    "Try again in 1 s", "Try again in 99 s", "Try again in 2 minutes", "Try again in 100 minutes", "Try again in 2 hours", "Try again in 24 hours",
  ]);
});

describe("trying again", () => {
  it("sends the message as the draft has it now", async () => {
    service.answer = () => problem(500, "internal", "Oh.");
    const { conversation, send } = opened();
    await send("Hi");
    setDraft(NEW_CHAT, "Hi there");
    service.answer = ({ body }) => finished(body["turn_id"]!);
    conversation.store.get().problem?.retry?.();
    await vi.runAllTimersAsync();
    expect(conversation.store.get()).toMatchObject({ problem: null, exchanges: [{ question: "Hi there" }] });
    expect(draftOf(NEW_CHAT).text).toBe("");
  });

  it("opens the chat that could not be loaded", async () => {
    service.answer = () => problem(503, "turn_on_hold", "Wait.");
    const { conversation } = opened();
    await conversation.open("T");
    expect(conversation.store.get().phase).toBe("failed");
    service.answer = ({ url }) =>
      url.includes("/messages") ? Response.json({ messages: [], next_cursor: null }) : Response.json({ id: "T", last_seq: 0, running_turn_id: null });
    conversation.store.get().problem?.retry?.();
    await vi.runAllTimersAsync();
    expect(conversation.store.get()).toMatchObject({ phase: "ready", problem: null });
  });
});

describe("when the service answers again", () => {
  it("a problem for want of an answer is over, and any other stays", async () => {
    const { conversation, send } = opened();
    service.answer = () => new TypeError("fetch failed");
    await send("Hi");
    expect(conversation.store.get().problem?.lost).toBe(true);
    await conversation.reached();
    expect(conversation.store.get().problem).toBeNull();
    service.answer = () => problem(400, "invalid_request", "No.");
    await send("Hi");
    await conversation.reached();
    expect(conversation.store.get().problem?.words).toBe("No.");
  });

  it("the page hears of it once", async () => {
    const heard = vi.fn();
    whenReached(heard);
    const { conversation } = opened();
    service.answer = () => new TypeError("fetch failed");
    await conversation.open("T");
    service.answer = () => problem(404, "thread_not_found", "Gone.");
    await conversation.reload();
    await conversation.reload();
    expect(heard).toHaveBeenCalledTimes(1);
  });
});

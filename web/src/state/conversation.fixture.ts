// A conversation over a service whose answers a test gives.

import { afterEach, beforeEach, vi } from "vitest";
import { Conversation } from "./conversation";
import { drafts } from "./drafts";

interface Asked {
  url: string;
  method: string;
  headers: Record<string, string>;
  body: Record<string, string>;
}

interface Service {
  /** Answers a request; an error is a lost connection. */
  answer: (request: Asked) => Response | Error;
  requests: Asked[];
}

/** Stands for the service in every test of the file that calls this. */
export function fakeService(): Service {
  const service: Service = { answer: () => new Error("no answer is given"), requests: [] };
  beforeEach(() => {
    service.requests.length = 0;
    drafts.set(Object.fromEntries(Object.keys(drafts.get()).map((chat) => [chat, ""])));
    vi.stubGlobal("fetch", async (url: string, init: RequestInit) => {
      const body = init.body ? (JSON.parse(String(init.body)) as Record<string, string>) : {};
      const headers = init.headers as Record<string, string>;
      const request = { url, method: init.method ?? "GET", headers, body };
      service.requests.push(request);
      const given = service.answer(request);
      if (given instanceof Error) throw given;
      return given;
    });
    // The pauses between attempts listen to the browser for a reason to end early.
    vi.stubGlobal("window", new EventTarget());
    vi.stubGlobal("document", new EventTarget());
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
    vi.unstubAllGlobals();
  });
  return service;
}

export const problem = (status: number, code: string, detail: string) => Response.json({ status, code, detail }, { status });

/** The stream of a turn that says "Hello" and ends. */
export function finished(turn_id: string, seq = 1): Response {
  const events = [
    { type: "session", seq, turn_id },
    { type: "chunk", seq: seq + 1, turn_id, content: "Hello", part_id: "p", model_call_id: "m" },
    { type: "done", seq: seq + 2, turn_id, message_id: "a", finish_reason: "stop" },
  ];
  return new Response(events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(""));
}

export function opened(prepare: () => Promise<unknown> = async () => {}) {
  const began: string[] = [];
  const answered: string[] = [];
  const told: string[] = [];
  const conversation = new Conversation({
    prepare,
    read: () => {},
    began: (id) => began.push(id),
    ended: () => {},
    called: () => {},
    chose: () => {},
    answered: (id) => answered.push(id),
    queued: () => {},
    told: (_, turnId, what) => told.push(`${turnId} ${what}`),
  });
  const send = async (...message: Parameters<Conversation["send"]>) => {
    const sending = conversation.send(...message);
    await vi.runAllTimersAsync();
    await sending;
    return conversation.store.get();
  };
  return { conversation, began, answered, told, send };
}

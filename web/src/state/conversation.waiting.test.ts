// A turn that waits for a person, whose stream the service has ended.

import { expect, it, vi } from "vitest";
import { fakeService, finished, opened } from "./conversation.fixture";

const service = fakeService();

const waiting = 'data: {"type":"agent_state","seq":1,"turn_id":"r","state":"waiting_on_user"}\n\n: parked\n\n';
const streams = () => service.requests.filter(({ url }) => url.endsWith("/stream")).length;
let over: boolean;

const parked = async () => {
  over = false;
  service.answer = ({ url, method }) => {
    if (method === "POST") return Response.json({ taken: true });
    if (url.includes("/messages")) return Response.json({ messages: [], next_cursor: null });
    if (!url.endsWith("/stream")) {
      return Response.json({ id: "T", last_seq: 1, running_turn_id: "r", running_turn_first_seq: 1, running_ms: 3_000 });
    }
    if (over) return finished("r", 2);
    return streams() === 1
      ? new Response(waiting)
      : new Response(null, { status: 204, headers: { "retry-after": "30" } });
  };
  const page = opened();
  const opening = page.conversation.open("T");
  await vi.advanceTimersByTimeAsync(100);
  expect(streams()).toBe(1);
  expect(page.conversation.store.get().running).toMatchObject({ turnId: "r", connection: "open" });
  const ends = async () => {
    await vi.advanceTimersByTimeAsync(100);
    await opening;
    expect(page.conversation.store.get()).toMatchObject({ running: null, exchanges: [{ answer: { finishReason: "stop" } }] });
  };
  return { ...page, ends };
};

it("is requested every 30 s, after its last event", async () => {
  const { ends } = await parked();
  await vi.advanceTimersByTimeAsync(29_800);
  expect(streams()).toBe(1);
  await vi.advanceTimersByTimeAsync(200);
  expect(streams()).toBe(2);
  over = true;
  await vi.advanceTimersByTimeAsync(30_000);
  await ends();
  expect(service.requests.findLast(({ url }) => url.endsWith("/stream"))!.headers["last-event-id"]).toBe("1");
});

it("is requested at once after the person here decided or stopped it", async () => {
  const first = await parked();
  over = true;
  await first.conversation.decide("a", "approve");
  await first.ends();
  expect(first.answered).toEqual(["T"]);
  service.requests.length = 0;
  const second = await parked();
  over = true;
  await second.conversation.stop();
  await second.ends();
});

it("is requested at once if the person decided before its stream ended", async () => {
  let end = () => {};
  const seen = await parked();
  const running = seen.conversation.store.get().running!;
  // The stream of another wait, which is still open while the person answers.
  const given = service.answer;
  service.answer = (request) =>
    request.url.endsWith("/stream") && !over
      ? new Response(new ReadableStream<Uint8Array>({
          start: (controller) => {
            end = () => {
              controller.enqueue(new TextEncoder().encode(": parked\n\n"));
              controller.close();
            };
          },
        }))
      : given(request);
  await vi.advanceTimersByTimeAsync(30_000);
  expect(running.turnId).toBe("r");
  await seen.conversation.decide("a", "approve");
  over = true;
  end();
  await seen.ends();
});

it("is requested at once after another tab decided", async () => {
  const { conversation, ends } = await parked();
  over = true;
  await conversation.refresh();
  await ends();
});

it("is not requested while the tab is hidden, and at once when it is shown", async () => {
  const { ends } = await parked();
  const page = Object.assign(document, { visibilityState: "hidden" });
  await vi.advanceTimersByTimeAsync(600_000);
  expect(streams()).toBe(1);
  over = true;
  page.visibilityState = "visible";
  document.dispatchEvent(new Event("visibilitychange"));
  await ends();
});

it("is not requested after another chat was opened", async () => {
  const { conversation } = await parked();
  await conversation.open(null);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(streams()).toBe(1);
  expect(conversation.store.get().running).toBeNull();
});

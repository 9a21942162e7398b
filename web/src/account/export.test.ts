// The download of all data, where the line breaks off within a page.

import { afterEach, expect, it, vi } from "vitest";
import { served } from "../api/served.fixture";
import { cancelDownload, download, downloadAll } from "./export";

vi.mock("../state/save", () => ({ saveBlob: () => undefined }));

afterEach(() => vi.unstubAllGlobals());

it("tells that the line broke off, and goes on at the same page", async () => {
  const cut = () => new Response(new ReadableStream({ start: (stream) => stream.error(new TypeError("network error")) }));
  const answers = [() => new Response('{"kind":"export"}\n{"kind":"page","next_cursor":"second"}\n'), cut, cut];
  const { requests } = served(() => answers.shift()!());
  await downloadAll();
  expect(download.get()).toMatchObject({ state: "failed", lines: 1, error: expect.stringContaining("cannot be reached") });
  await downloadAll();
  expect(requests).toEqual(["", "second", "second"].map((cursor) => `GET /api/me/export?cursor=${cursor}`));
  cancelDownload();
});

it("counts the chats that the service could not read", async () => {
  const lines = ['{"kind":"unreadable","thread_id":"T","cursor":"c"}', '{"kind":"memory","content":"{\\"kind\\":\\"unreadable\\"}"}'];
  served(() => new Response(`${lines.join("\n")}\n{"kind":"end","complete":true}\n`));
  await downloadAll();
  expect(download.get()).toMatchObject({ state: "done", lines: 2, unreadable: 1 });
  cancelDownload();
});

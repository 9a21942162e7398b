// Making a share link.

import { afterEach, expect, it, vi } from "vitest";
import { served } from "../../api/served.fixture";
import { making, share, shares } from "./shares";

afterEach(() => vi.unstubAllGlobals());

it("lists a link that the service may have made without an answer", async () => {
  served((line) => (line.startsWith("POST") ? Promise.reject(new TypeError("no line")) : Response.json({ shares: [{ id: "s" }] })));
  await share("T", { tools: false, reasoning: false, files: false });
  expect(making.get()).toMatchObject({ busy: false, made: null, problem: expect.stringContaining("cannot be reached") });
  await vi.waitFor(() => expect(shares.store.get().items).toEqual([{ id: "s" }]));
});

// A server for tests of the page: it answers each request, and keeps the lines and the bodies of all of them.

import { vi } from "vitest";

export type Answer = (line: string) => Response | Promise<Response>;

/** Answers the page's requests from now on. A line is the method and the address. */
export function served(answer: Answer) {
  const requests: string[] = [];
  const bodies: unknown[] = [];
  vi.stubGlobal("fetch", async (url: string, init: RequestInit) => {
    const line = `${init.method} ${url}`;
    requests.push(line);
    bodies.push(init.body && JSON.parse(init.body as string));
    return answer(line);
  });
  return { requests, bodies };
}

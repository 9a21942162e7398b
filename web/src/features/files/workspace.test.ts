// The files of a chat: an upload replaces a file only after a question, and a failed upload tells its reason.

import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { MAX_FILE_BYTES, MAX_UPLOADS, Workspace } from "./workspace";

interface Asked {
  line: string;
  headers: Record<string, string>;
  body: unknown;
}

let requests: Asked[] = [];
let answer: (asked: Asked) => Response | Error;
const entry = (path: string, version = "v1", bytes = 1) => ({ path, bytes, updated_at: 0, version });
let files = [entry("a.txt")];
const problem = (status: number, code: string, detail = "No.") => Response.json({ status, code, detail }, { status });

beforeEach(() => {
  requests = [];
  files = [entry("a.txt")];
  vi.useFakeTimers();
  vi.stubGlobal("fetch", async (url: string, init: RequestInit) => {
    const asked = { line: `${init.method} ${url}`, headers: init.headers as Record<string, string>, body: init.body };
    requests.push(asked);
    const given = answer(asked);
    if (given instanceof Error) throw given;
    return given;
  });
  answer = ({ line }) => {
    if (line === "GET /api/threads/T/files") return Response.json({ files });
    if (line.startsWith("PUT ")) return Response.json(entry(decodeURIComponent(line.split("/files/")[1] ?? ""), "v9"));
    return new Response(null, { status: 204 });
  };
});

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

async function shown() {
  const workspace = new Workspace();
  workspace.show("T");
  await vi.runAllTimersAsync();
  requests = [];
  return {
    workspace,
    paths: () => workspace.store.get().files.map(({ path }) => path),
    uploads: () => workspace.store.get().uploads.map(({ path, state, words }) => `${path} ${state} ${words}`.trim()),
    upload: async (...list: File[]) => {
      workspace.upload(list);
      await vi.runAllTimersAsync();
    },
  };
}

const file = (name: string, size = 1) => new File([new Uint8Array(size)], name, { type: "text/plain" });

it("sends files one after the other, each only if its name is free", async () => {
  const { upload, uploads, paths } = await shown();
  await upload(file("z.txt"), file("b c.txt"));
  expect(requests.map(({ line, headers }) => [line, headers["if-none-match"], headers["content-type"]])).toEqual([
    ["PUT /api/threads/T/files/z.txt", "*", "text/plain"],
    ["PUT /api/threads/T/files/b%20c.txt", "*", "text/plain"],
  ]);
  expect(requests[0]?.body).toBeInstanceOf(File);
  expect([paths(), uploads()]).toEqual([["a.txt", "b c.txt", "z.txt"], []]);
});

it("asks before it replaces a file, and then replaces the current version", async () => {
  const { workspace, upload, uploads } = await shown();
  await upload(file("a.txt"));
  expect([uploads(), requests]).toEqual([["a.txt there already exists."], []]);
  files = [entry("a.txt", "v2")];
  const [held] = workspace.store.get().uploads;
  await workspace.replace(held!);
  expect(requests.map(({ line, headers }) => [line, headers["if-match"]])).toEqual([
    ["GET /api/threads/T/files", undefined],
    ["PUT /api/threads/T/files/a.txt", '"v2"'],
  ]);
  expect(uploads()).toEqual([]);
});

it("asks again if the file changed meanwhile", async () => {
  const { workspace, upload, uploads } = await shown();
  const usual = answer;
  answer = (asked) => (asked.line.startsWith("PUT") ? problem(412, "precondition_failed") : usual(asked));
  await upload(file("new.txt"));
  expect(uploads()).toEqual(["new.txt there already exists."]);
  files = [entry("new.txt", "v3")];
  await workspace.replace(workspace.store.get().uploads[0]!);
  expect(uploads()).toEqual(["new.txt there has changed in the meantime."]);
  workspace.dismiss(workspace.store.get().uploads[0]!);
  expect(uploads()).toEqual([]);
});

it("tells the next step for each refused file, and goes on with the next file", async () => {
  const { upload, uploads, paths } = await shown();
  const codes: Record<string, Response | Error> = {
    full: problem(507, "workspace_full"),
    large: problem(413, "body_too_large"),
    name: problem(400, "invalid_request", "the path has a colon"),
    lost: new TypeError("no network"),
  };
  const usual = answer;
  answer = (asked) => codes[asked.line.split("/files/")[1] ?? ""] ?? usual(asked);
  await upload(...[...Object.keys(codes), "good"].map((name) => file(name)));
  expect(uploads()).toEqual([
    "full refused does not fit: the storage of this chat is full. Delete files, then send it again.",
    "large refused is too large: a file can have 1 MiB.",
    "name refused cannot be saved under this name: the path has a colon",
    "lost refused was not sent. The service cannot be reached. Check your connection, then try again.",
  ]);
  expect(paths()).toContain("good");
});

it("sends a file of the largest size and none above it, and at most the largest number", async () => {
  const { workspace, upload, uploads } = await shown();
  await upload(file("just", MAX_FILE_BYTES), file("over", MAX_FILE_BYTES + 1));
  expect(requests.map(({ line }) => line)).toEqual(["PUT /api/threads/T/files/just"]);
  expect(uploads()).toEqual(["over refused is too large: a file can have 1 MiB."]);
  requests = [];
  await upload(...Array.from({ length: MAX_UPLOADS + 2 }, (_, index) => file(`f${index}`)));
  expect(requests.length).toBe(MAX_UPLOADS);
  expect(workspace.store.get().problem).toBe("You can send 50 files at once. The last 2 were left out.");
});

it("deletes a file, and reads the list again if the file was gone already", async () => {
  const { workspace, paths } = await shown();
  await workspace.remove(entry("a.txt"));
  expect([requests.map(({ line }) => line), paths()]).toEqual([["DELETE /api/threads/T/files/a.txt"], []]);
  const usual = answer;
  answer = (asked) => (asked.line.startsWith("DELETE") ? problem(404, "file_not_found", "There is none.") : usual(asked));
  files = [entry("b.txt")];
  await workspace.remove(entry("a.txt"));
  expect(paths()).toEqual(["b.txt"]);
});

it("drops a list that was requested before an upload or a deletion", async () => {
  const { workspace, upload, paths } = await shown();
  const usual = answer;
  const lists: ((list: Response) => void)[] = [];
  answer = (asked) => (asked.line.startsWith("GET") ? (new Promise<Response>((resolve) => lists.push(resolve)) as never) : usual(asked));
  const loading = workspace.load();
  await upload(file("new.txt"));
  await workspace.remove(entry("a.txt"));
  lists[0]?.(Response.json({ files: [entry("a.txt")] }));
  await vi.waitFor(() => expect(lists.length).toBe(2));
  expect(paths()).toEqual(["new.txt"]);
  lists[1]?.(Response.json({ files: [entry("new.txt")] }));
  await loading;
  expect(paths()).toEqual(["new.txt"]);
});

it("reads the list once for several tools, and ignores other chats", async () => {
  const { workspace, paths } = await shown();
  files = [entry("a.txt"), entry("written.md")];
  workspace.touched("other");
  workspace.called("T", "read_file");
  await vi.runAllTimersAsync();
  expect(requests).toEqual([]);
  workspace.called("T", "write_file");
  workspace.called("T", "edit_file");
  await vi.runAllTimersAsync();
  expect([requests.length, paths()]).toEqual([1, ["a.txt", "written.md"]]);
  workspace.show(null);
  workspace.touched("T");
  await vi.runAllTimersAsync();
  expect([requests.length, paths()]).toEqual([1, []]);
});

it("keeps the list on screen if it cannot be read again, and tells the failure", async () => {
  const { workspace, paths } = await shown();
  answer = () => new TypeError("no network");
  await workspace.load();
  expect([paths(), workspace.store.get().phase]).toEqual([["a.txt"], "ready"]);
  expect(workspace.store.get().problem).toContain("cannot be reached");
});

it("shows the open file, reads it again in its new version, and goes back when it is gone", async () => {
  const { workspace } = await shown();
  const given = answer;
  let content = "old";
  answer = (asked) => (asked.line === "GET /api/threads/T/files/a.txt" ? new Response(content) : given(asked));
  const opened = () => {
    const { opened } = workspace.store.get();
    return opened && [opened.file.version, opened.preview && "text" in opened.preview ? opened.preview.text : null, opened.problem];
  };
  await workspace.open(entry("a.txt"));
  expect(opened()).toEqual(["v1", "old", null]);
  await workspace.load();
  expect(requests.filter(({ line }) => line.endsWith("/a.txt")).length).toBe(1);
  [content, files] = ["new", [entry("a.txt", "v2")]];
  await workspace.load();
  expect(opened()).toEqual(["v2", "new", null]);
  answer = (asked) => (asked.line.endsWith("/a.txt") ? problem(404, "file_not_found") : given(asked));
  await workspace.open(entry("a.txt", "v3"));
  expect(opened()).toEqual(["v3", "new", "This file no longer exists."]);
  files = [];
  await workspace.load();
  expect(opened()).toBeNull();
});

const version = (path: string, id: string) => ({ id, path, bytes: 1, written_at: 1, replaced_at: 2, written_by: "upload" });

it("restores an earlier version over the present one that the person has seen", async () => {
  const { workspace } = await shown();
  const usual = answer;
  answer = (asked) => {
    if (asked.line === "GET /api/threads/T/file-versions") return Response.json({ versions: [version("a.txt", "1-x")] });
    if (asked.line.startsWith("GET /api/threads/T/files/")) return new Response("old");
    return usual(asked);
  };
  await workspace.loadVersions();
  const [earlier] = workspace.store.get().versions ?? [];
  await workspace.openVersion(earlier!);
  expect(workspace.store.get().opened).toMatchObject({ version: { id: "1-x" }, preview: { kind: "text", text: "old" } });
  requests = [];
  await workspace.restore(earlier!);
  expect(requests.map(({ line, headers }) => [line, headers["if-match"]])).toEqual([
    ["GET /api/threads/T/files/a.txt?version=1-x", undefined],
    ["PUT /api/threads/T/files/a.txt", '"v1"'],
    ["GET /api/threads/T/files/a.txt", undefined],
    ["GET /api/threads/T/file-versions", undefined],
  ]);
  expect(workspace.store.get().opened).toMatchObject({ file: { version: "v9" }, version: null });
  requests = [];
  await workspace.restore(version("gone.md", "2-y"));
  expect(requests[1]?.headers["if-none-match"]).toBe("*");
});

it("says that a file has changed, and keeps the version that is open", async () => {
  const { workspace } = await shown();
  const usual = answer;
  answer = (asked) => {
    if (asked.line.startsWith("PUT ")) return problem(412, "precondition_failed");
    if (asked.line.startsWith("GET /api/threads/T/files/")) return new Response("old");
    return usual(asked);
  };
  await workspace.openVersion(version("a.txt", "1-x"));
  files = [entry("a.txt", "v2")];
  await workspace.restore(version("a.txt", "1-x"));
  const { opened, files: known } = workspace.store.get();
  expect(opened).toMatchObject({ version: { id: "1-x" }, preview: { text: "old" } });
  expect(opened?.problem).toContain("changed in the meantime");
  expect(known[0]?.version).toBe("v2");
});

// The preview of a file: its kind, and its bounds; and the file that is open while the workspace changes.

import { expect, it } from "vitest";
import { MAX_PREVIEW_CHARS, previewOf } from "./preview";

const of = (path: string, content: BlobPart) => previewOf(path, new Blob([content]));

it("is an image, Markdown or text, by the name and the bytes", async () => {
  expect(await of("a/pear.PNG", new Uint8Array([1, 2, 255]))).toEqual({ kind: "image", data: "data:image/png;base64,AQL/" });
  expect(await of("notes.md", "# Pears")).toEqual({ kind: "markdown", text: "# Pears", cut: false });
  expect(await of("Makefile", "all:\n")).toEqual({ kind: "text", text: "all:\n", cut: false });
  expect(await of("empty.txt", "")).toEqual({ kind: "text", text: "", cut: false });
});

it("is none for other bytes", async () => {
  expect(await of("a.bin", new Uint8Array([0xff, 0xfe, 0]))).toEqual({ kind: "none" });
  expect(await of("a.txt", "a\0b")).toEqual({ kind: "none" });
});

it("shows the beginning of a long text", async () => {
  const most = "x".repeat(MAX_PREVIEW_CHARS);
  expect(await of("a.txt", most)).toEqual({ kind: "text", text: most, cut: false });
  expect(await of("a.txt", `${most}y`)).toEqual({ kind: "text", text: most, cut: true });
});

it("has all bytes of a large image", async () => {
  const bytes = new Uint8Array(20_000).map((_, at) => at % 251);
  const { data } = (await of("a.png", bytes)) as { data: string };
  expect(Uint8Array.from(atob(data.split(",")[1]!), (letter) => letter.charCodeAt(0))).toEqual(bytes);
});

// A file as a person can read it beside the chat: an image, Markdown or text.

/** The beginning of a longer text is shown: drawing all of it would take too long. */
export const MAX_PREVIEW_CHARS = 100_000;

export type Preview =
  | { kind: "image"; data: string }
  | { kind: "markdown" | "text"; text: string; cut: boolean }
  /** Neither; it can be downloaded. */
  | { kind: "none" };

/** By the endings of names. An image runs no script: the page draws it as `<img>`. */
const IMAGES: Readonly<Record<string, string>> = {
  png: "image/png",
  jpg: "image/jpeg",
  jpeg: "image/jpeg",
  gif: "image/gif",
  webp: "image/webp",
  avif: "image/avif",
  svg: "image/svg+xml",
};
const MARKDOWN: ReadonlySet<string> = new Set(["md", "markdown"]);

export async function previewOf(path: string, file: Blob): Promise<Preview> {
  const ending = path.slice(path.lastIndexOf(".") + 1).toLowerCase();
  const bytes = new Uint8Array(await file.arrayBuffer());
  const type = IMAGES[ending];
  if (type) return { kind: "image", data: `data:${type};base64,${base64(bytes)}` };
  const text = textOf(bytes);
  if (text === null) return { kind: "none" };
  const cut = text.length > MAX_PREVIEW_CHARS;
  return { kind: MARKDOWN.has(ending) ? "markdown" : "text", text: cut ? text.slice(0, MAX_PREVIEW_CHARS) : text, cut };
}

/** Null unless the bytes are UTF-8 without a zero. */
function textOf(bytes: Uint8Array): string | null {
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    return text.includes("\0") ? null : text;
  } catch {
    return null;
  }
}

/** At a time: a call has a limited number of arguments. */
const CHUNK = 8192;

function base64(bytes: Uint8Array): string {
  let binary = "";
  for (let at = 0; at < bytes.length; at += CHUNK) binary += String.fromCharCode(...bytes.subarray(at, at + CHUNK));
  return btoa(binary);
}

// Files that a person attaches to a message: text files as text, images and PDFs as they are. A picture that is too large
// becomes a smaller one. Other files are refused by name.

import { sorted, type Attachment } from "../state/drafts";
import { bytesOf, MAX_MEDIA, MAX_MEDIA_BYTES, type AttachedFile, type Medium } from "../turn/attachments";
import { words } from "./en";

/** A message of 100 000 characters cannot have more bytes. */
const MAX_TEXT_BYTES = 400_000;
/** Types that the service takes. Other pictures are converted. */
const IMAGES: ReadonlySet<string> = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);
const PDF = "application/pdf";
/** The longer side of a converted picture, in pixels, tried in this order. Models see little more. */
const SIDES = [1600, 1024, 640];

interface Refused {
  reason: string;
}

export interface Attaching {
  attached: Attachment[];
  refused: string | null;
}

/** Adds files to a draft's attachments. `readsMedia`: whether the model reads images and PDFs. */
export async function attach(
  list: readonly File[],
  before: readonly Attachment[],
  readsMedia: boolean,
): Promise<Attaching> {
  const attached: Attachment[] = [];
  const refused: string[] = [];
  for (const file of list) {
    const { media } = sorted([...before, ...attached]);
    const each = await read(file, media, readsMedia);
    if ("reason" in each) refused.push(words.refused(file.name, each.reason));
    else attached.push(each);
  }
  return { attached, refused: refused.length === 0 ? null : `${refused.join(", ")}.` };
}

async function read(file: File, media: readonly Medium[], readsMedia: boolean): Promise<Attachment | Refused> {
  try {
    if (!file.type.startsWith("image/") && file.type !== PDF) return await textOf(file);
    if (!readsMedia) return { reason: words.notByModel };
    if (media.length >= MAX_MEDIA) return { reason: words.tooMany(MAX_MEDIA) };
    const room = MAX_MEDIA_BYTES - media.reduce((sum, each) => sum + bytesOf(each), 0);
    const fitting = await fittingOf(file, room);
    if (fitting) return { name: file.name, data: await dataUrlOf(fitting) };
    return { reason: words.mediaTooLarge(MAX_MEDIA_BYTES / 1000) };
  } catch {
    // This browser cannot read the file as its type says.
    return { reason: words.unreadable };
  }
}

async function textOf(file: File): Promise<AttachedFile | Refused> {
  if (file.size > MAX_TEXT_BYTES) return { reason: words.tooLarge };
  const bytes = await file.arrayBuffer();
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    if (!text.includes("\0")) return { name: file.name, text };
  } catch {
    // Not UTF-8.
  }
  return { reason: words.notText };
}

/** The file, or a smaller picture of it; null where neither fits. */
async function fittingOf(file: File, room: number): Promise<Blob | null> {
  const asItIs = IMAGES.has(file.type) || file.type === PDF;
  if (asItIs && file.size <= room) return file;
  if (file.type === PDF) return null;
  const picture = await createImageBitmap(file);
  for (const side of SIDES) {
    const scale = Math.min(1, side / Math.max(picture.width, picture.height));
    const canvas = new OffscreenCanvas(Math.ceil(picture.width * scale), Math.ceil(picture.height * scale));
    const drawing = canvas.getContext("2d");
    if (!drawing) return null;
    // JPEG has no transparency: white stands for it.
    drawing.fillStyle = "white";
    drawing.fillRect(0, 0, canvas.width, canvas.height);
    drawing.drawImage(picture, 0, 0, canvas.width, canvas.height);
    const blob = await canvas.convertToBlob({ type: "image/jpeg", quality: 0.85 });
    if (blob.size <= room) return blob;
  }
  return null;
}

function dataUrlOf(blob: Blob): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result));
    reader.onerror = () => reject(reader.error ?? new Error("unreadable"));
    reader.readAsDataURL(blob);
  });
}

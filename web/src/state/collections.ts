// The collections of documents, and the documents of the one that is open.

import { addDocument, createCollection, deleteCollection, deleteDocument, listCollections, listDocuments } from "../api/collections";
import { Refusal, wordsFor } from "../api/http";
import type { Collection, Document } from "../wire";
import { unchoose } from "./chosen";
import { Paged } from "./paged";
import { Store } from "./store";

/** What the service reads as a document; the ending says it where the browser does not. */
const TYPES: Record<string, string> = {
  txt: "text/plain",
  md: "text/markdown",
  markdown: "text/markdown",
  html: "text/html",
  htm: "text/html",
  pdf: "application/pdf",
};
export const ACCEPT = Object.keys(TYPES).map((ending) => `.${ending}`).join(",");
/** What the service takes as one body (docs/wire-protocol.md). */
export const MAX_DOCUMENT_BYTES = 1_048_576;
/** More at once are refused: each is a request. */
export const MAX_AT_ONCE = 50;

interface Shelf {
  /** The collection that is open; null shows them all. */
  open: Collection | null;
  /** How many documents are on their way. */
  sending: number;
  /** What did not get there, and why. */
  refused: string[];
}

const CLOSED: Shelf = { open: null, sending: 0, refused: [] };

export class Collections {
  readonly shelf = new Store<Shelf>(CLOSED);
  readonly all = new Paged<Collection>(async (cursor) => {
    const { collections: items, next_cursor } = await listCollections(cursor);
    return { items, next_cursor };
  });
  documents = documentsOf(null);

  /** Opens one; null closes it, and what changed in it is asked for. */
  open(collection: Collection | null): void {
    this.documents = documentsOf(collection?.id ?? null);
    this.shelf.set({ ...CLOSED, open: collection });
    if (collection) void this.documents.load();
    else void this.all.load();
  }

  /** True if there is one now. */
  create(name: string, description: string): Promise<boolean> {
    return this.all.attempt(async () => this.all.put(await createCollection(name.trim(), description.trim())));
  }

  async remove({ id }: Collection): Promise<void> {
    if (!(await this.all.remove(id, () => deleteCollection(id)))) return;
    unchoose(id);
    if (this.shelf.get().open?.id === id) this.open(null);
  }

  /** Sends documents to the open collection, one after the other. */
  async add(files: readonly File[]): Promise<void> {
    const { open } = this.shelf.get();
    const { documents } = this;
    if (!open) return;
    const some = files.slice(0, MAX_AT_ONCE);
    const surplus = files.length - some.length;
    const refused = surplus > 0 ? [`Send at most ${MAX_AT_ONCE} documents at once: the last ${surplus} were left out.`] : [];
    const say = (change: Partial<Shelf>) => {
      if (this.shelf.get().open?.id === open.id) this.shelf.set(change);
    };
    for (const [index, file] of some.entries()) {
      say({ sending: some.length - index, refused });
      const why = await sent(file, async (name, body) => documents.put(await addDocument(open.id, name, body)));
      if (why !== null) refused.push(`“${file.name}” ${why}`);
    }
    say({ sending: 0, refused });
  }

  async drop({ id }: Document): Promise<void> {
    const { open } = this.shelf.get();
    if (open) await this.documents.remove(id, () => deleteDocument(open.id, id));
  }

  forget(): void {
    this.all.forget();
    this.documents = documentsOf(null);
    this.shelf.set(CLOSED);
  }
}

function documentsOf(id: string | null): Paged<Document> {
  return new Paged<Document>(async (cursor) => {
    if (id === null) return { items: [], next_cursor: null };
    const { documents: items, next_cursor } = await listDocuments(id, cursor);
    return { items, next_cursor };
  });
}

/** Null, or why it was not taken. */
async function sent(file: File, send: (name: string, body: Blob) => Promise<void>): Promise<string | null> {
  const ending = file.name.slice(file.name.lastIndexOf(".") + 1).toLowerCase();
  const type = TYPES[ending] ?? Object.values(TYPES).find((known) => known === file.type);
  if (!type) return "is no text, Markdown, HTML or PDF: save it as one of these first.";
  if (file.size === 0) return "is empty.";
  if (file.size > MAX_DOCUMENT_BYTES) return "is too large: a document has at most 1 MiB. Divide it.";
  try {
    await send(file.name, new Blob([file], { type }));
    return null;
  } catch (error) {
    return error instanceof Refusal ? `was refused: ${wordsFor(error)}` : `was not sent. ${wordsFor(error)}`;
  }
}

export const collections = new Collections();

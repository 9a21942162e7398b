// The collections of documents, and the documents of the one that is open.

import { Refusal, wordsFor } from "../../api/http";
import { Paged } from "../../state/paged";
import { Store } from "../../state/store";
import type { Collection, Document } from "../../wire.generated";
import { addDocument, createCollection, deleteCollection, deleteDocument, listCollections, listDocuments } from "./api";
import { unchoose } from "./chosen";
import { words } from "./panel/en";

const PDF = "application/pdf";
/** The media types that a service may read, by a name's ending, since browsers do not know all of them. */
const TYPES: Record<string, string> = {
  txt: "text/plain",
  md: "text/markdown",
  markdown: "text/markdown",
  html: "text/html",
  htm: "text/html",
  csv: "text/csv",
  json: "application/json",
  pdf: PDF,
};
/** The service's limit for one document (docs/wire-protocol.md). */
export const MAX_DOCUMENT_BYTES = 1_048_576;
/** The limit for one upload, since each document is a request. */
export const MAX_AT_ONCE = 50;

interface Shelf {
  /** The collection that is open; null shows them all. */
  open: Collection | null;
  /** How many documents are on their way. */
  sending: number;
  /** The documents that did not arrive, each with the reason. */
  refused: string[];
  /** Whether the service reads PDFs. True until it has told. */
  readsPdfs: boolean;
}

const CLOSED = { open: null, sending: 0, refused: [] };

/** The endings of the files that the service takes, as an `<input>` names them. */
export function accepted(readsPdfs: boolean): string {
  const endings = Object.keys(TYPES).filter((ending) => readsPdfs || TYPES[ending] !== PDF);
  return endings.map((ending) => `.${ending}`).join(",");
}

export class Collections {
  readonly shelf = new Store<Shelf>({ ...CLOSED, readsPdfs: true });
  readonly all = new Paged<Collection>(async (cursor) => {
    const { collections: items, next_cursor, reads_pdfs: readsPdfs = true } = await listCollections(cursor);
    this.shelf.set({ readsPdfs });
    return { items, next_cursor };
  });
  documents = documentsOf(null);

  /** Opens a collection. Null closes it and reads the list again, which may have changed. */
  open(collection: Collection | null): void {
    this.documents = documentsOf(collection?.id ?? null);
    this.shelf.set({ ...CLOSED, open: collection });
    if (collection) void this.documents.load();
    else void this.all.load();
  }

  /** True if the service has created it. */
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
    const { open, readsPdfs } = this.shelf.get();
    const { documents } = this;
    if (!open) return;
    const some = files.slice(0, MAX_AT_ONCE);
    const surplus = files.length - some.length;
    const refused = surplus > 0 ? [words.tooMany(MAX_AT_ONCE, surplus)] : [];
    const say = (change: Partial<Shelf>) => {
      if (this.shelf.get().open?.id === open.id) this.shelf.set(change);
    };
    for (const [index, file] of some.entries()) {
      say({ sending: some.length - index, refused });
      const why = await sent(file, readsPdfs, async (name, body) => documents.put(await addDocument(open.id, name, body)));
      if (why !== null) refused.push(words.refused(file.name, why));
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

/** Null, or the reason why the service does not have the document. */
async function sent(file: File, readsPdfs: boolean, send: (name: string, body: Blob) => Promise<void>): Promise<string | null> {
  const ending = file.name.slice(file.name.lastIndexOf(".") + 1).toLowerCase();
  const type = TYPES[ending] ?? Object.values(TYPES).find((known) => known === file.type);
  if (!type || (type === PDF && !readsPdfs)) return words.wrongType(readsPdfs);
  if (file.size === 0) return words.emptyFile;
  if (file.size > MAX_DOCUMENT_BYTES) return words.tooLarge;
  try {
    await send(file.name, new Blob([file], { type }));
    return null;
  } catch (error) {
    return error instanceof Refusal ? words.wasRefused(wordsFor(error)) : words.notSent(wordsFor(error));
  }
}

export const collections = new Collections();

// The routes of collections and their documents.

import { request, requestJson } from "../../api/http";
import type { Collection, CollectionList, Document, DocumentList } from "../../wire.generated";

function page(cursor: string | null): string {
  const query = new URLSearchParams({ limit: "50" });
  if (cursor !== null) query.set("cursor", cursor);
  return query.toString();
}

export function listCollections(cursor: string | null): Promise<CollectionList> {
  return requestJson<CollectionList>(`/api/collections?${page(cursor)}`);
}

export function createCollection(name: string, description: string): Promise<Collection> {
  const body = description === "" ? { name } : { name, description };
  return requestJson<Collection>("/api/collections", { method: "POST", body });
}

export async function deleteCollection(id: string): Promise<void> {
  await request(addressOf(id), { method: "DELETE" });
}

export function listDocuments(id: string, cursor: string | null): Promise<DocumentList> {
  return requestJson<DocumentList>(`${addressOf(id)}/documents?${page(cursor)}`);
}

export function addDocument(id: string, name: string, file: Blob): Promise<Document> {
  const query = new URLSearchParams({ name });
  return requestJson<Document>(`${addressOf(id)}/documents?${query}`, { method: "POST", file });
}

export async function deleteDocument(id: string, documentId: string): Promise<void> {
  await request(`${addressOf(id)}/documents/${encodeURIComponent(documentId)}`, { method: "DELETE" });
}

function addressOf(id: string): string {
  return `/api/collections/${encodeURIComponent(id)}`;
}

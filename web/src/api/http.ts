// One request to the service: the session's cookie, JSON, and errors that say what they are.

import type { Session } from "../wire";

/** The service answered, and refused. */
export class Refusal extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    detail: string,
    /** The member of the request that was refused. */
    readonly field: string | null = null,
  ) {
    super(detail);
    this.name = "Refusal";
  }
}

/** No answer came: whether the request arrived is unknown. */
export class Unreachable extends Error {
  constructor() {
    super("The service cannot be reached. Check your connection, then try again.");
    this.name = "Unreachable";
  }
}

export function isAbort(error: unknown): boolean {
  return error instanceof DOMException && error.name === "AbortError";
}

export function wordsFor(error: unknown): string {
  return error instanceof Refusal || error instanceof Unreachable
    ? error.message
    : "Something went wrong in this page. Reload it, then try again.";
}

/** The session that all requests share; a second caller waits for the first one's renewal. */
let renewal: Promise<Session> | null = null;
let userId: string | null = null;
let onOtherUser: () => void = () => {};
let onSignedOut: () => void = () => {};

/** Told when a lost session came back as somebody else: the chats on screen are not theirs. */
export function whenUserChanges(listener: () => void): void {
  onOtherUser = listener;
}

/** Told when there is no session, and none to be had without an API key. */
export function whenSignedOut(listener: () => void): void {
  onSignedOut = listener;
}

export function openSession(): Promise<Session> {
  renewal ??= createSession().finally(() => {
    renewal = null;
  });
  return renewal;
}

async function createSession(): Promise<Session> {
  let session: Session;
  try {
    session = await postSession({});
  } catch (error) {
    if (error instanceof Refusal && error.status === 401) onSignedOut();
    throw error;
  }
  const other = userId !== null && userId !== session.user_id;
  userId = session.user_id;
  if (other) onOtherUser();
  return session;
}

/** Exchanges an API key for a session. The answer says whether it is somebody else's than the one before. */
export async function exchangeKey(key: string): Promise<"other user" | "same user"> {
  const session = await postSession({ key });
  const other = userId !== null && userId !== session.user_id;
  userId = session.user_id;
  return other ? "other user" : "same user";
}

/** Ends the session in the service. */
export async function closeSession(): Promise<void> {
  await send("/api/session", { method: "DELETE" });
}

async function postSession(body: { key?: string }): Promise<Session> {
  const response = await send("/api/session", { method: "POST", body });
  return (await response.json()) as Session;
}

export interface RequestOptions {
  method?: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  body?: unknown;
  /** A body that is no JSON; it goes as what it says it is. */
  file?: Blob;
  headers?: Record<string, string>;
  signal?: AbortSignal;
  /** The request outlives the page. */
  keepalive?: boolean;
}

/** A session that has run out is replaced once, and the request made again. */
export async function request(path: string, options: RequestOptions = {}): Promise<Response> {
  try {
    return await send(path, options);
  } catch (error) {
    if (!(error instanceof Refusal) || error.status !== 401) throw error;
    await openSession();
    return send(path, options);
  }
}

export async function requestJson<T>(path: string, options: RequestOptions = {}): Promise<T> {
  const response = await request(path, options);
  return (await response.json()) as T;
}

async function send(path: string, options: RequestOptions): Promise<Response> {
  const { method = "GET", body, file, headers = {}, signal, keepalive } = options;
  const init: RequestInit = { method, headers: { ...headers }, credentials: "same-origin" };
  if (method !== "GET") {
    // Also without a body: it is this header that keeps other sites from sending it.
    init.headers = { ...headers, "content-type": "application/json" };
    if (body !== undefined) init.body = JSON.stringify(body);
  }
  if (file) {
    init.headers = { ...headers, "content-type": file.type || "application/octet-stream" };
    init.body = file;
  }
  if (signal) init.signal = signal;
  if (keepalive) init.keepalive = true;
  let response: Response;
  try {
    response = await fetch(path, init);
  } catch (error) {
    throw isAbort(error) ? error : new Unreachable();
  }
  if (!response.ok) throw await refusalOf(response);
  return response;
}

async function refusalOf(response: Response): Promise<Refusal> {
  let problem: { code?: string; detail?: string; title?: string; field?: string } = {};
  try {
    problem = (await response.json()) as typeof problem;
  } catch {
    // A proxy in between answers with pages of its own.
  }
  const detail = problem.detail ?? problem.title ?? `The service answered with ${response.status}.`;
  return new Refusal(response.status, problem.code ?? "unknown", detail, problem.field ?? null);
}

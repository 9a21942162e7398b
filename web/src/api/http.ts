// One request to the service, with the session's cookie and JSON. Errors tell a refusal from a lost connection.

import { en } from "../en";
import type { Session } from "../wire";
import type { SignInWay, StartedSignIn } from "../wire.generated";

/** The service answered and refused the request. */
export class Refusal extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    detail: string,
    /** The refused member of the request. */
    readonly field: string | null = null,
    /** The service asks to wait this long before the next try. */
    readonly retryAfterMs: number | null = null,
    /** The identity providers at which the person can sign in. */
    readonly signIn: readonly SignInWay[] = [],
  ) {
    super(detail);
    this.name = "Refusal";
  }
}

/** No answer came. The request may have arrived. */
export class Unreachable extends Error {
  constructor() {
    super(en.errors.unreachable);
    this.name = "Unreachable";
  }
}

export function isAbort(error: unknown): boolean {
  return error instanceof DOMException && error.name === "AbortError";
}

export function wordsFor(error: unknown): string {
  return error instanceof Refusal || error instanceof Unreachable ? error.message : en.errors.inPage;
}

/** The renewal in progress. All requests share one session, so a second caller waits for the first renewal. */
let renewal: Promise<Session> | null = null;
let userId: string | null = null;
let onOtherUser: (session: Session) => void = () => {};
let onSignedOut: (ways: readonly SignInWay[]) => void = () => {};
let onReached: () => void = () => {};
/** The last request got no answer. */
let outOfReach = false;

/** Calls the listener when the renewed session belongs to another user: the chats on screen belong to the old one. */
export function whenUserChanges(listener: (session: Session) => void): void {
  onOtherUser = listener;
}

/** Calls the listener when the service answers again after a request without an answer. */
export function whenReached(listener: () => void): void {
  onReached = listener;
}

/** Calls the listener when the person has to sign in, with the identity providers where they can. */
export function whenSignedOut(listener: (ways: readonly SignInWay[]) => void): void {
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
    if (error instanceof Refusal && error.status === 401) onSignedOut(error.signIn);
    throw error;
  }
  const other = userId !== null && userId !== session.user_id;
  userId = session.user_id;
  if (other) onOtherUser(session);
  return session;
}

/** Exchanges an API key for a session. */
export async function exchangeKey(key: string): Promise<void> {
  userId = (await postSession({ key })).user_id;
}

/** Begins a sign-in at an identity provider, and gives the address there. The browser comes back to the path. */
export async function beginSignIn(id: string, returnTo: string): Promise<string> {
  const response = await send(`/api/oidc/${encodeURIComponent(id)}`, { method: "POST", body: { return_to: returnTo } });
  return ((await response.json()) as StartedSignIn).location;
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
  /** A body other than JSON, sent with its own media type. */
  file?: Blob;
  headers?: Record<string, string>;
  signal?: AbortSignal;
  /** The browser completes the request after the page is closed. */
  keepalive?: boolean;
}

/** Renews an expired session once, and repeats the request. As another user it would act on other data: it fails then. */
export async function request(path: string, options: RequestOptions = {}): Promise<Response> {
  const asker = userId;
  try {
    return await send(path, options);
  } catch (error) {
    if (!(error instanceof Refusal) || error.status !== 401) throw error;
    await openSession();
    if (asker && asker !== userId) throw error;
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
    // Also without a body: this header keeps other sites from sending such a request.
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
    if (isAbort(error)) throw error;
    outOfReach = true;
    throw new Unreachable();
  }
  if (outOfReach) {
    outOfReach = false;
    onReached();
  }
  if (!response.ok) throw await refusalOf(response);
  return response;
}

async function refusalOf(response: Response): Promise<Refusal> {
  let problem: { code?: string; detail?: string; title?: string; field?: string; sign_in?: SignInWay[] } = {};
  try {
    problem = (await response.json()) as typeof problem;
  } catch {
    // The answer of a proxy may have another form.
  }
  const detail = (await wordsOf(problem.code)) ?? problem.detail ?? problem.title ?? en.errors.status(response.status);
  return new Refusal(response.status, problem.code ?? "unknown", detail, problem.field ?? null, retryAfterMs(response), problem.sign_in);
}

/** The page's words for a refusal; without them the service's own stand. */
async function wordsOf(code: string | undefined): Promise<string | undefined> {
  if (code === undefined) return undefined;
  return import("../errors/en").then(({ codes }) => codes[code], () => undefined);
}

/** No quota lasts longer than its day. */
const LONGEST_WAIT_S = 86_400;

/** `Retry-After` in seconds, as this service writes it; null without one. */
export function retryAfterMs(response: Response): number | null {
  const seconds = Number(response.headers.get("retry-after"));
  return seconds > 0 ? Math.min(seconds, LONGEST_WAIT_S) * 1000 : null;
}

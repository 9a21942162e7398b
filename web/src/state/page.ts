// The page's one instance of each part, and the wires between them.

import { closeSession, exchangeKey, openSession, Refusal, whenSignedOut, whenUserChanges, wordsFor } from "../api/http";
import { readHealth, readModels } from "../api/threads";
import type { Health, Session } from "../wire";
import { Conversation } from "./conversation";
import { chosen } from "./chosen";
import { NEW_CHAT } from "./drafts";
import type { Format } from "./export";
import { richText, type Part } from "./parts";
import { projects } from "./projects";
import { setAddress, threadInAddress } from "./route";
import { offer, THEME_KEY } from "./settings";
import { Store } from "./store";
import { subjects } from "./subject";
import { hearTabs, tellTabs } from "./tabs";
import { Threads } from "./threads";
import { FILE_TOOLS, Workspace } from "./workspace";

export interface PageState {
  /** `signedOut`: there is no session, and an API key is needed to open one. */
  phase: "starting" | "ready" | "failed" | "signedOut";
  /** Who is here; null as long as nobody was. */
  session: Session | null;
  /** No model is configured: answers come from the demo model. */
  demo: boolean;
  /** What the service says of itself; null as long as it has not. */
  health: Health | null;
  problem: string | null;
  /** Something the reader should know that is nobody's failure. */
  notice: string | null;
}

export const page = new Store<PageState>({
  phase: "starting",
  session: null,
  demo: false,
  health: null,
  problem: null,
  notice: null,
});

export const threads = new Threads();

export const workspace = new Workspace();

export const conversation = new Conversation({
  prepare: () => prepare(),
  began: (threadId, content) => {
    if (threadInAddress() === null) {
      chosen.choose(NEW_CHAT, []);
      subjects.choose(NEW_CHAT, null);
    }
    setAddress(threadId);
    threads.touch(threadId, content);
    tellTabs({ what: "began", threadId });
  },
  called: (threadId, tool) => {
    if (FILE_TOOLS.has(tool)) workspace.touched(threadId);
  },
  answered: (threadId) => tellTabs({ what: "answered", threadId }),
  ended: (threadId) => {
    void threads.load();
    workspace.touched(threadId);
    projects.touched();
    tellTabs({ what: "ended", threadId });
  },
});

/** Gets what an answer is drawn with. Where it does not come, answers are shown as they were written. */
function prepare(): Promise<unknown> {
  return richText.load().catch(() => {});
}

export async function startPage(): Promise<void> {
  page.set({ phase: "starting", problem: null });
  if (threadInAddress() !== null) conversation.expect();
  try {
    begin(await openSession());
  } catch (error) {
    // `whenSignedOut` has told already that an API key is needed.
    if (page.get().phase !== "signedOut") page.set({ phase: "failed", problem: wordsFor(error) });
  }
}

function begin(session: Session): void {
  page.set({ phase: "ready", session });
  void threads.load();
  // A new chat is open already, and may have been written to while the session was on its way.
  const threadId = threadInAddress();
  // A chat that was open before the session ended is read anew.
  if (threadId !== null && threadId === conversation.store.get().threadId) void conversation.reload();
  else if (threadId !== null) void conversation.open(threadId);
  // Niceties: without these answers there is no choice of models, and the page does not say that this is the demo model.
  readModels().then(offer, () => offer(null));
  readHealth().then(
    (health) => page.set({ health, demo: health.provider === "demo" }),
    () => {},
  );
}

/** Exchanges an API key for a session, and goes on where the page was. The key is kept nowhere. */
export async function signIn(key: string): Promise<void> {
  if ((await exchangeKey(key)) === "other user") {
    leaveNothing();
    return;
  }
  let session: Session;
  try {
    // With the cookie alone, which the browser may have refused.
    session = await openSession();
  } catch (error) {
    if (!(error instanceof Refusal) || error.status !== 401) throw error;
    const words = "This browser did not keep the session. Allow cookies for this site, then try again.";
    throw new Refusal(0, "no_cookie", words);
  }
  if (threadInAddress() !== null) conversation.expect();
  begin(session);
}

/** Ends the session; what this browser keeps of the person goes with it. */
export async function signOut(): Promise<void> {
  try {
    // A deletion that could still be undone needs the session.
    await threads.settle();
    await closeSession();
  } catch (error) {
    page.set({ notice: wordsFor(error) });
    return;
  }
  tellTabs({ what: "signed_out" });
  leaveNothing();
}

/** Starts the page anew without anything of the person who was here. */
function leaveNothing(): void {
  // A browser that goes back to this page shows it as it was left.
  page.set({ phase: "signedOut", session: null });
  try {
    sessionStorage.clear();
    for (const key of Object.keys(localStorage)) if (key !== THEME_KEY) localStorage.removeItem(key);
  } catch {
    // Storage is forbidden: then nothing was kept.
  }
  window.location.assign("/");
}

export function goTo(threadId: string | null): void {
  setAddress(threadId);
  void conversation.open(threadId);
}

/** Can be undone for a moment. The open chat makes room for a new one. */
export function removeThread(threadId: string): void {
  threads.remove(threadId);
  if (conversation.store.get().threadId === threadId) {
    leftOpen = threadId;
    goTo(null);
  }
}

/** The open chat that was deleted last: undoing opens it again. */
let leftOpen: string | null = null;

export function undoRemoval(): void {
  const thread = threads.undo();
  if (thread && thread.id === leftOpen && conversation.store.get().threadId === null) goTo(thread.id);
  leftOpen = null;
}

/** A chat as a file. */
export async function saveThread(threadId: string, format: Format): Promise<void> {
  try {
    const { exportThread } = await import("./export");
    await exportThread(threadId, format);
  } catch (error) {
    page.set({ notice: wordsFor(error) });
  }
}

/** Gets a part that somebody asked for. Where it does not come, that is said, and `without` it goes on. */
export function fetchPart({ load }: Part<unknown>, without: () => void): void {
  load().catch(() => {
    without();
    page.set({
      notice: "This part of the page could not be loaded. Check your connection, or reload the page: it may have a new version.",
    });
  });
}

export function dismissNotice(): void {
  page.set({ notice: null });
}

/** What the browser, other tabs and the session tell the page. Once. */
export function listen(): void {
  window.addEventListener("popstate", () => void conversation.open(threadInAddress()));
  // What was deleted is deleted, also if the person leaves before the time to undo is over.
  window.addEventListener("pagehide", () => void threads.settle());
  document.addEventListener("visibilitychange", () => {
    if (document.visibilityState !== "visible" || page.get().phase !== "ready") return;
    void conversation.refresh();
    void threads.load();
    void workspace.load();
  });
  window.addEventListener("online", () => void conversation.refresh());
  // Whoever puts a hand on the page will soon have an answer.
  for (const type of ["pointerdown", "keydown"]) window.addEventListener(type, () => void prepare(), { once: true });
  // A file that misses its place would take the place of the page.
  for (const type of ["dragover", "drop"]) window.addEventListener(type, (event) => event.preventDefault());

  hearTabs((news) => {
    if (news.what === "signed_out") {
      leaveNothing();
      return;
    }
    if (news.what === "deleted") threads.dropped(news.threadId);
    else if (news.what !== "answered") void threads.load();
    if (conversation.store.get().threadId === news.threadId) void conversation.refresh();
  });

  whenSignedOut(() => page.set({ phase: "signedOut" }));

  whenUserChanges(() => {
    page.set({
      notice: "Your session had run out, and a new one has begun. Earlier chats belonged to the old one.",
    });
    threads.forget();
    void threads.load();
  });
}

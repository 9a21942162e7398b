// The page's only instance of each part, and the calls between them.

import { closeSession, exchangeKey, openSession, Refusal, whenReached, whenSignedOut, whenUserChanges, wordsFor } from "../api/http";
import { readHealth, readModels } from "../api/threads";
import { en } from "../en";
import { features } from "../feature";
import { notify, seen } from "../notifications/notifications";
import { withFiles } from "../turn/attachments";
import type { Health, Session } from "../wire";
import type { SignInWay } from "../wire.generated";
import { compareStates, loadChatStates, seeChat, tellState } from "./chatStates";
import { choices } from "./choices";
import { Conversation } from "./conversation";
import { draftOf, NEW_CHAT, restoreDraft } from "./drafts";
import type { Format } from "./export";
import { closeFind } from "./finding";
import { answerView, callDetails, editors, richText, signIn as signInScreen, type Part } from "./parts";
import { problemOf, type Problem } from "./problem";
import { endOfSignIn, isOtherUser } from "./providers";
import { setAddress, threadInAddress } from "./route";
import { offer, THEME_KEY } from "./settings";
import { forgetStores, Store } from "./store";
import { hearTabs, tellTabs, type TabNews } from "./tabs";
import { Threads } from "./threads";

export interface PageState {
  /** `signedOut`: the person has to sign in. */
  /** `erasing`: all data of the person is being deleted, and the page shows nothing else. */
  phase: "starting" | "ready" | "failed" | "signedOut" | "erasing";
  /** Counts the users of this page. Another one begins with nothing on screen. */
  user: number;
  /** The session of this browser; null until there was one. */
  session: Session | null;
  /** The deployment has no model: the demo model answers. */
  demo: boolean;
  /** The service's description of itself; null until it has come. */
  health: Health | null;
  problem: Problem | null;
  /** The identity providers at which the person can sign in. */
  ways: readonly SignInWay[];
  /** Why the last sign-in at one of them failed. */
  notSignedIn: string | null;
  /** A message for the reader that concerns no single part of the page. */
  notice: string | null;
}

export const page = new Store<PageState>({
  phase: "starting",
  user: 0,
  session: null,
  demo: false,
  health: null,
  problem: null,
  ways: [],
  notSignedIn: null,
  notice: null,
}, true);

export const threads = new Threads((all) => compareStates(all, conversation.store.get().threadId));

export const conversation = new Conversation({
  prepare: () => prepare(),
  began: (threadId, content) => {
    if (threadInAddress() === null) for (const choice of choices()) choice.clear(NEW_CHAT);
    for (const feature of features()) feature.began?.(threadId);
    setAddress(threadId);
    threads.touch(threadId, content);
    hear("began", threadId);
    tellTabs({ what: "began", threadId, title: threads.find(threadId)?.title ?? "" });
  },
  read: (details) => {
    threads.knows(details);
    seeChat(details.id, details.updated_at);
    for (const feature of features()) feature.read?.(details);
  },
  called: (threadId, tool) => {
    for (const feature of features()) feature.called?.(threadId, tool);
  },
  answered: (threadId) => tell("answered", threadId),
  queued: (threadId) => {
    for (const feature of features()) feature.began?.(threadId);
    tellTabs({ what: "queued", threadId });
  },
  chose: (threadId) => {
    tellTabs({ what: "chose", threadId });
    // A chat may be named after its first message.
    void threads.load();
  },
  told: (threadId, turnId, what) => {
    if (what === "waits") tell("waits", threadId);
    const title = threads.store.get().threads.find((thread) => thread.id === threadId)?.title.trim();
    notify(turnId, title || en.page.chat, what, () => goTo(threadId));
  },
  ended: (threadId) => {
    void threads.load();
    for (const feature of features()) feature.ended?.(threadId);
    tell("ended", threadId);
  },
});

/** The state of a chat after such news. */
const AFTER = { began: "running", answered: "running", waits: "waiting", ended: null } as const;

/** Tells the list of chats here, and the other tabs. */
function tell(what: Exclude<keyof typeof AFTER, "began">, threadId: string): void {
  hear(what, threadId);
  tellTabs({ what, threadId });
}

function hear(what: keyof typeof AFTER, threadId: string): void {
  tellState(threadId, AFTER[what], threads.find(threadId)?.updated_at ?? Date.now());
}

/** Loads the code that draws answers and edits questions. Where that fails, the page shows answers as plain text. */
function prepare(): Promise<unknown> {
  return Promise.all([answerView, richText, callDetails, editors].map((each) => each.load())).catch(() => {});
}

export async function startPage(): Promise<void> {
  page.set({ phase: "starting", problem: null });
  if (threadInAddress() !== null) conversation.expect();
  const notSignedIn = endOfSignIn();
  page.set({ notSignedIn });
  try {
    const session = await openSession();
    // On the sign-in screen, the failure stands beside the button.
    if (notSignedIn !== null) page.set({ notice: notSignedIn });
    begin(session);
  } catch (error) {
    // The listener of `whenSignedOut` has set the phase already.
    if (page.get().phase !== "signedOut") page.set({ phase: "failed", problem: problemOf(error, () => void startPage()) });
  }
}

function begin(session: Session): void {
  if (isOtherUser(session.user_id)) {
    leaveNothing();
    return;
  }
  page.set({ phase: "ready", session, ways: session.sign_in ?? [], notSignedIn: null });
  void threads.load();
  // A new chat is open already: the person may have written in it while the session was on its way.
  const threadId = threadInAddress();
  // A chat that was open before the session ended is read again.
  if (threadId !== null && threadId === conversation.store.get().threadId) void conversation.reload();
  else if (threadId !== null) void conversation.open(threadId);
  // Without these answers the page offers no choice of models, and does not name the demo model.
  readModels().then(offer, () => offer(null));
  readHealth().then(
    (health) => page.set({ health, demo: health.provider === "demo" }),
    () => {},
  );
}

/** Exchanges an API key for a session, and goes on where the page was. The page does not keep the key. */
export async function signIn(key: string): Promise<void> {
  await exchangeKey(key);
  let session: Session;
  try {
    // This request has the cookie alone, which the browser may have refused.
    session = await openSession();
  } catch (error) {
    if (!(error instanceof Refusal) || error.status !== 401) throw error;
    throw new Refusal(0, "no_cookie", en.page.noCookie);
  }
  if (threadInAddress() !== null) conversation.expect();
  begin(session);
}

/** Ends the session, and removes all that this browser keeps of the person. */
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

/** Starts the page again without any data of the person. */
function leaveNothing(): void {
  // The browser's back button shows this page as it was left.
  page.set({ phase: "signedOut", session: null });
  forgetUser();
  window.location.assign("/");
}

/** Clears all that the page and the browser know of the person, in this one place, and closes what shows it. */
export function forgetUser(): void {
  try {
    sessionStorage.clear();
    for (const key of Object.keys(localStorage)) if (key !== THEME_KEY) localStorage.removeItem(key);
  } catch {
    // The browser forbids storage, so it kept nothing.
  }
  goTo(null);
  threads.forget();
  forgetStores();
  loadChatStates();
  page.set(({ user }) => ({ user: user + 1 }));
}

export function goTo(threadId: string | null): void {
  closeFind();
  setAddress(threadId);
  void conversation.open(threadId);
}

/** Deletes a chat; the person can undo this for a moment. In place of the open chat a new one is opened. */
export function removeThread(threadId: string): void {
  threads.remove(threadId);
  if (conversation.store.get().threadId === threadId) {
    leftOpen = threadId;
    goTo(null);
  }
}

/** The open chat that was deleted last. Undoing the deletion opens it again. */
let leftOpen: string | null = null;

export function undoRemoval(): void {
  const thread = threads.undo();
  if (thread && thread.id === leftOpen && conversation.store.get().threadId === null) goTo(thread.id);
  leftOpen = null;
}

/** Saves a chat as a file. */
export async function saveThread(threadId: string, format: Format): Promise<void> {
  try {
    const { exportThread } = await import("./export");
    await exportThread(threadId, format, threads.find(threadId)?.pinned_at);
  } catch (error) {
    page.set({ notice: wordsFor(error) });
  }
}

/** Prints a chat, which the browser may do into a PDF. It is opened first, with the code that draws it. */
export async function printThread(threadId: string): Promise<void> {
  goTo(threadId);
  try {
    await (await import("./printing")).print(conversation.store, threadId);
  } catch {
    page.set({ notice: en.page.partFailed });
  }
}

/** Loads a part that the person asked for. Where that fails, calls `without` and tells the person. */
export function fetchPart({ load }: Part<unknown>, without: () => void): void {
  load().catch(() => {
    without();
    page.set({ notice: en.page.partFailed });
  });
}

export function dismissNotice(): void {
  page.set({ notice: null });
}

/** Listens to the browser, to other tabs and to the session. Called once. */
export function listen(): void {
  // A chat that another tab has shown was seen here.
  window.addEventListener("storage", loadChatStates);
  window.addEventListener("popstate", () => void conversation.open(threadInAddress()));
  // A deletion holds even if the person leaves before the time to undo is over.
  window.addEventListener("pagehide", () => void threads.settle());
  document.addEventListener("visibilitychange", () => {
    if (document.visibilityState !== "visible" || page.get().phase !== "ready") return;
    seen();
    void conversation.refresh();
    void threads.load();
    for (const feature of features()) feature.returned?.();
  });
  window.addEventListener("online", () => {
    if (page.get().phase === "failed") void startPage();
    if (page.get().phase !== "ready") return;
    void conversation.refresh();
    // Its answer tells that the service is there again.
    void threads.load();
  });
  whenReached(() => {
    void conversation.reached();
    if (threads.store.get().problem !== null) void threads.load();
  });
  // The first touch or key announces a question: load the code that draws its answer.
  for (const type of ["pointerdown", "keydown"]) window.addEventListener(type, () => void prepare(), { once: true });
  // A browser would open a file that is dropped beside its target in place of the page.
  for (const type of ["dragover", "drop"]) window.addEventListener(type, (event) => event.preventDefault());

  hearTabs(hearTab);

  whenSignedOut((ways) => {
    page.set({ phase: "signedOut", ways });
    // After a deploy, the chunk of the sign-in screen may be gone.
    signInScreen.load().catch((error) => {
      page.set({ phase: "failed", problem: { ...problemOf(error, () => window.location.reload()), words: en.page.partFailed } });
    });
  });

  whenUserChanges((session) => {
    page.set({ session, notice: en.page.otherUser });
    // The request that found this out fails first, and gives its message back to the draft.
    setTimeout(() => {
      const { text, files, media } = draftOf(conversation.store.get().threadId ?? NEW_CHAT);
      forgetUser();
      restoreDraft(NEW_CHAT, withFiles(text, files), media);
      void threads.load();
    });
  });
}

/** Another tab of this browser has news. */
function hearTab(news: TabNews): void {
  if (news.what === "signed_out") {
    leaveNothing();
    return;
  }
  if (news.what === "began") threads.touch(news.threadId, news.title);
  if (news.what in AFTER) hear(news.what as keyof typeof AFTER, news.threadId);
  if (news.what === "deleted") threads.dropped(news.threadId);
  else if (!["answered", "queued", "waits"].includes(news.what)) void threads.load();
  if (conversation.store.get().threadId === news.threadId) void conversation.refresh();
}

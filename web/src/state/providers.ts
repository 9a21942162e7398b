// Signing in at an identity provider: the page leaves for the provider, and the service sends the browser back to it.

import { beginSignIn } from "../api/http";
import { en } from "../en";

/** Where the user stands who was here before. It lasts as long as the tab. */
const LEFT = "espalier.left";
/** Where the service tells that a sign-in failed: `/?sign_in=REASON`. */
const PARAM = "sign_in";

/** A visitor's id is a bare UUID. Other ids begin with their issuer. */
const isVisitor = (userId: string) => !userId.includes(":");

/** `userId`: the user of the page that is left, if there was one. */
export async function leaveFor(id: string, userId: string | null): Promise<void> {
  // The chats of a visitor stay the visitor's.
  const returnTo = userId !== null && isVisitor(userId) ? "/" : window.location.pathname + window.location.search;
  const location = await beginSignIn(id, returnTo);
  try {
    sessionStorage.setItem(LEFT, userId ?? "");
  } catch {
    // The browser forbids storage, so it keeps nothing of that user either.
  }
  window.location.assign(location);
}

/** Whether another user has signed in than the one who was here: the browser keeps drafts of that one. A visitor who signs in
    takes the drafts along. */
export function isOtherUser(userId: string): boolean {
  try {
    const left = sessionStorage.getItem(LEFT) ?? "";
    sessionStorage.removeItem(LEFT);
    return !isVisitor(left) && left !== userId;
  } catch {
    return false;
  }
}

/** Why the sign-in failed from which the browser comes, in words; null if it comes from none. The address forgets it. */
export function endOfSignIn(): string | null {
  const address = new URL(window.location.href);
  const reason = address.searchParams.get(PARAM);
  if (reason === null) return null;
  address.searchParams.delete(PARAM);
  window.history.replaceState(null, "", address.pathname + address.search);
  const { failed, reasons } = en.signIn;
  return Object.hasOwn(reasons, reason) ? (reasons[reason] ?? failed) : failed;
}

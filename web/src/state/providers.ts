// The way back from an identity provider: the service sends the browser to the page. `leaving.ts` has the way there.

import { en } from "../en";

/** Where the user stands who was signed in last. It lasts as long as the tab. */
const LEFT = "espalier.left";
/** The same where the browser forbids storage. */
let here = "";
/** Where the service tells that a sign-in failed: `/?sign_in=REASON`. */
const PARAM = "sign_in";

/** A visitor's id is a bare UUID. Other ids begin with their issuer. */
export const isVisitor = (userId: string) => !userId.includes(":");

/** Whether another user has signed in than the one who was here: the browser keeps drafts of that one. From now on this user
    is the one who was here. A visitor is nobody else: one who signs in takes the drafts along, unless another user was here
    before, and a user whose session ended finds them again. */
export function isOtherUser(userId: string): boolean {
  if (isVisitor(userId)) return false;
  // The browser's back button may show the page of the one before.
  let left = here;
  here = userId;
  try {
    left ||= sessionStorage.getItem(LEFT) ?? "";
    sessionStorage.setItem(LEFT, userId);
  } catch {
    // The browser forbids storage: the page still has drafts of that user.
  }
  return !isVisitor(left) && left !== userId;
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

// Leaves the page for an identity provider.

import { beginSignIn } from "../api/http";
import { isVisitor, LEFT } from "./providers";

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

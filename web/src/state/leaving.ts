// Leaves the page for an identity provider.

import { beginSignIn } from "../api/http";
import { isVisitor } from "./providers";

/** `userId`: the user of the page that is left, if there was one. */
export async function leaveFor(id: string, userId: string | null): Promise<void> {
  // The chats of a visitor stay the visitor's.
  const returnTo = userId !== null && isVisitor(userId) ? "/" : window.location.pathname + window.location.search;
  window.location.assign(await beginSignIn(id, returnTo));
}

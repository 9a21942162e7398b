// The address: `/?thread=ID`. A query string needs no rewriting by the server of the page.

const PARAM = "thread";
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

export function threadInAddress(): string | null {
  const id = new URLSearchParams(window.location.search).get(PARAM);
  return id !== null && UUID.test(id) ? id.toLowerCase() : null;
}

export function addressOf(threadId: string | null): string {
  return threadId === null ? "/" : `/?${PARAM}=${threadId}`;
}

export function setAddress(threadId: string | null): void {
  if (threadInAddress() === threadId) return;
  window.history.pushState(null, "", addressOf(threadId));
}

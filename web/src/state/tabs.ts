// What the tabs of one browser tell each other. A stream that is idle tells nothing, so a turn that begins in another
// tab would not be seen here.

/** What happened to which chat, or that the person has signed out. */
export type TabNews =
  | { what: "began" | "answered" | "ended" | "renamed" | "deleted"; threadId: string }
  | { what: "signed_out" };

const channel = typeof document === "undefined" ? null : new BroadcastChannel("espalier");

export function tellTabs(news: TabNews): void {
  channel?.postMessage(news);
}

export function hearTabs(listener: (news: TabNews) => void): void {
  channel?.addEventListener("message", (event: MessageEvent<TabNews>) => listener(event.data));
}

// News between the tabs of one browser. An idle stream sends no events, so without them a tab would not see a turn that
// begins in another.

/** An event of a chat, or of the session. */
export type TabNews =
  | { what: "waits" | "answered" | "chose" | "queued" | "ended" | "renamed" | "deleted"; threadId: string }
  /** The service's list may not have the chat yet, so its title comes along. */
  | { what: "began"; threadId: string; title: string }
  | { what: "signed_out" };

const channel = typeof document === "undefined" ? null : new BroadcastChannel("espalier");

export function tellTabs(news: TabNews): void {
  channel?.postMessage(news);
}

export function hearTabs(listener: (news: TabNews) => void): void {
  channel?.addEventListener("message", (event: MessageEvent<TabNews>) => listener(event.data));
}

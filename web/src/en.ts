// Every text of the core of the page, in English, a section for each part of the page. The words of an answer's calls stand
// in `turn/en.ts`, those of refusals in `errors/en.ts`, those of the settings in `settings/en.ts`, those of the sign-in screen in `signIn/en.ts`. A feature has
// its own `en.ts`. A text with a value is a function of it. `words.test.ts` fails when a file of another name holds a text.

import { count } from "./count";

export { count };

const common = {
  product: "Espalier",
  close: "Close",
  closePart: (part: string) => `Close ${part}`,
  cancel: "Cancel",
  keep: "Keep",
  delete: "Delete",
  deletePart: (name: string) => `Delete ${name}`,
  deleteQuestion: (name: string) => `Delete “${name}”?`,
  remove: "Remove",
  removePart: (name: string) => `Remove ${name}`,
  dismiss: "Dismiss",
  send: "Send",
  undo: "Undo",
  loading: "Loading…",
  tryAgain: "Try again",
  tryAgainIn: (seconds: number) => {
    if (seconds < 100) return `Try again in ${seconds} s`;
    const minutes = seconds / 60;
    return `Try again in ${minutes < 100 ? count(Math.ceil(minutes), "minute") : count(Math.ceil(minutes / 60), "hour")}`;
  },
  showMore: "Show more",
  showLess: "Show less",
  showAll: "Show all",
  copied: "Copied",
  copy: (what: string) => `Copy ${what}`,
  copyCode: "the code",
  copyAnswer: "the answer",
  copyMessage: "the message",
  unknown: "unknown",
  none: "none",
};

const page = {
  unavailable: "Espalier is not available",
  chatMissing: "Chat not found",
  chatMissingWhy: "It was deleted, or it belongs to another session.",
  startNewChat: "Start a new chat",
  chatFailed: "This chat could not be loaded",
  titled: (title: string) => `${title} · Espalier`,
  newChat: "New chat",
  chat: "Chat",
  chats: "Chats",
  partFailed: "This part of the page could not be loaded. Reload the page.",
  otherUser: "Your session expired. Earlier chats belong to it.",
  noCookie: "This browser blocked the sign-in cookie. Allow cookies, then try again.",
};

const errors = {
  unreachable: "The service cannot be reached. Check your connection, then try again.",
  inPage: "Something went wrong. Reload the page, then try again.",
  status: (status: number) => `The service answered with error ${status}.`,
};

const signIn = {
  signedIn: "Signed in: ",
  keyTitle: (name: string, prefix: string) => `${name} (API key espk_${prefix}_…)`,
  signOut: "Sign out",
  at: (provider: string) => `Sign in with ${provider}`,
  failed: "The sign-in failed. Try again, or tell the operator.",
  /** By the `sign_in` of the address; any other has failed. */
  reasons: {
    denied: "The identity provider refused, or you cancelled.",
    expired: "This sign-in is no longer valid. Try again.",
    unavailable: "The identity provider could not be reached.",
  } as Readonly<Record<string, string>>,
};

const sidebar = {
  label: "Chats",
  close: "Close the list of chats",
  search: "Search chats",
  searchHint: "Search",
  chats: "Chats",
  found: "Matching chats",
  noneFound: "No matching chats.",
  empty: "Your chats will appear here.",
  older: "Show older chats",
  today: "Today",
  yesterday: "Yesterday",
  week: "Previous 7 days",
  month: "Previous 30 days",
  pinned: "Pinned",
  pin: "Pin",
  unpin: "Unpin",
  untitled: "Untitled chat",
  states: { running: "Answering", waiting: "Waits for you", unread: "New answer" },
  more: (title: string) => `More about “${title}”`,
  rename: "Rename",
  name: "Name of the chat",
  saveMarkdown: "Save as Markdown",
  saveJson: "Save as JSON",
  print: "Print or save as PDF",
  deleted: (title: string) => `Deleted “${title}”.`,
};

const empty = {
  title: "What can I help you with?",
  lead: "Espalier answers questions, uses tools, and splits large tasks into subtasks. You see every step.",
  examples: [
    { label: "Answer", prompt: "What is an espalier?" },
    { label: "Use a tool", prompt: "What is 17 * 23?" },
    { label: "Split the work", prompt: "Research apples, pears and figs, then compare them" },
  ],
  demo: "No model is configured. A small demo model answers with fixed rules.",
};

const composer = {
  label: "Message",
  placeholder: "Ask anything",
  hint: (enter: boolean) => (enter ? "Enter to send, Shift + Enter for a new line." : "Ctrl + Enter to send, Enter for a new line."),
  sendsWhenLoaded: "Your message will be sent when the chat has loaded.",
  tooLong: (over: number) => `This message is ${count(over, "character")} too long.`,
  attach: "Attach files",
  add: "Add files or choose a mode",
  modelChosen: (model: string | null) => (model === null ? "Model" : `Model: ${model}`),
  defaultModel: (model: string | undefined) => (model ? `Default (${model})` : "Default"),
  byRole: (role: string, model: string | undefined) => (model ? `${role} (${model})` : role),
  attached: "Attached files",
  stop: "Stop",
  stopping: "Stopping",
  enqueue: "Add to the queue",
  deny: "Deny with these words",
  sendNow: "Send now",
  sendNowWhy: "Send now: this stops the answer in progress",
  hintQueue: (enter: boolean) => `${enter ? "Enter" : "Ctrl + Enter"} adds your message to the queue. It is sent after the answer.`,
  chosenMode: "Mode of this chat",
  noMode: "Chat without a mode",
  modes: {
    general: { name: "General, with planning", about: "Makes a plan for large tasks, and works through it." },
    swarm: { name: "Swarm: several agents, step by step", about: "Always plans first. Each step gets an agent of its own." },
    auto_route: { name: "Automatic: swarm for complex tasks", about: "Answers simple messages at once." },
  },
};

const attachments = {
  image: "Image",
  /** `media`: the model reads images and PDFs. */
  types: (media: boolean) => (media ? "text files, images and PDFs" : "text files"),
  drop: (types: string) => `Drop to attach: ${types}`,
  /** The name of a long text that was pasted. */
  pasted: (n: number) => (n === 1 ? "Pasted text.txt" : `Pasted text ${n}.txt`),
};

/** For those who listen to an answer that waits for them. */
const asked = {
  call: (tool: string) => `Allow ${tool} to run? The answer is paused until you decide.`,
  form: (server: string) => `The server “${server}” asks you for input. The answer is paused until you answer.`,
  limit: (limit: string) => `Allow more than ${limit}? The answer is paused until you decide.`,
};

const answer = {
  you: "You",
  live: "The answer as it is written",
  complete: "The answer is complete.",
  again: "Answer again",
  edit: "Edit the message",
  editNote: "The earlier message and its answers are kept as a version.",
  toEnd: "Go to the end",
  loading: "Loading the chat…",
  table: "Table",
  taskDone: "done",
  taskOpen: "open",
  plainCode: "text",
  reasoning: "Reasoning",
  reasoningNow: "Reasoning…",
  summarised: "Earlier messages were summarised",
  leftOut: "Earlier messages were left out: this chat is too long for the model.",
  parallel: (calls: number) => `${calls} in parallel`,
  noAnswer: "No answer to this message.",
  noAnswerWhy: "The service has no answer stored.",
  retry: "Try again",
  goOn: "Continue",
  /** The message of a turn that continues another one, as the service stores it. */
  continued: "Continue.",
};

const versions = {
  message: "Versions of this message",
  answer: "Versions of this answer",
  previous: "Previous version",
  next: "Next version",
  place: (place: number, count: number) => `${place}/${count}`,
  spoken: (place: number, count: number) => `Version ${place} of ${count}`,
};

const status = {
  idle: "Idle",
  noTurn: "No answer is in progress.",
  offline: "Offline",
  offlineWords: "You are offline. Your text is kept: send it when you are online again.",
  reconnecting: "Reconnecting…",
  reconnectingWords: "Connection lost. Your answer continues on the server.",
  stopping: "Stopping…",
  queued: "Queued",
  queuedWords: "The answer continues when another of your answers ends.",
  callsRunning: (n: number) => (n === 1 ? "1 call is running." : `${n} calls are running.`),
  running: (tool: string) => `Running ${tool}`,
  subtasks: "Working on subtasks",
  routing: "Choosing how to work",
  plan: "Running plan",
  planWords: "A plan runs step by step.",
  waiting: "Waiting for you",
  waitingWords: "Paused until you answer.",
  waitingForApp: "Waiting for an app",
  waitingForAppWords: (tool: string) => `Paused until the app that runs ${tool} answers.`,
  thinking: "Thinking",
  thinkingWords: "The model is writing its next reply.",
  summarising: "Summarising",
  checking: "Checking the answer",
  summarisingWords: "Earlier messages are being summarised.",
  usedLimits: "Used of the limits of this answer",
  usedOf: (used: string | number, limit: string | number) => `${used} of ${limit}`,
  time: "Time",
  modelCalls: "Model calls",
  toolCalls: "Tool calls",
  subtaskCount: "Subtasks",
};

const notice = {
  stopped: "Stopped.",
  stoppedText: "Finished work is kept.",
  superseded: "Replaced by a newer message.",
  rounds: (calls: number) => (calls === 0 ? "Stopped at the limit of model calls." : `Stopped after ${count(calls, "model call")}.`),
  budgetUsed: "This answer reached a limit.",
  budget: (limit: string) => `This answer reached its limit of ${limit}.`,
  budgets: {
    subtasks: "subtasks",
    llm_calls: "model calls",
    tool_calls: "tool calls",
    wall_clock: "running time",
    tokens: "tokens",
    bytes: "bytes of tool results",
  } as Record<string, string>,
  narrower: "Ask for less at once, or continue in a new message.",
  leftAnswer: "Finished work is kept. The answer is not complete.",
  left: (names: string[], more: number) =>
    `Finished work is kept. Left to do: ${names.join(", ")}${more > 0 ? ` and ${more} more` : ""}.`,
  length: "The answer was cut off at the length limit of the model.",
  lengthText: "Ask it to continue.",
  filter: "The provider of the model withheld the rest of this answer.",
  blocked: "A hook blocked the answer.",
  filterText: "Try to rephrase the question.",
  interrupted: "The answer was interrupted.",
  interruptedText: "Finished work is kept. Try again to continue.",
  failed: "The answer failed.",
  failedText: "Try again. If it fails again, tell the operator.",
};

const figures = {
  modelCalls: (n: number) => count(n, "model call"),
  toolCalls: (n: number) => count(n, "tool call"),
  subtasks: (n: number) => count(n, "subtask"),
  tokens: (n: number) => count(n, "token"),
  ofTurn: (percent: number) => `, ${percent}% of this answer`,
  estimated: "estimated",
  justNow: "just now",
};

const settings = {
  title: "Settings",
};

const exported = {
  you: "You",
  failed: " (failed)",
  otherVersions: "Other versions",
  sources: (names: string) => `Sources: ${names}`,
};

export const en = {
  common, page, errors, signIn, sidebar, empty, composer, attachments, answer, versions, asked, status, notice,
  figures, settings, exported,
};

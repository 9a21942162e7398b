// The words of an answer's calls: approvals, limits, cards, timeline. They come with the code that draws answers.

import { count } from "../count";
import type { HookDecision } from "../wire";

const approval = {
  ask: (tool: string) => `Allow ${tool} to run?`,
  choices: { approve: "Allow once", approve_for_thread: "Allow in this chat", deny: "Deny" },
  reply: {
    denies: (tool: string) => `What you send now denies ${tool}, and tells the model why.`,
    tooLong: (tool: string) => `This is too long for a reason. Queue it, or shorten it to deny ${tool}.`,
    queue: "Queue",
  },
  decided: {
    approve: (tool: string) => `${tool} was allowed once.`,
    approve_for_thread: (tool: string) => `${tool} was allowed in this chat.`,
    deny: (tool: string) => `${tool} was denied.`,
    expired: (tool: string) => `${tool} was not allowed in time.`,
    standing: (tool: string) => `${tool} was allowed in this chat before.`,
  },
  effects: {
    server: (tool: string, server: string) => `It will run “${tool}” on the server “${server}”.`,
    serverReads: (tool: string, server: string) => `It will run “${tool}” on the server “${server}”, which says that this only reads.`,
    client: "It will run in the app that you have connected, and may change the document that is open there.",
    host: (host: string) => `It will send a request to ${host}.`,
    network: "It will send a request to the internet.",
    file: (path: string) => `It will change the file “${path}” of this chat.`,
    fileRead: (path: string) => `It will read the file “${path}” of this chat and change nothing.`,
    files: "It will change files of this chat.",
    filesRead: "It will read files of this chat and change nothing.",
    editor: "It will change the document that is open in your editor.",
    knowledge: "It will change what Espalier knows: memories or projects.",
    knowledgeRead: "It will read what Espalier knows (memories, collections or projects) and change nothing.",
    safe: "It only computes or reads, and changes nothing.",
    subtask: "It will start or end a subtask.",
    secrets: "It will read or change your secrets.",
    media: "It will ask a provider for pictures, speech or a transcript, which may cost money.",
    unknown: "It will run with these arguments.",
  },
  arguments: "Exact arguments",
  left: (time: string) => `${time} left to decide.`,
  days: (n: number) => count(n, "day"),
  hours: (n: number) => count(n, "hour"),
  minutes: (n: number) => count(n, "minute"),
  seconds: (n: number) => count(n, "second"),
  title: "Approvals",
  standing: "Tools allowed in this chat without asking",
  noStanding: "No tools are always allowed in this chat.",
  askAgain: "Ask again",
  askAgainFor: (tool: string) => `Ask again before ${tool} runs`,
};

const limit = {
  ask: (limit: string) => `Allow more than ${limit}?`,
  used: (parts: string[]) => `This answer has reached its limit. Used so far: ${parts.join(", ")}.`,
  gives: (limit: string) => `If you allow it, the answer continues with the same budget once more: up to ${limit}.`,
  times: (n: number) => (n === 1 ? "This is the last time." : `You can allow this ${n} times.`),
  choices: { approve: "Allow more", deny: "End here" },
  decided: {
    approve: (limit: string) => `More was allowed: up to ${limit}.`,
    deny: "No more was allowed.",
    expired: "Nobody answered in time.",
  },
};

const card = {
  status: { running: "running", done: "done", error: "failed", denied: "denied", waiting: "waiting for you" },
  arguments: "Arguments",
  noArguments: "none",
  argumentsCut: "The arguments are longer. This is their beginning.",
  result: "Result",
  error: "Error",
  denied: "Denied",
  deniedWords: "You did not allow this call. It did not run.",
  deniedBecause: (reason: string) => `You said: ${reason}`,
  decided: {
    approve: "You allowed this call once.",
    approve_for_thread: "You allowed this tool in this chat.",
    expired: "Nobody answered in time. It did not run.",
    standing: "You had allowed this tool in this chat before.",
  },
  hook: (name: string) => `Hook ${name}`,
  hookSaid: { allow: "no objection", block: "blocked it", comment: "commented", quit: "no objection, and done" } satisfies Record<HookDecision, string>,
  resultCut: "The result is longer. This is its beginning.",
  emptyResult: "empty",
  unfinished: "It did not finish.",
  instructions: "Instructions",
  subtask: "subtask",
  calls: (n: number) => count(n, "call"),
  tokens: (compact: string) => `${compact} tokens`,
};

const work = {
  /** "Worked 3.5 s · 12 tools · 20 subtasks · $0.058" */
  summary: (running: boolean, time: string | null, tools: number, subtasks: number, cost: string | null) =>
    [
      [running ? "Working" : "Worked", time].filter(Boolean).join(" "),
      tools > 0 && count(tools, "tool"),
      subtasks > 0 && count(subtasks, "subtask"),
      cost,
    ].filter(Boolean).join(" · "),
  now: "The work that goes on",
  more: (parts: number) => `and ${parts} more`,
  timeline: "Timeline",
  expandAll: "Expand all",
  collapseAll: "Collapse all",
  lanes: "Calls over time",
  lane: (from: string, to: string) => `, from ${from} to ${to}`,
  laneFailed: ", failed",
  modelLane: (words: string) => `, model call: ${words}`,
  firstByte: (time: string) => `first word after ${time}`,
  tokens: (input: string, output: string) => `${input} → ${output}`,
  tokensInWords: (input: string, output: string) => `${input} tokens in, ${output} out`,
  details: {
    title: (model: string) => `Model call of ${model}`,
    started: "Started at",
    firstByte: "First word after",
    duration: "Took",
    input: "Tokens in",
    cached: (n: string) => `, ${n} of them cached`,
    estimated: ", estimated",
    output: "Tokens out",
    cost: "Cost",
    ended: "Ended",
  },
  ends: {
    stop: "finished",
    tool_calls: "asked for tools",
    length: "reached its length limit",
    content_filter: "filtered by the provider",
    pause: "paused by the provider",
    aborted: "stopped",
  } as Record<string, string>,
  stillRuns: "still running",
  models: "Models of this answer",
  columns: { model: "Model", calls: "Calls", input: "Tokens in", output: "Tokens out", cost: "Cost" },
};

const form = {
  ask: (server: string) => `The server “${server}” asks you`,
  effect: (server: string) => `“${server}” gets what you fill in. Give no password here.`,
  optional: (label: string) => `${label} (optional)`,
  none: "No choice",
  unusual: "This form cannot be filled in here.",
  send: "Send",
  decline: "Decline",
  decided: {
    approve: (server: string) => `“${server}” got your answer.`,
    deny: (server: string) => `“${server}” got no answer: you declined.`,
    expired: (server: string) => `“${server}” got no answer in time.`,
  },
};

export const turnWords = { approval, form, limit, card, work };

// The words of agents that the page needs before their panel.

import { count } from "../../count";

export const words = {
  title: "Agents",
  mode: { name: "Agents", about: "The model can make agents with names, which remember this chat and can discuss with each other." },
  on: "Agents are on in this chat",
  off: "Turn agents off",
  example: { label: "Have agents discuss", prompt: "Have two critics discuss apples" },
  running: { task: "An agent works", discuss: "Agents discuss", agent_reply: "An agent speaks", websearch: "Searching the web", digest_page: "Reading pages" },
  talkingTo: (name: string) => `You talk to ${name}. The main agent does not hear it.`,
  toMain: "Back to the main agent",
  answeredBy: (name: string) => `${name} answers`,
  discussion: "Discussion",
  task: (name: string) => `Agent ${name}`,
  made: "was made",
  speeches: (n: number) => count(n, "answer"),
};

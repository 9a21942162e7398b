// Agents that stay: the model makes them, they remember, and they discuss. It gives the page a switch in the menu of modes,
// a panel in which a person reads agents and talks to them, discussions as conversations within their cards, and words for
// all this in the composer.

import { CheckIcon } from "../../components/Icons";
import type { Feature } from "../../feature";
import { NEW_CHAT } from "../../state/drafts";
import { fetchPart, page } from "../../state/page";
import { part } from "../../state/parts";
import { useStore } from "../../state/store";
import "./agents.css";
import { AnsweredBy, discussion, needed, useAgentCard } from "./card";
import { AgentChips } from "./Chips";
import { choice, NOTHING, requestPart, talkTo, turnOn } from "./choice";
import { words } from "./en";
import { agentsAfter, agentsStored, NONE, PAGE_TOOL, REPLY_TOOL, SEARCH_TOOL } from "./knowledge";
import { PeopleIcon } from "./PeopleIcon";

const panel = part(() => import("./AgentsPanel").then((module) => module.AgentsPanel));
const commands = part(() => import("./panel/commands"));

/** A line of the composer that is a word of the page and no message. */
const COMMAND = /^\/(list|talkwith|dump|restore)(?:\s+(\S+))?$/;

/** Whether the deployment has agents. It has, as long as the service has not said otherwise. */
const isOffered = () => page.get().health?.agents !== false;

export const agents: Feature = {
  name: "agents",
  toolLabels: words.running,
  choice,
  request: requestPart,
  refused: (chat, { code }) => {
    if (code === "agent_not_found") talkTo(chat, null);
  },
  useMode: (chat) => {
    useStore(page);
    const { on, to } = useStore(choice.store).byChat[chat] ?? NOTHING;
    const checked = on || to !== null;
    return isOffered() ? { label: words.mode.name, about: words.mode.about, ...(checked && { icon: <CheckIcon /> }), checked, alone: true, testId: "agents-switch", act: () => turnOn(chat, !checked) } : null;
  },
  useExample: () => {
    useStore(page);
    return isOffered() ? { ...words.example, before: () => turnOn(NEW_CHAT, true) } : null;
  },
  command: (line, place) => {
    const [, name, argument] = COMMAND.exec(line) ?? [];
    if (name === undefined || !isOffered()) return false;
    fetchPart(commands, () => {});
    void commands.load().then(({ carryOut }) => carryOut(name, argument ?? null, place), () => {});
    return true;
  },
  exported: async (threadId) => ({ agents: await (await import("./export")).dumpsOf(threadId) }),
  prepare: (turns) => (needed(turns) ? discussion.load() : null),
  turn: {
    levels: [REPLY_TOOL, PAGE_TOOL],
    subtasks: [REPLY_TOOL, PAGE_TOOL, SEARCH_TOOL],
    begin: () => NONE,
    after: agentsAfter,
    stored: agentsStored,
  },
  panel: { part: panel, label: words.title, Icon: PeopleIcon, place: "top bar", testId: "agents-toggle" },
  Chips: AgentChips,
  Around: AnsweredBy,
  useCard: useAgentCard,
};

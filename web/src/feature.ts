// A feature of the page, as the core sees it. The core (chats, the composer, turns, sign-in) asks features for their
// additions, and names none of them. features/index.ts lists the features of this page.

import type { ComponentType, ReactNode } from "react";
import type { Refusal } from "./api/http";
import type { MenuItem } from "./components/Menu";
import type { ConversationState } from "./state/onScreen";
import type { PerChat } from "./state/perChat";
import type { Part } from "./state/parts";
import type { Outline } from "./turn/outline";
import type { Status } from "./turn/status";
import type { Approval, ToolEntry, TurnView } from "./turn/view";
import type { ChatRequest, Decision, StoredMessage, ThreadDetail, TurnEvent } from "./wire";

export interface Feature {
  /** The name of its folder. A turn keeps the feature's knowledge under this name. */
  name: string;
  /** Words for the status chip while one of these tools runs. */
  toolLabels?: Readonly<Record<string, string>>;

  /** A choice that a person makes for single chats. The core loads it, and carries it over to a chat that begins. */
  choice?: Pick<PerChat<unknown>, "load" | "takeAlong" | "clear">;
  /** Context types that it adds to the menu of chat modes. */
  subjects?: Readonly<Record<string, SubjectWords>>;
  /** Its own entry in that menu; null where the deployment has none of it. A hook: the menu calls it at each drawing. */
  useMode?(chat: string): MenuItem | null;
  /** Its example on the first screen; null where the deployment has none of it. A hook, as `useMode`. */
  useExample?(): Example | null;
  /** Carries out a line of the composer that begins with `/`. False: the line is a message. */
  command?(line: string, place: CommandPlace): boolean;
  /** The members that it adds to a message of this chat; `from` is the turn that the message continues or asks again. */
  request?(chat: string, from?: TurnView | null): Partial<ChatRequest>;
  /** The service refused a message of this chat. */
  refused?(chat: string, refusal: Refusal): void;
  /** The members that it adds to the file of a chat (JSON). */
  exported?(threadId: string, signal: AbortSignal): Promise<Readonly<Record<string, unknown>>>;
  /** What it adds to that file as Markdown; null where it has nothing. */
  written?(thread: ThreadDetail): Promise<string | null>;
  /** The service has a message that was sent here: its turn began, or it waits for one. */
  began?(threadId: string): void;
  /** The page has read the open chat. */
  read?(details: ThreadDetail): void;
  /** A tool ended in this thread. */
  called?(threadId: string, tool: string): void;
  /** A turn ended in this thread. */
  ended?(threadId: string): void;
  /** The reader came back to this tab. */
  returned?(): void;

  /** Loads the code that draws these turns, where they need it. A chat that is opened waits for it. */
  prepare?(turns: Turns): Promise<unknown> | null;

  /** Its knowledge of a turn. */
  turn?: TurnKnowledge;
  /** The turn whose outcome waits for the reader's next message. */
  waiting?(turns: Turns): Waiting | null | undefined;
  /** Whether it keeps this turn of the chat from being asked again, and its question from being changed. */
  holds?(turn: TurnView | null, turns: Turns): boolean | undefined;
  /** The status of a turn whose agent is `executing_plan`. */
  planStatus?(view: TurnView): Status | null;

  /** Opens beside the chat. */
  panel?: Panel;
  /** A section of the settings. */
  setting?: Part<ComponentType>;
  /** Stands between the chat and the composer. */
  Dock?: ComponentType<{ state: ConversationState }>;
  /** Stands in the composer, above the text. */
  Chips?: ComponentType<{ chat: string }>;
  /** Encloses the entries of an answer, to give their cards a context. */
  Around?: ComponentType<{ view: TurnView; children: ReactNode }>;
  /** Stands among the buttons below an answer that has ended. */
  Action?: ComponentType<{ view: TurnView }>;
  /** Stands below an answer. */
  Below?: ComponentType<{ view: TurnView }>;
  /** Draws the card of a call; null leaves it to the core. A hook: each card calls it at each drawing. */
  useCard?(call: ToolEntry, outline: Outline): Card | null;
  /** Asks for the reader's decision in its own words; null leaves it to the core. A hook, as `useCard`. */
  useQuestion?(approval: Approval | undefined): OwnQuestion | null;
  /** Draws the result of a call; null leaves it to the core. */
  result?(call: ToolEntry): Result | null;
}

/** A chat mode: its name, and one sentence about it. */
export interface SubjectWords {
  name: string;
  about: string;
}

/** A question that a person can try. */
export interface Example {
  label: string;
  prompt: string;
  /** Called before the new chat sends the question. */
  before: () => void;
}

/** The open chat, for a line that is carried out there. */
export interface CommandPlace {
  chat: string;
  threadId: string | null;
  /** Opens the panel of the feature. */
  show: () => void;
  /** Tells the person why the line had no effect. */
  refuse: (words: string) => void;
}

/** Turns of a chat, oldest first. */
export type Turns = readonly { turnId: string; answer: TurnView | null }[];

/** A feature's knowledge of one turn. Live events and the stored message must lead to the same. */
export interface TurnKnowledge {
  /** Tools whose calls contain other calls, and whose argument `title` names the call. */
  levels: readonly string[];
  /** Tools whose calls count towards the limit of subtasks. */
  subtasks: readonly string[];
  /** The knowledge of a turn that begins after these. */
  begin(before: Turns): unknown;
  /** The knowledge after an event; `view` is the turn before it. */
  after(view: TurnView, event: TurnEvent): unknown;
  stored(message: StoredMessage): unknown;
}

export interface Waiting {
  turnId: string;
  status: Status;
  /** For those who listen to the answer. */
  announcement: string;
}

export interface Panel {
  part: Part<ComponentType<PanelProps>>;
  label: string;
  Icon: ComponentType;
  /** Where its button stands. */
  place: "top bar" | "sidebar";
  testId: string;
  /** Whether the deployment has it. Called at each drawing. */
  isOffered?(): boolean;
  /** Its entry in the menu of the composer. */
  composerButton?: { label: string; testId: string };
}

export interface PanelProps {
  /** The open chat, as drafts name it. */
  chat: string;
  /** The open chat's id; null until the service knows the chat. */
  threadId: string | null;
  onClose: () => void;
}

export interface Card {
  title: string;
  /** The words beside the title. */
  gist: (open: boolean) => string;
  /** Stands at the end of the head. */
  meta: ReactNode;
  /** It waits for the reader: its mark says so in place of the call's own. */
  waiting?: boolean;
  /** It starts folded, as a plain call does. */
  folded?: boolean;
  /** Null until its chunk has come: the card shows its calls meanwhile. */
  body: ReactNode | null;
}

/** The question of a call that waits for the reader. */
export interface OwnQuestion {
  ask: string;
  /** The consequence of the decision, and all that the reader needs for it. */
  body: ReactNode;
  /** The words of each possible answer. */
  choices: Partial<Record<Decision, string>>;
  /** The sentence that stands in place of the question after a decision. */
  decided: Record<Decision, string>;
}

export interface Result {
  label: string;
  body: ReactNode;
}

let composed: readonly Feature[] = [];

/** Gives the page its features. Once, before anything is drawn; tests of a feature compose it alone. */
export function compose(features: readonly Feature[]): void {
  composed = features;
}

export function features(): readonly Feature[] {
  return composed;
}

/** The question of a feature; null: the core asks. A hook: the features never change, so each drawing calls the same hooks. */
export function useQuestion(approval: Approval | undefined): OwnQuestion | null {
  const questions = composed.map((feature) => feature.useQuestion?.(approval));
  return questions.find(Boolean) ?? null;
}

/** Settles once the code that draws these turns is there. Without a network they are drawn without it. */
export function preparedFor(turns: Turns): Promise<unknown> {
  return Promise.all(composed.map((feature) => feature.prepare?.(turns)?.catch(() => {})));
}

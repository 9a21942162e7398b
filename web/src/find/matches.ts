// The messages of a chat that have some words.

import { parseQuestion } from "../turn/attachments";
import type { Exchange } from "../turn/stored";
import { answerText } from "../turn/view";

export interface Match {
  turnId: string;
  part: "question" | "answer";
}

/** In the order of the chat. Upper and lower case are the same. */
export function matchesIn(exchanges: readonly Exchange[], words: string): Match[] {
  const wanted = words.trim().toLowerCase();
  if (wanted === "") return [];
  return exchanges.flatMap(({ turnId, question, answer }) => {
    const parts: [Match["part"], string][] = [["question", parseQuestion(question).text], ["answer", answer ? answerText(answer) : ""]];
    return parts.filter(([, text]) => text.toLowerCase().includes(wanted)).map(([part]) => ({ turnId, part }));
  });
}

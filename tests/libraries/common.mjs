// The common part of the programs: the tool, and the report of what the library made of each answer.

import { z } from "zod";

export const { service, llm, key, instructions, said, barrier } = JSON.parse(process.env.LIBRARY_CASE);
export const MODEL = "espalier";
export const BASE = `${service}/v1`;
/** One byte beyond the service's limit. */
export const TOO_LONG = "x".repeat(20_001);

export const DESCRIPTION = "Books a trip.";

/** The arguments of the tool, with the parts of zod that are hard for others. */
export const trip = z.object({
  to: z.email().describe("Whose trip"),
  note: z.string().nullable(),
  kind: z.enum(["train", "boat"]),
  stop: z.tuple([z.string(), z.number()]),
  remark: z.string().optional(),
  seats: z.number().int().positive().default(1),
});

/** The same for OpenAI's strict schemas: nothing may be absent, and there are no tuples. */
export const strictTrip = trip.extend({
  stop: z.array(z.union([z.string(), z.number()])), remark: z.string().nullable(), seats: z.number().int().positive(),
});

export const answer = z.object({ city: z.string(), days: z.number() });

const calls = [];
/** The arguments of the tool's calls since the last time. */
export const taken = () => calls.splice(0);
export const book = (args) => {
  calls.push(args);
  return `Booked for ${args.to}.`;
};

/** Lets the model go on. */
export const release = async () => {
  const answer = await fetch(`${llm}/_fake/release`, { method: "POST", body: JSON.stringify({ barrier }) });
  if (!answer.ok) throw new Error(await answer.text());
};

/** The text of a stream. The model says the rest once its first piece is here. */
export const collect = async (pieces) => {
  let text = "";
  for await (const piece of pieces) {
    if (text === "" && piece) await release();
    text += piece;
  }
  return text;
};

export const described = (error) => {
  const { status, statusCode, message } = error;
  return { error: error.constructor.name, status: status ?? statusCode ?? null, message };
};

/** How the library tells that a request failed. */
export const refusal = async (run) => {
  try {
    await run();
    return "not refused";
  } catch (error) {
    return described(error);
  }
};

/** Plays the parts one after the other. */
export const play = async (parts) => {
  const report = {};
  for (const [name, part] of Object.entries(parts)) report[name] = await part();
  console.log(JSON.stringify(report));
  // Some libraries keep timers.
  process.exit();
};

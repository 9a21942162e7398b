// A chat at the terminal with OpenAI's library:
//   OPENAI_BASE_URL=http://localhost:8787/v1 OPENAI_API_KEY=espk_… node chat.mjs

import OpenAI from "openai";
import { createInterface } from "node:readline/promises";

const client = new OpenAI();
const terminal = createInterface({ input: process.stdin, output: process.stdout });

let previous_response_id;
for await (const input of terminal) {
  const stream = await client.responses.create({ model: "espalier", input, previous_response_id, stream: true });
  for await (const event of stream) {
    if (event.type === "response.created") previous_response_id = event.response.id;
    if (event.type === "response.output_text.delta") process.stdout.write(event.delta);
    if (event.type === "response.mcp_call.in_progress") process.stdout.write("[a tool runs] ");
    if (event.type === "response.failed") process.stdout.write(event.response.error.message);
  }
  process.stdout.write("\n");
}

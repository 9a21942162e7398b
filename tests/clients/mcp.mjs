// The protocol's own libraries for Node: `@modelcontextprotocol/client` speaks 2026-07-28 (`era: "modern"`), and
// `@modelcontextprotocol/sdk` the revisions before it. `tests/e2e/mcp_server.rs` says what the client does, and judges the
// report: what it was told at first, the results of its steps, and what it was asked meanwhile.

import { Client as ModernClient, StreamableHTTPClientTransport as ModernTransport } from "@modelcontextprotocol/client";
import { Client as LegacyClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as LegacyTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { release } from "./common.mjs";

const given = JSON.parse(process.env.CLIENT_CASE);
/** The address and the headers: as a desktop client's configuration has them, or from the case. */
const configured = () => {
  if (!given.config) return { url: `${given.url}/mcp`, headers: { authorization: `Bearer ${process.env.CLIENT_KEY}` } };
  const filled = JSON.stringify(given.config).replace(/\$\{(\w+)\}/g, (_, name) => process.env[name]);
  return JSON.parse(filled).mcpServers.espalier;
};
const { url: address, headers } = configured();
const url = new URL(address);
const info = { name: "espalier-tests", version: "1" };
const asked = [];

const connect = async () => {
  const capabilities = given.answer ? { elicitation: {} } : {};
  const [Client, Transport] = given.era === "modern" ? [ModernClient, ModernTransport] : [LegacyClient, LegacyTransport];
  const options = given.era === "modern" ? { capabilities, versionNegotiation: { mode: "auto" } } : { capabilities };
  const client = new Client(info, options);
  if (given.answer) {
    client.setRequestHandler("elicitation/create", async ({ params }) => {
      asked.push(params);
      return given.answer;
    });
  }
  const transport = new Transport(url, { requestInit: { headers } });
  await client.connect(transport);
  const version = given.era === "modern" ? client.getNegotiatedProtocolVersion() : transport.protocolVersion;
  return { client, version };
};

/** A step of the case: the method of the client, and its parameters. A failure is told as the library has it. */
const step = async (client, { method, params, abort }) => {
  const progress = [];
  const stop = new AbortController();
  const onprogress = ({ progress: number, message }) => {
    progress.push([number, message]);
    if (abort) stop.abort();
  };
  try {
    const options = { onprogress, signal: stop.signal };
    const result = method === "callTool" && given.era !== "modern"
      ? await client.callTool(params, undefined, options)
      : await client[method](params, options);
    return { result, progress };
  } catch (error) {
    return { error: { code: error.code ?? null, message: error.message }, progress };
  }
};

try {
  const { client, version } = await connect();
  const told = { version, server: client.getServerVersion(), capabilities: client.getServerCapabilities() };
  const results = [];
  for (const one of given.steps ?? []) results.push(await step(client, one));
  if (given.releases) await release();
  await client.close();
  console.log(JSON.stringify({ ...told, results, asked }));
} catch (error) {
  console.log(JSON.stringify({ refused: { code: error.code ?? null, message: error.message } }));
}

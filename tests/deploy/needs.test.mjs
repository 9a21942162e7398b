// The secrets that variables need.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { Problem, secrets } from "../../scripts/deployment-needs.mjs";

const SOURCE = join(import.meta.dirname, "../../durable/providers/src/config");
const OPERATIONS = join(import.meta.dirname, "../../docs/operations.md");

/** The names that the variables need beside SESSION_SECRET, by | where either serves; a ? marks one that may be absent. */
const names = (vars) =>
  secrets({ SESSION_SECRET: "there", ...vars }).map(
    ({ name, or, optional }) => `${name}${or ? `|${or}` : ""}${optional ? "?" : ""}`,
  );

test("each provider, search service, MCP server, identity provider, gateway and collector names its secrets", () => {
  const url = "https://models.example/v1";
  const bearer = { docs: { url, auth: { bearer_secret: "DOCS_TOKEN" } } };
  const client = { client_credentials: { client_secret_secret: "TICKETS_SECRET" } };
  const oauth = { tickets: { url, auth: client }, open: { url } };
  const acme = { id: "acme", client_secret_secret: "ACME_SECRET" };
  const rows = [
    [{}, []],
    [{ LLM_PROVIDER: "demo" }, []],
    [{ LLM_PROVIDER: "workers-ai", LLM_MODEL: "@cf/x" }, []],
    [{ LLM_PROVIDER: "anthropic", LLM_MODEL: "m" }, ["LLM_API_KEY|ANTHROPIC_API_KEY"]],
    [{ LLM_MODEL: "m" }, ["LLM_API_KEY|OPENAI_API_KEY"]],
    [{ LLM_BASE_URL: url, LLM_MODEL: "m" }, ["LLM_API_KEY?"]],
    [{ LLM_PROVIDER: "openai", LLM_API_KEY: "a variable" }, []],
    [{ LLM_PROVIDER: "openai-responses", OPENAI_API_KEY: "a variable" }, []],
    [{ LLM_PROVIDER: "openai-chat", OPENAI_API_KEY: "a variable" }, []],
    [{ LLM_PROVIDER: "my-box", MY_BOX_BASE_URL: url }, ["LLM_API_KEY|MY_BOX_API_KEY?"]],
    [{ LLM_PROVIDER: "openai", AI_GATEWAY_URL: url }, ["LLM_API_KEY|OPENAI_API_KEY?", "AI_GATEWAY_TOKEN?"]],
    [{ AI_GATEWAY_URL: url, AI_GATEWAY_TOKEN: "a variable" }, []],
    [{ LLM_PROVIDER: "demo", MODEL_PRIMARY: "openai:a, anthropic:b:c" }, ["OPENAI_API_KEY", "ANTHROPIC_API_KEY"]],
    [
      { MODEL_PRIMARY: "openai:a", MODEL_SUBAGENT: "openai-responses:b", MODELS: "gemini:c" },
      ["OPENAI_API_KEY", "GEMINI_API_KEY"],
    ],
    [{ LLM_PROVIDER: "demo", MODEL_SPEED: "my-box:qwen3:8b", MY_BOX_BASE_URL: url }, ["MY_BOX_API_KEY?"]],
    [{ LLM_PROVIDER: "openai", LLM_MODEL: "a", MODEL_SPEED: "openai:b" }, ["LLM_API_KEY|OPENAI_API_KEY"]],
    [{ SEARCH: "brave" }, ["BRAVE_API_KEY"]],
    [{ SEARCH: "google" }, ["GOOGLE_API_KEY"]],
    [{ SEARCH: "searxng" }, []],
    // The provider `google` may do without the key, the search may not.
    [{ SEARCH: "google", MODELS: "google:a", GOOGLE_BASE_URL: url }, ["GOOGLE_API_KEY"]],
    [{ MCP_SERVERS: JSON.stringify(bearer) }, ["DOCS_TOKEN"]],
    [{ MCP_SERVERS: oauth }, ["TICKETS_SECRET"]],
    [{ OIDC: JSON.stringify([acme, { id: "public" }]) }, ["ACME_SECRET"]],
    [{ OIDC: [acme, { ...acme, client_secret_secret: "OTHER_SECRET" }] }, ["ACME_SECRET", "OTHER_SECRET"]],
    [{ OIDC: " " }, []],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: url }, ["OTEL_EXPORTER_OTLP_HEADERS?"]],
  ];
  for (const [vars, expected] of rows) assert.deepEqual(names(vars), expected, JSON.stringify(vars));
  assert.deepEqual(secrets({}), [{ name: "SESSION_SECRET", made: true }]);
  for (const name of ["MCP_SERVERS", "OIDC"]) assert.throws(() => secrets({ [name]: "{" }), Problem);
  const found = new Set(rows.flatMap(([, expected]) => expected.flatMap((name) => name.replace("?", "").split("|"))));
  // `make deploy` makes the second, the Worker derives the first from it, and the third stands for any provider's.
  const others = ["WORKFLOW_SECRET", "SESSION_SECRET", "NAME_API_KEY"];
  const documented = [...readFileSync(OPERATIONS, "utf8").matchAll(/^\| `(\w+)` \(secret\)/gm)].map(([, name]) => name);
  assert.deepEqual(documented.filter((name) => !found.has(name) && !others.includes(name)), []);
  assert.ok(documented.length > others.length);
});

test("the providers and lists of models are those of the Worker", () => {
  const known = readFileSync(join(SOURCE, "provider.rs"), "utf8").split("const KNOWN")[1].split("\n];")[0];
  for (const [, provider, prefix] of known.matchAll(/name: "([^"]+)",\s*variables: "([^"]+)"/g)) {
    assert.deepEqual(names({ MODELS: `${provider}:m` }), [`${prefix}_API_KEY`]);
  }
  assert.equal([...known.matchAll(/name: "/g)].length, 5);
  const lists = readFileSync(join(SOURCE, "../config.rs"), "utf8").match(/"MODEL_[A-Z]+"/g);
  for (const list of new Set(lists.map((quoted) => quoted.slice(1, -1)))) {
    assert.deepEqual(names({ LLM_PROVIDER: "demo", [list]: "openai:m" }), ["OPENAI_API_KEY"], list);
  }
});

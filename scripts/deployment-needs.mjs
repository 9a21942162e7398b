// The needs of a deployment: the resources and secrets that its configuration names. Pure; `scripts/deploy` asks the
// account for them and creates the missing ones.

/** The variables that list models as `PROVIDER:MODEL` (durable/providers/src/config.rs). */
const MODEL_LISTS = [
  "MODEL_PRIMARY",
  "MODEL_SECONDARY",
  "MODEL_SPEED",
  "MODEL_BALANCED",
  "MODEL_QUALITY",
  "MODEL_GUARD",
  "MODEL_SUBAGENT",
  "MODELS",
];

/** Providers with an address of their own, and the prefix of their variables (`KNOWN` in config/provider.rs). */
const KNOWN = {
  openai: "OPENAI",
  "openai-chat": "OPENAI",
  "openai-responses": "OPENAI",
  anthropic: "ANTHROPIC",
  gemini: "GEMINI",
};

/** Providers without a key. */
const KEYLESS = ["demo", "workers-ai"];

const SEARCH_KEYS = { brave: "BRAVE_API_KEY", google: "GOOGLE_API_KEY" };

/** The dimensions of the vectors, by model: <https://developers.cloudflare.com/workers-ai/models/>. */
const DIMENSIONS = {
  "@cf/baai/bge-m3": 1024,
  "@cf/baai/bge-large-en-v1.5": 1024,
  "@cf/baai/bge-base-en-v1.5": 768,
  "@cf/baai/bge-small-en-v1.5": 384,
};

/** A mistake of the operator, in a sentence that says how to mend it. */
export class Problem extends Error {}

/**
 * The resources that the bindings name. A database with an id in the configuration exists already: wrangler finds it by
 * the id, whatever its name.
 */
export function resources(config) {
  const model = text(config.vars.EMBEDDING_MODEL);
  return {
    databases: (config.d1_databases ?? []).filter((entry) => !entry.database_id).map((entry) => entry.database_name),
    buckets: (config.r2_buckets ?? []).map((entry) => entry.bucket_name),
    indexes: (config.vectorize ?? []).map(({ index_name: name }) => ({ name, dimensions: DIMENSIONS[model], model })),
  };
}

/**
 * The secrets that the variables need, each once: `made` are ours to make, `optional` are for servers that may need none,
 * and `or` is the name of another secret that serves as well. `WORKFLOW_SECRET` is not among them: without it the Worker
 * derives a key from `SESSION_SECRET`.
 */
export function secrets(vars) {
  const needed = new Map([["SESSION_SECRET", { name: "SESSION_SECRET", made: true }]]);
  const need = (name, optional = false, or) => {
    if (!needed.has(name) || needed.get(name).optional) needed.set(name, { name, optional, or });
  };
  const simple = text(vars.LLM_PROVIDER) || (text(vars.LLM_BASE_URL) || text(vars.LLM_MODEL) ? "openai" : "");
  for (const provider of providers(vars, simple)) {
    const prefix = KNOWN[provider] ?? provider.toUpperCase().replaceAll("-", "_");
    const own = provider === simple ? "LLM" : prefix;
    const address = text(vars[`${own}_BASE_URL`]) || text(vars[`${prefix}_BASE_URL`]);
    // A key from the environment must not go to another server than the provider's, so LLM_BASE_URL allows no other name.
    const or = provider === simple && !text(vars.LLM_BASE_URL) ? `${prefix}_API_KEY` : undefined;
    need(`${own}_API_KEY`, Boolean(address || text(vars.AI_GATEWAY_URL)), or);
  }
  if (text(vars.AI_GATEWAY_URL)) need("AI_GATEWAY_TOKEN", true);
  if (text(vars.OTEL_EXPORTER_OTLP_ENDPOINT)) need("OTEL_EXPORTER_OTLP_HEADERS", true);
  const search = SEARCH_KEYS[text(vars.SEARCH)];
  if (search) need(search);
  for (const server of Object.values(json(vars, "MCP_SERVERS"))) {
    const name = server?.auth?.bearer_secret ?? server?.auth?.client_credentials?.client_secret_secret;
    if (name) need(name);
  }
  for (const provider of Object.values(json(vars, "OIDC"))) {
    // Without the member the provider knows the service as a public client.
    if (provider?.client_secret_secret) need(provider.client_secret_secret);
  }
  return [...needed.values()].filter(({ name, or }) => !text(vars[name]) && !text(vars[or]));
}

/** The providers of all configured models that have a key. */
function providers(vars, simple) {
  const listed = MODEL_LISTS.flatMap((list) => text(vars[list]).split(","))
    .filter((model) => model.includes(":"))
    .map((model) => model.trim().split(":")[0]);
  // MODEL_PRIMARY wins over the model of LLM_*.
  const all = text(vars.MODEL_PRIMARY) ? listed : [simple, ...listed];
  return [...new Set(all)].filter((provider) => provider && !KEYLESS.includes(provider));
}

/** A variable's object or list; wrangler.toml may have it as a table, as tables or as text. */
function json(vars, name) {
  const value = vars[name] ?? {};
  if (typeof value !== "string") return value;
  try {
    return JSON.parse(text(value) || "{}");
  } catch {
    throw new Problem(`${name} in [env.production.vars] of wrangler.toml is no JSON.`);
  }
}

function text(value) {
  return typeof value === "string" ? value.trim() : "";
}

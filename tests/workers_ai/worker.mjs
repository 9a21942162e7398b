// The Worker with stand-ins for bindings that exist at Cloudflare only, and with an R2 that can refuse. A call of Workers AI goes to the fake LLM, and
// comes back in the binding's form: a stream of bytes or a thrown error. Embeddings and conversions are made here.
// Vectorize is a map that compares by cosine, as the binding does, but at once.

// The name stands for the Worker under test: an alias of the configuration that the harness writes.
import Worker, { ThreadObject as Thread } from "espalier";

export * from "espalier";

// Each row is a direction: its words have the same meaning.
const MEANINGS = [
  ["automobile", "car", "vehicle"],
  ["fuel", "petrol", "gasoline"],
  ["physician", "doctor"],
  ["tree", "espalier", "orchard"],
];

function embedded(text) {
  if (text.includes("unembeddable")) throw new Error("3040: Capacity temporarily exceeded");
  const words = text.toLowerCase().split(/[^a-z]+/);
  const values = MEANINGS.map((same) => words.filter((word) => same.includes(word)).length);
  return [...values, values.some((value) => value > 0) ? 0 : 1];
}

function cosine(a, b) {
  const dot = (x, y) => x.reduce((sum, value, at) => sum + value * y[at], 0);
  return dot(a, b) / Math.sqrt(dot(a, a) * dot(b, b));
}

// The folders of R2 that take no objects now, and the documents whose vectors cannot be deleted:
// `PUT /api/_refusing/FOLDER` adds one, `DELETE` takes it away.
const REFUSING = "/api/_refusing/";
const refusing = new Set();
const isRefused = (key) => [...refusing].some((folder) => key.startsWith(folder));

const vectors = new Map();

const VECTORS = {
  async upsert(list) {
    if (list.length > 1000) throw new Error("too many vectors");
    for (const { id, values, metadata } of list) {
      if (id.length > 64) throw new Error("an id is too long");
      vectors.set(id, { values: [...values], metadata });
    }
    return { mutationId: "m" };
  },
  async query(vector, { topK, returnMetadata, filter }) {
    if (topK > 100 || returnMetadata !== "none") throw new Error("too much is asked for");
    const matches = [...vectors]
      .filter(([, { metadata }]) => filter.scope.$in.includes(metadata.scope))
      .map(([id, { values }]) => ({ id, score: cosine(values, vector) }))
      .sort((a, b) => b.score - a.score)
      .slice(0, topK);
    return { count: matches.length, matches };
  },
  async deleteByIds(ids) {
    if (ids.length > 1000) throw new Error("too many ids");
    if (ids.some(isRefused)) throw new Error("deleteByIds: VECTOR_DELETE_ERROR");
    for (const id of ids) vectors.delete(id);
    return { mutationId: "m" };
  },
};


const bucket = (whole) =>
  new Proxy(whole, {
    get(target, name) {
      const value = target[name];
      if (typeof value !== "function" || name === "constructor") return value;
      return async (...given) => {
        if (name === "put" && isRefused(given[0])) throw new Error("put: We encountered an internal error. (10001)");
        return value.apply(target, given);
      };
    },
  });

const bound = (env) => ({
  ...env,
  WORKSPACE: bucket(env.WORKSPACE),
  VECTORS,
  AI: {
    async run(model, inputs, options) {
      if (model === env.EMBEDDING_MODEL) {
        if (inputs.text.length > 100) throw new Error("too many texts");
        return { shape: [inputs.text.length, MEANINGS.length + 1], data: inputs.text.map(embedded) };
      }
      const body = JSON.stringify({ model, ...inputs });
      const answer = await fetch(env.FAKE_AI_URL, { method: "POST", body, signal: options.signal });
      if (!answer.ok) throw new Error((await answer.json()).error);
      return answer.body;
    },
    // The text of a PDF is its comments. One comment makes the file unreadable, another makes the service fail.
    async toMarkdown({ name, blob }) {
      if (blob.type !== "application/pdf") throw new Error(`not a PDF: ${blob.type}`);
      const text = await blob.text();
      if (text.includes("away")) throw new Error("3040: Capacity temporarily exceeded");
      const told = { id: "1", name, mimeType: blob.type };
      if (text.includes("encrypted")) return { ...told, format: "error", error: "it is encrypted" };
      return { ...told, format: "markdown", tokens: 9, data: text.replace(/^%PDF.*$/m, "").replaceAll("%", "") };
    },
  },
});

// `GET /api/_vectors/DOCUMENT` counts the vectors of a document.
const COUNTING = "/api/_vectors/";

export default {
  fetch(request, env, ctx) {
    const { pathname } = new URL(request.url);
    if (pathname.startsWith(COUNTING)) {
      const document = `${pathname.slice(COUNTING.length)}:`;
      return Response.json([...vectors.keys()].filter((id) => id.startsWith(document)).length);
    }
    if (!pathname.startsWith(REFUSING)) return new Worker(ctx, bound(env)).fetch(request);
    const folder = pathname.slice(REFUSING.length);
    if (request.method === "PUT") refusing.add(folder);
    else refusing.delete(folder);
    return new Response();
  },
};

export class ThreadObject extends Thread {
  constructor(state, env) {
    super(state, bound(env));
  }
}

// The Worker with a stand-in for the binding of Workers AI, which is at Cloudflare only: a call goes to the fake LLM, and
// comes back as the binding would give it, as a stream of bytes or as a thrown error.

import Worker, { ThreadObject as Thread } from "../../build/index.js";

export * from "../../build/index.js";

const bound = (env) => ({
  ...env,
  AI: {
    async run(model, inputs, { signal }) {
      const body = JSON.stringify({ model, ...inputs });
      const answer = await fetch(env.FAKE_AI_URL, { method: "POST", body, signal });
      if (!answer.ok) throw new Error((await answer.json()).error);
      return answer.body;
    },
  },
});

export default { fetch: (request, env, ctx) => new Worker(ctx, bound(env)).fetch(request) };

export class ThreadObject extends Thread {
  constructor(state, env) {
    super(state, bound(env));
  }
}

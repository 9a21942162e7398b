// The Worker as it is deployed, with a counter around it (watch.js). GET /counts answers the counts since it was asked
// last, and 409 while an object still has work to do.
import { alarm, isIdle, request, taken, watchEnv, watchStorage } from "./watch.js";
import Worker, { QuotaObject as Quota, ThreadObject as Thread } from "../../build/index.js";

const counting = (Class) =>
  class {
    constructor(state, env) {
      watchEnv(env);
      watchStorage(state.storage);
      this.object = new Class(state, env);
    }
    fetch(incoming) {
      request();
      return this.object.fetch(incoming);
    }
    alarm(info) {
      alarm();
      return this.object.alarm(info);
    }
  };

export const ThreadObject = counting(Thread);
export const QuotaObject = counting(Quota);

export default {
  async fetch(incoming, env, context) {
    if (new URL(incoming.url).pathname === "/counts") {
      return isIdle() ? Response.json(taken()) : new Response(null, { status: 409 });
    }
    watchEnv(env);
    request();
    return new Worker(context, env).fetch(incoming);
  },
};

// The platform's entry: each event goes to the module's instance of the moment. A panic or a trap ends that instance.
// The next event makes a new one, and with it each object, whose state is in its storage.

import { WorkerEntrypoint } from "cloudflare:workers";
import * as module from "./glue.js";

Error.stackTraceLimit = 100;

// `criticalError` is set by the panic hook of the crate `worker`, and here. The number grows with each instance.
const instance = module.__worker_init_state();

function noteTrap(error) {
  if (error instanceof WebAssembly.RuntimeError) {
    console.error("Critical", error);
    instance.criticalError = true;
  }
}

addEventListener("error", ({ error }) => noteTrap(error));

function replaceDead() {
  if (!instance.criticalError) return;
  console.log("Reinitializing Wasm application");
  module.__wbg_reset_state();
  instance.criticalError = false;
  instance.instanceId++;
}

async function guarded(call) {
  replaceDead();
  try {
    return await call();
  } catch (error) {
    noteTrap(error);
    throw error;
  }
}

export default class extends WorkerEntrypoint {
  fetch(request) {
    return guarded(() => module.fetch(request, this.env, this.ctx));
  }

  scheduled(event) {
    return guarded(() => module.scheduled(event, this.env, this.ctx));
  }
}

/** A class of objects that outlive the instance they were made in. */
function durable(Class) {
  return class {
    #state;
    #env;
    #object;
    #instanceId;

    constructor(state, env) {
      this.#state = state;
      this.#env = env;
      replaceDead();
      try {
        this.#current();
      } catch (error) {
        // Whatever is half made goes with the instance.
        instance.criticalError = true;
        throw error;
      }
    }

    #current() {
      if (this.#instanceId !== instance.instanceId) {
        this.#object = new Class(this.#state, this.#env);
        this.#instanceId = instance.instanceId;
      }
      return this.#object;
    }

    fetch(request) {
      return guarded(() => this.#current().fetch(request));
    }

    alarm(info) {
      return guarded(() => this.#current().alarm(info));
    }
  };
}

// The classes that wrangler.toml names.
export const ThreadObject = durable(module.ThreadObject);
export const QuotaObject = durable(module.QuotaObject);

// Reads the body of a reply ahead, and hands it to wasm in batches: a read that wasm makes itself costs many times what
// its bytes cost, and a streamed answer has one for each of its tokens.

/** The least time between two batches, in milliseconds: the distance of the writes to a client. What comes alone does
 * not wait, and neither do the end and a batch of AHEAD_BYTES. */
const SPACING_MS = 5;
/** The most bytes that are read ahead. */
const AHEAD_BYTES = 65536;

export class Batches {
  #parts = [];
  #bytes = 0;
  /** Set once the body is over: whether it came to its end. */
  #complete;
  #waiting;
  #resume;
  #timer;
  #handed = 0;

  constructor(body) {
    this.#readAll(body.getReader());
  }

  async #readAll(reader) {
    try {
      for (;;) {
        const { done, value } = await reader.read();
        if (done) break;
        this.#parts.push(value);
        this.#bytes += value.length;
        this.#offer();
        if (this.#bytes >= AHEAD_BYTES) await new Promise((resume) => (this.#resume = resume));
      }
      this.#complete = true;
    } catch {
      this.#complete = false;
    }
    this.#offer();
  }

  /** The next batch; nothing at the end of the body. Rejects if the connection broke. */
  next() {
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject };
      this.#offer();
    });
  }

  /** Whether all of the body was read. */
  complete() {
    return this.#complete === true;
  }

  /** Nobody waits for a batch any more. */
  stop() {
    this.#waiting = undefined;
    clearTimeout(this.#timer);
  }

  #offer() {
    if (!this.#waiting) return;
    const over = this.#complete !== undefined;
    if (!this.#bytes && !over) return;
    const wait = this.#handed + SPACING_MS - Date.now();
    if (wait > 0 && !over && this.#bytes < AHEAD_BYTES) {
      this.#timer ??= setTimeout(() => {
        this.#timer = undefined;
        this.#offer();
      }, wait);
      return;
    }
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const { resolve, reject } = this.#waiting;
    this.#waiting = undefined;
    if (!this.#bytes) return this.#complete ? resolve() : reject();
    this.#handed = Date.now();
    resolve(this.#take());
  }

  #take() {
    const parts = this.#parts;
    const all = parts.length === 1 ? parts[0] : new Uint8Array(this.#bytes);
    if (parts.length > 1) {
      let at = 0;
      for (const part of parts) {
        all.set(part, at);
        at += part.length;
      }
    }
    this.#parts = [];
    this.#bytes = 0;
    this.#resume?.();
    return all;
  }
}

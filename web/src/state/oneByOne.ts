// Work that must not overlap, such as two readings of one chat.

export class OneByOne {
  /** Settles with the work in progress, and never rejects. */
  #present: Promise<void> | null = null;

  get isBusy(): boolean {
    return this.#present !== null;
  }

  /** Begins when the work before it is over. */
  async run<T>(work: () => Promise<T>): Promise<T> {
    while (this.#present) await this.#present;
    const result = work();
    const over = () => {
      this.#present = null;
    };
    this.#present = result.then(over, over);
    return result;
  }
}

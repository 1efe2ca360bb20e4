// The worker, as the page calls it. A worker that fails or does not answer is replaced by a new one.

import source from "worker-source";

/** How long an answer may take, in milliseconds. */
const TIMEOUT = 60_000;

export class Client {
  #worker;
  #pending = new Map();
  #next = 0;
  #started;
  #onrestart;
  #compressed;

  /** `onrestart` is called when a worker was replaced: it has forgotten everything. */
  constructor(onrestart) {
    this.#onrestart = onrestart;
    const binary = atob(globalThis.bundleToolEngine);
    this.#compressed = Uint8Array.from(binary, (char) => char.charCodeAt(0));
    this.#start();
  }

  #start() {
    const address = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
    const worker = new Worker(address);
    URL.revokeObjectURL(address);
    worker.onmessage = ({ data: { id, result, error, isFatal } }) => {
      const call = this.#pending.get(id);
      this.#pending.delete(id);
      clearTimeout(call?.timer);
      if (error === undefined) call?.resolve(result);
      else if (isFatal) {
        call?.reject(new Error(`the validator cannot process this: ${error}; try bundle-tool validate`));
        if (worker === this.#worker) this.#restart();
      } else call?.reject(new Error(error));
    };
    worker.onerror = (event) => {
      event.preventDefault();
      if (worker === this.#worker) this.#restart(event.message);
    };
    this.#worker = worker;
    this.#started = this.#call("start", [this.#compressed]);
  }

  #restart(message = "the validator was restarted") {
    this.#worker.terminate();
    for (const { reject, timer } of this.#pending.values()) {
      clearTimeout(timer);
      reject(new Error(message));
    }
    this.#pending.clear();
    this.#start();
    this.#onrestart();
  }

  #call(method, args) {
    return new Promise((resolve, reject) => {
      const id = (this.#next += 1);
      const timer = setTimeout(() => {
        reject(new Error("the validator took too long; try bundle-tool validate"));
        this.#pending.delete(id);
        this.#restart();
      }, TIMEOUT);
      this.#pending.set(id, { resolve, reject, timer });
      this.#worker.postMessage({ id, method, args });
    });
  }

  /** What can be chosen in the settings. */
  get choices() {
    return this.#started;
  }

  async call(method, ...args) {
    await this.#started;
    return this.#call(method, args);
  }
}

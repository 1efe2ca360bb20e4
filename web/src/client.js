// The worker, as the page calls it. A worker that fails or does not answer is replaced by a new one.

import source from "worker-source";
import { buffers } from "./archive.js";

/** How long an answer may take, in milliseconds: reading what was dropped, and anything else. */
const READ = 60_000;
const TIMEOUT = 10_000;
const READING = ["start", "read", "open"];
/** What is about nothing that is open. */
const WITHOUT = ["read", "open", "explain"];

export class Client {
  #worker;
  #pending = new Map();
  #next = 0;
  #started;
  #find;
  /** The numbers of what the worker has open. */
  #opened = new Set();
  #compressed;

  /** `find` returns what to open for a number: a worker that was replaced has forgotten everything. */
  constructor(find) {
    this.#find = find;
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
        call?.reject(new Error(`this is too large or too deep for a browser: use bundle-tool validate`));
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
    this.#opened.clear();
    this.#start();
  }

  #call(method, args) {
    return new Promise((resolve, reject) => {
      const id = (this.#next += 1);
      const limit = READING.includes(method) ? READ : TIMEOUT;
      const timer = setTimeout(() => {
        reject(new Error(`stopped after ${limit / 1000} seconds: this takes too long in a browser; bundle-tool has more memory and all processors`));
        this.#pending.delete(id);
        this.#restart();
      }, limit);
      this.#pending.set(id, { resolve, reject, timer });
      this.#worker.postMessage({ id, method, args }, method === "read" ? buffers(args[0]) : []);
    });
  }

  /** What can be chosen in the settings. */
  get choices() {
    return this.#started;
  }

  async call(method, ...args) {
    await this.#started;
    const numbers = WITHOUT.includes(method) ? [] : args.slice(0, method === "compare" ? 2 : 1);
    for (const number of numbers) if (!this.#opened.has(number)) await this.#open(number, this.#find(number));
    return method === "open" ? this.#open(args[0], args.slice(1)) : this.#call(method, args);
  }

  #open(number, args) {
    this.#opened.add(number);
    return this.#call("open", [number, ...args]);
  }
}

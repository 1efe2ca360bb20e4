// The worker, as the page calls it. A worker that fails or does not answer is replaced by a new one.

import source from "worker-source";
import { buffers } from "./archive.js";
import { Cancelled } from "./busy.js";

/** How long an answer may take, in milliseconds: reading what was dropped, and anything else. */
const READ = 60_000;
const TIMEOUT = 10_000;
const READING = ["start", "read", "open"];
/** What is about nothing that is open. */
const WITHOUT = ["read", "open", "explain"];
/** What is about the last validation. */
const AFTER_VALIDATION = ["fix", "fixAll"];

export class Client {
  #worker;
  #pending = new Map();
  #next = 0;
  #started;
  #find;
  /** The numbers of what the worker has open. */
  #opened = new Set();
  /** The settings of the last validation of what is open, by number. */
  #validated = new Map();
  /** The WebAssembly: compressed in base64, and then the module that the first worker compiled. */
  #engine = globalThis.bundleToolEngine;

  /** `find` returns what to open for a number, if it is still open: a worker that was replaced has forgotten everything. */
  constructor(find) {
    this.#find = find;
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
      if (worker === this.#worker) this.#restart(new Error(event.message));
    };
    this.#worker = worker;
    this.#started = this.#call("start", [this.#engine]).then(({ module, choices }) => {
      this.#engine = module;
      return choices;
    });
    // Those who wait for it get the error.
    this.#started.catch(() => {});
  }

  /** Stops everything that runs. */
  cancel() {
    this.#restart(new Cancelled());
  }

  #restart(error = new Error("the validator was restarted")) {
    this.#worker.terminate();
    for (const { reject, timer } of this.#pending.values()) {
      clearTimeout(timer);
      reject(error);
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
    // A worker may be replaced while it opens one.
    for (let number; (number = numbers.find((one) => !this.#opened.has(one))) !== undefined; ) {
      const found = this.#find(number);
      if (!found) throw new Cancelled();
      await this.#open(number, found);
      if (AFTER_VALIDATION.includes(method)) await this.#call("validate", [number, this.#validated.get(number)]);
    }
    if (method === "open") return this.#open(args[0], args.slice(1));
    if (method === "validate") this.#validated.set(args[0], structuredClone(args[1]));
    return this.#call(method, args);
  }

  /** Forgets what is no longer open. */
  close(number) {
    this.#validated.delete(number);
    if (this.#opened.delete(number)) this.#call("close", [number]).catch(() => {});
  }

  #open(number, args) {
    this.#opened.add(number);
    return this.#call("open", [number, ...args]);
  }
}

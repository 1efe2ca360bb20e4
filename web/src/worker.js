// The worker: reads what was dropped, and runs the WebAssembly. Each message is one call: `{id, method, args}`.

import { initSync, Engine, choices, explain, decompressed } from "engine";
import { EXAMPLE } from "./example.js";
import { buffers, ReadError, decoders, subjects, unpacked } from "./archive.js";

decoders.decompressed = decompressed;

/** The engines of the bundles and catalogs by their number. */
const engines = new Map();

/** The icons of the packages of the catalogs. */
const icons = new Map();

const engine = (number) => {
  const found = engines.get(number);
  if (!found) throw new Error("the bundle is not open");
  return found;
};

/** What a preview shows of a list, a map and a text; the page must stay usable whatever a bundle contains. */
const MAX_ITEMS = 500;
const MAX_FIELDS = 2000;
const MAX_DEPTH = 40;
const MAX_TEXT = new Map([["base64data", 4 << 20], ["description", 200_000]]);
/** The maximum number of values of a preview. */
const MAX_VALUES = 300_000;

/** Returns a preview with the examples of its CSV in place of their text; they are null if the text is not valid JSON. */
function withExamples(preview) {
  const annotations = preview.csv?.metadata?.annotations;
  const written = annotations?.["alm-examples"];
  delete annotations?.["alm-examples"];
  try {
    return { ...preview, examples: JSON.parse((typeof written === "string" && written) || "[]") };
  } catch {
    return { ...preview, examples: null };
  }
}

/** Returns a preview without what is too much to show; `isClipped` says whether something is missing. */
function clipped({ crds, ...preview }) {
  let isClipped = false;
  let left = MAX_VALUES;
  const part = (all, max) => {
    if (all.length > max) isClipped = true;
    return all.slice(0, max);
  };
  const clip = (value, name, depth = 0) => {
    left -= 1;
    if (depth > MAX_DEPTH || left < 0) return void (isClipped = true);
    if (typeof value === "string") return part(value, MAX_TEXT.get(name) ?? 10_000);
    if (Array.isArray(value)) return part(value, MAX_ITEMS).map((item) => clip(item, undefined, depth + 1));
    if (value === null || typeof value !== "object") return value;
    return Object.fromEntries(part(Object.entries(value), MAX_FIELDS).map(([name, item]) => [name, clip(item, name, depth + 1)]));
  };
  // The CRDs last: nothing else is that large.
  return { ...clip(preview), crds: clip(crds) ?? {}, isClipped };
}

/** Compiles the WebAssembly while it is decompressed. */
function compiled(base64) {
  const bytes = Uint8Array.fromBase64?.(base64) ?? Uint8Array.from(atob(base64), (char) => char.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return WebAssembly.compileStreaming(new Response(stream, { headers: { "Content-Type": "application/wasm" } }));
}

/** Validates the example while nothing is open: browsers compile a function when it is called first, and rules read their tables then. */
function warmUp() {
  const first = new Engine("example");
  for (const [path, text] of Object.entries(EXAMPLE)) first.set(path, new TextEncoder().encode(text));
  first.validate("{}");
  first.preview();
  first.free();
}

const methods = {
  /** Starts the WebAssembly, which is given compressed in base64, or as the module that an earlier worker compiled. */
  async start(engine) {
    const module = engine instanceof WebAssembly.Module ? engine : await compiled(engine);
    initSync({ module });
    return { module, choices: JSON.parse(choices()) };
  },

  /** Returns the bundles and catalogs among the files that were dropped. */
  async read(dropped, name) {
    const { files, name: inner } = await unpacked(new Map(dropped));
    return subjects(files, inner || name).map((subject) => ({ ...subject, files: [...subject.files] }));
  },

  open(number, name, files, project) {
    engines.get(number)?.free();
    const opened = new Engine(name);
    for (const [path, bytes] of files) opened.set(path, bytes);
    if (project) opened.setProject(...project);
    engines.set(number, opened);
    return { isCatalog: opened.isCatalog() };
  },

  close(number) {
    engines.get(number)?.free();
    engines.delete(number);
    icons.delete(number);
  },

  set(number, path, text) {
    engine(number).set(path, new TextEncoder().encode(text));
  },

  validate(number, settings) {
    const start = performance.now();
    const report = JSON.parse(engine(number).validate(JSON.stringify(settings)));
    return { report, time: performance.now() - start };
  },

  fix: (number, finding) => JSON.parse(engine(number).fix(finding)),
  fixAll: (number) => JSON.parse(engine(number).fixAll()),
  preview: (number) => clipped(withExamples(JSON.parse(engine(number).preview()))),
  compare: (old, next) => JSON.parse(engine(next).compare(engine(old))),
  /** Returns the packages of a catalog; their icons are asked for one by one. */
  packages(number) {
    const packages = JSON.parse(engine(number).packages());
    icons.set(number, new Map(packages.map((one) => [one.name, one.icon])));
    return packages.map(({ icon, ...one }) => one);
  },

  icon: (number, name) => icons.get(number)?.get(name) ?? ["", ""],
  package: (number, name, from) => JSON.parse(engine(number).package(name, from)),
  channel: (number, name, channel) => JSON.parse(engine(number).channel(name, channel)),
  explain: (rule) => explain(rule),
};

let calls = 0;

self.onmessage = async ({ data: { id, method, args } }) => {
  calls += 1;
  try {
    const result = await methods[method](...args);
    // The files are the page's from now on.
    const given = method === "read" ? buffers(result.flatMap(({ files }) => files)) : [];
    self.postMessage({ id, result }, given);
    // What was dropped meanwhile comes first.
    if (method === "start") setTimeout(() => calls === 1 && warmUp());
  } catch (error) {
    // Errors of the engine are strings; anything else than those and unreadable files leaves it in an unknown state.
    const isExpected = typeof error === "string" || error instanceof ReadError;
    self.postMessage({ id, error: typeof error === "string" ? error : error.message, isFatal: !isExpected });
  }
};

// Reads what was dropped: files, zip and tar archives, and archives of bundle and catalog images (OCI and Docker).
//
// Archives are foreign data: the number of entries, their size and the size of what they decompress to are limited.

import { counted } from "./dom.js";

export const MAX_ENTRIES = 20_000;
export const MAX_BYTES = 64 << 20;
export const TOO_LARGE = `the files exceed the limit of ${MAX_BYTES >> 20} MiB`;
const MAX_LAYERS = 200;
const MAX_PATH = 4096;

export class ReadError extends Error {}

/** Returns the memory of files, to be given away: each of them once. */
export const buffers = (files) => [...new Set(files.map(([, bytes]) => bytes.buffer))];

/** What may still be read. `help` ends the message of what is too much. */
export class Budget {
  entries = MAX_ENTRIES;
  bytes = MAX_BYTES;
  #help;

  constructor(help = "") {
    this.#help = help;
  }

  take(bytes) {
    this.count();
    this.read(bytes);
  }

  /** Takes a file or a directory that is not read yet. */
  count() {
    this.entries -= 1;
    if (this.entries < 0) throw new ReadError(`there are more than ${MAX_ENTRIES} files${this.#help}`);
  }

  /** Takes the bytes of what was counted. */
  read(bytes) {
    this.bytes -= bytes;
    if (this.bytes < 0) throw new ReadError(TOO_LARGE + this.#help);
  }
}

/** What browsers do not decompress; the worker sets it. */
export const decoders = {};

const decoder = new TextDecoder();

/** Returns the files in what was dropped, path to bytes, with archives unpacked. */
export async function unpacked(files) {
  const budget = new Budget();
  if (files.size === 1) {
    const [[name, bytes]] = files;
    const inner = await archive(bytes, budget);
    if (inner) return { files: inner, name: name.replace(/\.(tar\.gz|tar\.zst|tgz|tar|zip)$/i, "") };
  }
  for (const bytes of files.values()) budget.take(bytes.length);
  // An OCI layout as a directory.
  const inner = await image(files, budget);
  return { files: inner ?? files, name: "" };
}

async function archive(bytes, budget) {
  if (starts(bytes, [0x50, 0x4b, 0x03, 0x04]) || starts(bytes, [0x50, 0x4b, 0x05, 0x06])) {
    const files = await zip(bytes, budget);
    return (await image(files, budget)) ?? files;
  }
  const plain = decompressed(bytes, budget);
  if (!isTar(plain)) {
    if (plain !== bytes) throw new ReadError("the compressed file is not a tar archive");
    return null;
  }
  const files = new Map();
  for (const entry of tar(plain, budget)) {
    if (entry.type === "file") files.set(entry.path, entry.bytes);
  }
  return (await image(files, budget)) ?? files;
}

function starts(bytes, magic) {
  return magic.every((byte, index) => bytes[index] === byte);
}

/** Returns the bytes without gzip or zstd. */
function decompressed(bytes, budget) {
  if (starts(bytes, [0x28, 0xb5, 0x2f, 0xfd]) || starts(bytes, [0x1f, 0x8b])) {
    let plain;
    try {
      plain = decoders.decompressed(bytes, budget.bytes);
    } catch (error) {
      // Anything else than the message of a damaged file leaves the engine in an unknown state.
      if (typeof error !== "string") throw error;
      throw new ReadError(`failed to decompress: ${error}`);
    }
    if (!plain) throw new ReadError(TOO_LARGE);
    return plain;
  }
  return bytes;
}

async function inflated(bytes, budget) {
  const reader = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw")).getReader();
  const chunks = [];
  let size = 0;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      size += value.length;
      if (size > budget.bytes) throw new ReadError(TOO_LARGE);
      chunks.push(value);
    }
  } catch (error) {
    reader.cancel().catch(() => {});
    if (error instanceof ReadError) throw error;
    throw new ReadError(`failed to decompress: ${error.message}`);
  }
  const all = new Uint8Array(size);
  let at = 0;
  for (const chunk of chunks) {
    all.set(chunk, at);
    at += chunk.length;
  }
  return all;
}

/** Returns a path without `./`, or null if it leaves its directory. */
export function cleaned(path) {
  if (path.length > MAX_PATH) throw new ReadError("a path is too long");
  const parts = [];
  for (const part of path.replaceAll("\\", "/").split("/")) {
    if (part === "" || part === ".") continue;
    if (part === "..") return null;
    parts.push(part);
  }
  return parts.join("/");
}

function isTar(bytes) {
  return bytes.length >= 512 && bytes.length % 512 === 0 && checksum(bytes, 0);
}

function checksum(bytes, at) {
  const header = bytes.subarray(at, at + 512);
  const stored = octal(header.subarray(148, 156));
  let sum = 0;
  for (let index = 0; index < 512; index += 1) sum += index >= 148 && index < 156 ? 32 : header[index];
  return sum === stored;
}

function octal(bytes) {
  if (bytes[0] & 0x80) {
    let value = 0;
    for (const byte of bytes.subarray(1)) value = value * 256 + byte;
    return value;
  }
  return parseInt(string(bytes).trim() || "0", 8);
}

function string(bytes) {
  const end = bytes.indexOf(0);
  return decoder.decode(end < 0 ? bytes : bytes.subarray(0, end));
}

/** Returns the entries of a tar archive: files, links and directories. */
export function* tar(bytes, budget) {
  let at = 0;
  let [longName, longLink] = ["", ""];
  let pax = {};
  while (at + 512 <= bytes.length) {
    const header = bytes.subarray(at, at + 512);
    if (header.every((byte) => byte === 0)) break;
    if (!checksum(bytes, at)) throw new ReadError("the tar archive is damaged: a checksum is wrong");
    const size = pax.size !== undefined ? Number(pax.size) : octal(header.subarray(124, 136));
    const start = at + 512;
    if (!Number.isSafeInteger(size) || size < 0 || start + size > bytes.length) {
      throw new ReadError("the tar archive is truncated");
    }
    const type = String.fromCharCode(header[156]);
    const content = bytes.subarray(start, start + size);
    at = start + Math.ceil(size / 512) * 512;
    if (type === "L" || type === "K") {
      if (type === "L") longName = string(content);
      else longLink = string(content);
      continue;
    }
    if (type === "x") {
      pax = paxRecords(content);
      continue;
    }
    if (type === "g") continue;
    const prefix = string(header.subarray(257, 262)) === "ustar" ? string(header.subarray(345, 500)) : "";
    const short = string(header.subarray(0, 100));
    const path = cleaned(pax.path ?? (longName || (prefix ? `${prefix}/${short}` : short)));
    const target = pax.linkpath ?? (longLink || string(header.subarray(157, 257)));
    [longName, longLink, pax] = ["", "", {}];
    if (path === null || path === "") continue;
    budget.take(type === "0" || type === "\0" ? size : 0);
    if (type === "0" || type === "\0" || type === "7") yield { path, type: "file", bytes: content.slice() };
    else if (type === "1") yield { path, type: "hardlink", target: cleaned(target) };
    else if (type === "2") yield { path, type: "symlink", target };
    else if (type === "5") yield { path, type: "directory" };
  }
}

function paxRecords(bytes) {
  const records = {};
  let at = 0;
  while (at < bytes.length) {
    const space = bytes.indexOf(32, at);
    const length = Number(decoder.decode(bytes.subarray(at, space)));
    if (space < 0 || !Number.isSafeInteger(length) || length <= 0) break;
    const record = decoder.decode(bytes.subarray(space + 1, at + length - 1));
    const equals = record.indexOf("=");
    records[record.slice(0, equals)] = record.slice(equals + 1);
    at += length;
  }
  return records;
}

/** Returns the files of a zip archive. */
async function zip(bytes, budget) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let end = bytes.length - 22;
  const first = Math.max(0, end - 65_535);
  while (end >= first && view.getUint32(end, true) !== 0x06054b50) end -= 1;
  if (end < first) throw new ReadError("the zip archive is truncated");
  const count = view.getUint16(end + 10, true);
  let at = view.getUint32(end + 16, true);
  if (count === 0xffff || at === 0xffffffff) throw new ReadError("zip archives of more than 4 GiB are not supported");
  const files = new Map();
  const seen = new Set();
  for (let index = 0; index < count; index += 1) {
    if (at + 46 > bytes.length || view.getUint32(at, true) !== 0x02014b50) throw new ReadError("the zip archive is damaged");
    const method = view.getUint16(at + 10, true);
    const packed = view.getUint32(at + 20, true);
    const size = view.getUint32(at + 24, true);
    const nameLength = view.getUint16(at + 28, true);
    const next = at + 46 + nameLength + view.getUint16(at + 30, true) + view.getUint16(at + 32, true);
    const local = view.getUint32(at + 42, true);
    const name = decoder.decode(bytes.subarray(at + 46, at + 46 + nameLength));
    at = next;
    const path = cleaned(name);
    if (path === null || path === "" || name.endsWith("/")) continue;
    // Entries that share their bytes are how bombs are made.
    if (seen.has(local)) throw new ReadError("the zip archive is damaged: entries overlap");
    seen.add(local);
    if (local + 30 > bytes.length) throw new ReadError("the zip archive is truncated");
    const start = local + 30 + view.getUint16(local + 26, true) + view.getUint16(local + 28, true);
    const content = bytes.subarray(start, start + packed);
    if (content.length !== packed) throw new ReadError("the zip archive is truncated");
    if (size > budget.bytes) throw new ReadError(TOO_LARGE);
    let plain;
    if (method === 0) plain = content.slice();
    else if (method === 8) plain = await inflated(content, budget);
    else throw new ReadError(`${path} is compressed with a method that is not supported`);
    budget.take(plain.length);
    files.set(path, plain);
  }
  return files;
}

/** Returns the files of an image if these are the files of an OCI layout or a Docker archive, and null otherwise. */
async function image(files, budget) {
  const json = (path) => {
    const bytes = files.get(path);
    if (!bytes) throw new ReadError(`the image archive does not contain ${path}`);
    try {
      return JSON.parse(decoder.decode(bytes));
    } catch {
      throw new ReadError(`${path} of the image archive is not JSON`);
    }
  };
  let layers;
  let config;
  if (files.has("index.json") && [...files.keys()].some((path) => path.startsWith("blobs/"))) {
    const blob = (descriptor) => `blobs/${String(descriptor?.digest).replace(":", "/")}`;
    let document = json("index.json");
    for (let depth = 0; Array.isArray(document?.manifests); depth += 1) {
      if (depth > 4) throw new ReadError("the image's index is nested too deeply");
      const all = document.manifests;
      const chosen = all.find((one) => one?.platform?.architecture === "amd64") ?? all[0];
      if (!chosen) throw new ReadError("the image archive contains no image");
      document = json(blob(chosen));
    }
    if (!Array.isArray(document?.layers)) throw new ReadError("the image has no layers");
    layers = document.layers.map(blob);
    config = json(blob(document.config));
  } else if (files.has("manifest.json")) {
    const [first] = json("manifest.json");
    if (!Array.isArray(first?.Layers)) return null;
    layers = first.Layers.map(String);
    config = json(String(first.Config));
  } else {
    return null;
  }
  if (layers.length > MAX_LAYERS) throw new ReadError(`the image has more than ${MAX_LAYERS} layers`);
  const found = new Map();
  for (const path of layers) {
    const bytes = files.get(path);
    if (!bytes) throw new ReadError(`the image archive does not contain ${path}`);
    const plain = decompressed(bytes, budget);
    const added = new Map();
    for (const entry of tar(plain, budget)) {
      const [, directory, name] = /^(?:(.*)\/)?([^/]*)$/.exec(entry.path);
      const below = directory === undefined ? "" : `${directory}/`;
      if (name === ".wh..wh..opq") remove(found, below);
      else if (name.startsWith(".wh.")) {
        const gone = below + name.slice(4);
        found.delete(gone);
        remove(found, `${gone}/`);
      } else if (entry.type === "file") added.set(entry.path, entry.bytes);
      else if (entry.type === "hardlink") {
        const bytes = added.get(entry.target) ?? found.get(entry.target);
        if (bytes) added.set(entry.path, bytes);
      }
    }
    for (const [name, bytes] of added) found.set(name, bytes);
  }
  const labels = config?.config?.Labels ?? {};
  const catalog = cleaned(String(labels["operators.operatorframework.io.index.configs.v1"] ?? ""));
  if (catalog) return below(found, catalog);
  const bundle = new Map();
  for (const [label, directory] of [["manifests", "manifests"], ["metadata", "metadata"]]) {
    const path = cleaned(String(labels[`operators.operatorframework.io.bundle.${label}.v1`] ?? directory)) || directory;
    for (const [name, bytes] of below(found, path)) bundle.set(`${directory}/${name}`, bytes);
  }
  for (const [name, bytes] of below(found, "tests")) bundle.set(`tests/${name}`, bytes);
  return bundle;
}

function remove(files, prefix) {
  for (const name of [...files.keys()]) if (name.startsWith(prefix)) files.delete(name);
}

function below(files, directory) {
  const prefix = `${directory}/`;
  return new Map([...files].filter(([name]) => name.startsWith(prefix)).map(([name, bytes]) => [name.slice(prefix.length), bytes]));
}

// Also in JSON on one line. White space of one line only: otherwise, a file of line breaks would take time by its square.
const KIND = /(?:^|[{,])[ \t]*"?kind"?[ \t]*:[ \t]*["']?ClusterServiceVersion\b/m;
const SCHEMA = /(?:^|[{,])[ \t]*"?schema"?[ \t]*:[ \t]*["']?olm\./m;

/** The settings of a project. */
const SETTINGS = "bundle-tool.toml";

/** Returns the settings above a directory, as `[path, bytes]`: those of the nearest directory, and at last those that `preview` adds. */
function project(files, root) {
  const parts = root.split("/").filter(Boolean);
  for (let length = parts.length - 1; length >= 0; length -= 1) {
    const path = [...parts.slice(0, length), SETTINGS].join("/");
    if (files.has(path)) return [path, files.get(path)];
  }
  const path = `../${SETTINGS}`;
  return files.has(path) ? [path, files.get(path)] : null;
}

/** Returns the bundles and catalogs among files: their names, their files by path, and the settings above them. */
export function subjects(files, name) {
  const visible = new Map([...files].filter(([path]) => !path.split("/").slice(0, -1).some((part) => part.startsWith("."))));
  const certain = new Set();
  const possible = new Set();
  for (const [path, bytes] of visible) {
    const parts = path.split("/");
    const directory = parts.at(-2);
    const root = parts.slice(0, -2).join("/");
    if (directory === "manifests") {
      possible.add(root);
      if (/\.(ya?ml|json)$/i.test(path) && KIND.test(decoder.decode(bytes.subarray(0, 1 << 20)))) certain.add(root);
    } else if (directory === "metadata") {
      possible.add(root);
      if (parts.at(-1) === "annotations.yaml") certain.add(root);
    }
  }
  const roots = [...(certain.size > 0 ? certain : possible)].sort();
  const last = (path) => path.split("/").at(-1);
  if (roots.length > 0) {
    return roots.map((root) => ({ name: root || name || "bundle", files: root === "" ? visible : below(visible, root), project: project(files, root) }));
  }
  const isText = ([path]) => /\.(ya?ml|json)$/i.test(path);
  const manifests = [...visible].filter(isText);
  const matches = (pattern) => manifests.some(([, bytes]) => pattern.test(decoder.decode(bytes.subarray(0, 4 << 20))));
  if (matches(SCHEMA)) {
    const top = new Set([...visible.keys()].map((path) => (path.includes("/") ? path.split("/")[0] : "")));
    const root = top.size === 1 ? [...top][0] : "";
    return [{ name: root || name || "catalog", files: root === "" ? visible : below(visible, root), project: project(files, root) }];
  }
  if (matches(KIND)) {
    // Manifests without the directories of a bundle, such as a CSV alone.
    return [{ name: name || "manifests", files: new Map(manifests.map(([path, bytes]) => [`manifests/${last(path)}`, bytes])), project: project(files, "manifests") }];
  }
  throw new ReadError(`No bundle or catalog found. ${reason(files, manifests)}.`);
}

const EXPECTED = "Expected a directory with `manifests/` and `metadata/`, a ClusterServiceVersion, or the YAML of a catalog";
const ANY_KIND = /(?:^|[{,])[ \t]*"?kind"?[ \t]*:[ \t]*["']?([A-Za-z]{1,60})\b/m;

/** Returns why files are neither a bundle nor a catalog. */
function reason(files, manifests) {
  if (files.size === 0) return `There are no files. ${EXPECTED}`;
  if (manifests.length === 0) return `There are no YAML or JSON files. ${EXPECTED}`;
  const kinds = new Set(manifests.slice(0, 100).map(([, bytes]) => ANY_KIND.exec(decoder.decode(bytes.subarray(0, 1 << 16)))?.[1]).filter(Boolean));
  if (kinds.size === 0) return `The YAML contains no object with a \`kind\` and no blob with a \`schema\`. ${EXPECTED}`;
  const found = [...kinds].slice(0, 3).map((kind) => `\`${kind}\``).join(", ");
  return `The YAML contains ${found}${kinds.size > 3 ? ` and ${counted(kinds.size - 3, "other kind")}` : ""}, but no ClusterServiceVersion. Manifests are validated together with their bundle: open its directory, which contains \`manifests/\` and \`metadata/\``;
}

// Files and directories that the user drops or picks.

import { Budget, ReadError } from "./archive.js";

/** How deeply directories may be nested. */
const MAX_DEPTH = 32;

/** What to do about too many files: usually, they are those of a whole project. */
const HELP = ": open only the directory of the bundle or of the catalog";

/** The files that are read at once: each takes a message to another process of the browser. */
const PARALLEL = 64;

/** Reads files that were counted, `[path, file]` with a function that returns the file, into `files`. */
async function readAll(listed, files, budget, signal) {
  for (let at = 0; at < listed.length; at += PARALLEL) {
    signal?.throwIfAborted();
    const read = async ([path, file]) => {
      try {
        const found = await file();
        budget.read(found.size);
        return [path, new Uint8Array(await found.arrayBuffer())];
      } catch (error) {
        if (error instanceof ReadError || error.name === "EncodingError") throw error;
        throw new ReadError(`failed to read \`${path}\`: ${error.message}`);
      }
    };
    for (const [path, bytes] of await Promise.all(listed.slice(at, at + PARALLEL).map(read))) files.set(path, bytes);
  }
}

/** Returns the files of an input, path to bytes. */
export async function picked(list, signal) {
  const budget = new Budget(HELP);
  const files = new Map();
  const listed = [];
  for (const file of list) {
    // The first part is the name of the directory itself.
    const path = file.webkitRelativePath.split("/").slice(1).join("/") || file.name;
    if (path.split("/").some((part, index, all) => part.startsWith(".") && index < all.length - 1)) continue;
    budget.count();
    listed.push([path, () => file]);
  }
  await readAll(listed, files, budget, signal);
  return files;
}

const read = (entry, method) => new Promise((resolve, reject) => entry[method](resolve, reject));

/** A file or a directory that was dropped, as an entry of its file system. */
const ofEntry = (entry) => ({
  name: entry.name,
  isDirectory: entry.isDirectory,
  file: () => read(entry, "file"),
  async *children() {
    const reader = entry.createReader();
    for (let batch = await read(reader, "readEntries"); batch.length > 0; batch = await read(reader, "readEntries")) yield* batch.map(ofEntry);
  },
});

/** The same, as a handle. */
const ofHandle = (handle) => ({
  name: handle.name,
  isDirectory: handle.kind === "directory",
  file: () => handle.getFile(),
  async *children() {
    for await (const child of handle.values()) yield ofHandle(child);
  },
});

/** Returns what was dropped, in each of the forms that browsers have. After the event, items are empty. */
function forms(item) {
  const entry = item.webkitGetAsEntry?.();
  const handle = entry?.isDirectory ? item.getAsFileSystemHandle?.() : undefined;
  // Without a handle, the error of the entry is the one to show.
  return { entry: entry && ofEntry(entry), handle: handle?.then(ofHandle, () => null), file: item.getAsFile?.() };
}

/** Returns the files that were dropped, path to bytes, and their name. All of them are counted before the first is read. */
export async function dropped(transfer, signal) {
  const present = [...transfer.items].filter((item) => item.kind === "file").map(forms).filter(({ entry, file }) => entry || file);
  const text = transfer.getData("text/plain");
  if (present.length === 0 && text) return { files: new Map([["pasted.yaml", new TextEncoder().encode(text)]]), name: "pasted" };
  const budget = new Budget(HELP);
  const files = new Map();
  const visit = async (one, path, listed, depth) => {
    if (one.name.startsWith(".") && one.isDirectory && depth > 0) return;
    if (depth > MAX_DEPTH) throw new ReadError("the directories are nested too deeply");
    signal?.throwIfAborted();
    budget.count();
    if (!one.isDirectory) return void listed.push([path, one.file]);
    for await (const child of one.children()) await visit(child, path ? `${path}/${child.name}` : child.name, listed, depth + 1);
  };
  const isOne = present.length === 1 && present[0].entry?.isDirectory;
  for (const { entry, handle, file } of present) {
    const add = async (one) => {
      const listed = [];
      await visit(one, isOne ? "" : one.name, listed, 0);
      await readAll(listed, files, budget, signal);
    };
    const plain = file && !entry?.isDirectory && { name: file.name, isDirectory: false, file: () => file };
    try {
      await add(plain || entry);
    } catch (error) {
      // Chromium reads no entries for pages of `file://`.
      const other = error.name === "EncodingError" && (await handle);
      if (!other) throw error;
      await add(other);
    }
  }
  return { files, name: present.length === 1 ? (present[0].entry ?? present[0].file).name : "" };
}

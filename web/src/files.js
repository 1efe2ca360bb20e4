// Files and directories that the user drops or picks.

import { Budget, ReadError } from "./archive.js";

async function bytes(file, budget) {
  budget.take(file.size);
  return new Uint8Array(await file.arrayBuffer());
}

/** Returns the files of an input, path to bytes. */
export async function picked(list) {
  const budget = new Budget();
  const files = new Map();
  for (const file of list) {
    // The first part is the name of the directory itself.
    const path = file.webkitRelativePath.split("/").slice(1).join("/") || file.name;
    if (path.split("/").some((part, index, all) => part.startsWith(".") && index < all.length - 1)) continue;
    files.set(path, await bytes(file, budget));
  }
  return files;
}

const read = (entry, method) => new Promise((resolve, reject) => entry[method](resolve, reject));

/** Returns the files that were dropped, path to bytes, and their name. */
export async function dropped(transfer) {
  const entries = [...transfer.items].filter((item) => item.kind === "file").map((item) => item.webkitGetAsEntry?.() ?? item.getAsFile());
  const text = transfer.getData("text/plain");
  if (entries.length === 0 && text) return { files: new Map([["pasted.yaml", new TextEncoder().encode(text)]]), name: "pasted" };
  const budget = new Budget();
  const files = new Map();
  const visit = async (entry, path, depth) => {
    if (depth > 32) throw new ReadError("the directories are nested too deeply");
    if (entry instanceof File) files.set(path, await bytes(entry, budget));
    else if (entry.isFile) files.set(path, await bytes(await read(entry, "file"), budget));
    else if (!entry.name.startsWith(".") || depth === 0) {
      const reader = entry.createReader();
      for (let batch = await read(reader, "readEntries"); batch.length > 0; batch = await read(reader, "readEntries")) {
        for (const child of batch) await visit(child, path ? `${path}/${child.name}` : child.name, depth + 1);
      }
    }
  };
  const present = entries.filter(Boolean);
  const isOne = present.length === 1 && present[0].isDirectory;
  for (const entry of present) await visit(entry, isOne ? "" : entry.name, 0);
  return { files, name: isOne || present.length === 1 ? present[0].name : "" };
}

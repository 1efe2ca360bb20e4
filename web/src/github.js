// Reads a directory of a public repository on GitHub, only when the user asks for it.

import { MAX_BYTES, ReadError } from "./archive.js";

const MAX_FILES = 500;
const PARALLEL = 6;

/** Returns `[owner, repository, rest]` of an address, where `rest` is the branch and the directory. */
export function parsed(address) {
  let url;
  try {
    url = new URL(address);
  } catch {
    throw new ReadError("expected an address such as https://github.com/OWNER/REPOSITORY/tree/BRANCH/DIRECTORY");
  }
  const [owner, repository, kind, ...rest] = url.pathname.split("/").filter(Boolean).map(decodeURIComponent);
  if (url.hostname !== "github.com" || !owner || !repository || (kind && kind !== "tree") || rest.includes("..")) {
    throw new ReadError("expected an address such as https://github.com/OWNER/REPOSITORY/tree/BRANCH/DIRECTORY");
  }
  return [owner, repository.replace(/\.git$/, ""), rest];
}

const path = (parts) => parts.map(encodeURIComponent).join("/");

/** Returns the files of a directory, path to bytes. */
export async function fetched(address) {
  const [owner, repository, rest] = parsed(address);
  // The name of a branch may contain slashes.
  const candidates = rest.length === 0 ? [["HEAD", []]] : rest.map((_, index) => [rest.slice(0, index + 1).join("/"), rest.slice(index + 1)]);
  for (const [branch, directory] of candidates) {
    const tree = encodeURIComponent(`${branch}:${directory.join("/")}`);
    const response = await fetch(`https://api.github.com/repos/${path([owner, repository])}/git/trees/${tree}?recursive=1`);
    if (response.status === 404) continue;
    if (!response.ok) throw new ReadError(`GitHub returned status ${response.status}; the limit for visitors is 60 requests an hour`);
    const { tree: entries } = await response.json();
    const blobs = (Array.isArray(entries) ? entries : []).filter((entry) => entry.type === "blob" && /\.(ya?ml|json|Dockerfile)$|Dockerfile$/.test(entry.path));
    if (blobs.length > MAX_FILES) throw new ReadError(`the directory has more than ${MAX_FILES} manifests: open the directory of one bundle`);
    if (blobs.reduce((sum, blob) => sum + blob.size, 0) > MAX_BYTES) throw new ReadError("the directory is too large");
    const files = new Map();
    const next = [...blobs];
    const work = async () => {
      for (let blob = next.pop(); blob; blob = next.pop()) {
        const raw = `https://raw.githubusercontent.com/${path([owner, repository])}/${path(branch.split("/"))}/${path([...directory, ...blob.path.split("/")])}`;
        const answer = await fetch(raw);
        if (!answer.ok) throw new ReadError(`GitHub returned status ${answer.status} for ${blob.path}`);
        files.set(blob.path, new Uint8Array(await answer.arrayBuffer()));
      }
    };
    await Promise.all(Array.from({ length: PARALLEL }, work));
    return { files, name: directory.at(-1) ?? repository };
  }
  throw new ReadError("GitHub does not have this directory, or it is private");
}

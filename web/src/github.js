// Reads a directory or a file of a public repository on GitHub, only when the user asks for it.

import { MAX_BYTES, ReadError, TOO_LARGE } from "./archive.js";
import { Cancelled } from "./busy.js";

const MAX_FILES = 500;
const PARALLEL = 6;
const HOSTS = ["github.com", "www.github.com"];
const EXPECTED = "expected an address such as `https://github.com/OWNER/REPOSITORY/tree/BRANCH/DIRECTORY`";
const MISSING = "GitHub has no such directory or file, or the repository is private: check the address";

/** Returns what an address names: `{owner, repository, rest, isFile}`, where `rest` is the branch and the path. A file in `manifests/` or
 * `metadata/`, and these directories, stand for their bundle. */
export function parsed(address) {
  let url;
  let parts;
  try {
    url = new URL(/^[a-z]+:\/\//i.test(address) ? address : `https://${address}`);
    parts = url.pathname.split("/").filter(Boolean).map(decodeURIComponent);
  } catch {
    throw new ReadError(EXPECTED);
  }
  const [owner, repository, kind, ...rest] = parts;
  const isKnown = kind === undefined || (["tree", "blob"].includes(kind) && rest.length > (kind === "blob" ? 1 : 0));
  if (!["http:", "https:"].includes(url.protocol) || !HOSTS.includes(url.hostname) || !repository || !isKnown || parts.includes("..")) {
    throw new ReadError(EXPECTED);
  }
  const isPart = (name) => name === "manifests" || name === "metadata";
  const isFile = kind === "blob" && !(rest.length > 2 && isPart(rest.at(-2)));
  if (kind === "blob" && !isFile) rest.pop();
  if (!isFile && rest.length > 1 && isPart(rest.at(-1))) rest.pop();
  return { owner, repository: repository.replace(/\.git$/, ""), rest, isFile };
}

const path = (parts) => parts.map(encodeURIComponent).join("/");

/** Returns an answer of GitHub; null if there is nothing at the address. */
async function asked(address, signal) {
  let response;
  try {
    response = await fetch(address, { signal });
  } catch (error) {
    if (error instanceof Cancelled) throw error;
    throw new ReadError(`failed to connect to \`${new URL(address).hostname}\`: check the network, and whether a proxy or an extension of the browser blocks the address`);
  }
  if (response.status === 404) return null;
  if (response.status === 429 || (response.status === 403 && response.headers.get("x-ratelimit-remaining") === "0")) {
    throw new ReadError(`GitHub returned status ${response.status}: it allows 60 anonymous requests per hour. Try again later, or download the directory and open it here`);
  }
  if (!response.ok) throw new ReadError(`GitHub returned status ${response.status}: try again later`);
  return response;
}

/** Returns the files at an address, path to bytes. */
export async function fetched(address, signal) {
  const { owner, repository, rest, isFile } = parsed(address.trim());
  const raw = async (parts) => {
    const answer = await asked(`https://raw.githubusercontent.com/${path([owner, repository, ...parts])}`, signal);
    if (!answer) throw new ReadError(MISSING);
    return new Uint8Array(await answer.arrayBuffer());
  };
  if (isFile) return { files: new Map([[rest.at(-1), await raw(rest)]]), name: rest.at(-1) };
  // The name of a branch may contain slashes.
  const candidates = rest.length === 0 ? [["HEAD", []]] : rest.map((_, index) => [rest.slice(0, index + 1).join("/"), rest.slice(index + 1)]);
  for (const [branch, directory] of candidates) {
    const tree = encodeURIComponent(`${branch}:${directory.join("/")}`);
    const response = await asked(`https://api.github.com/repos/${path([owner, repository])}/git/trees/${tree}?recursive=1`, signal);
    if (!response) continue;
    const { tree: entries, truncated } = await response.json();
    const blobs = (Array.isArray(entries) ? entries : []).filter((entry) => entry.type === "blob" && /\.(ya?ml|json|Dockerfile)$|Dockerfile$|bundle-tool\.toml$/.test(entry.path));
    if (truncated) throw new ReadError("GitHub does not list all files of a directory this large: open the directory of one bundle");
    if (blobs.length > MAX_FILES) throw new ReadError(`the directory has more than ${MAX_FILES} manifests: open the directory of one bundle`);
    if (blobs.reduce((sum, blob) => sum + blob.size, 0) > MAX_BYTES) throw new ReadError(`${TOO_LARGE}: open the directory of one bundle`);
    const files = new Map();
    const next = [...blobs];
    const work = async () => {
      for (let blob = next.pop(); blob; blob = next.pop()) {
        files.set(blob.path, await raw([...branch.split("/"), ...directory, ...blob.path.split("/")]));
      }
    };
    await Promise.all(Array.from({ length: PARALLEL }, work));
    return { files, name: directory.at(-1) ?? repository };
  }
  throw new ReadError(MISSING);
}

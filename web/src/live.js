// Follows the directory that `bundle-tool preview` serves this page for: asks for its state, and opens it again after changes.

const INTERVAL = 500;

/** Opens what the server shows, if it is `bundle-tool preview`; anything else that serves the page has no such files. */
export async function follow(open) {
  if (location.protocol !== "http:") return;
  let version;
  const look = async () => {
    const response = await fetch("preview/version", { cache: "no-store" });
    if (!response.ok || response.headers.get("content-type") !== "application/json") return false;
    const state = await response.json();
    if (state.version !== version) {
      const files = await (await fetch("preview/files", { cache: "no-store" })).json();
      const decoded = Object.entries(files).map(([path, base64]) => [path, Uint8Array.from(atob(base64), (char) => char.charCodeAt(0))]);
      version = state.version;
      await open(new Map(decoded), state.name);
    }
    return true;
  };
  const poll = async () => {
    // The server may have been stopped, and started again.
    await look().catch(() => {});
    setTimeout(poll, INTERVAL);
  };
  if (await look().catch(() => false)) setTimeout(poll, INTERVAL);
}

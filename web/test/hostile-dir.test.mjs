// The inputs of a directory, HOSTILE_DIR, which are hostile: the page answers each within its limits. `record-input` makes such a directory
// of the scripts that attack bundle-tool.

import assert from "node:assert/strict";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import { launch, open, skip } from "./browser.mjs";
import { examine, usable } from "./hostile.mjs";

const directory = process.env.HOSTILE_DIR;
/** How many small inputs a tab opens, and how large these are, in bytes. */
const MAX_OPEN = 40;
const SMALL = 1 << 20;

/** What the scripts call an input. */
function names() {
  try {
    return new Map(readFileSync(join(directory, "names"), "utf8").trim().split("\n").map((line) => line.split(" ", 2)));
  } catch {
    return new Map();
  }
}

test("hostile inputs of a directory", { skip: skip || (directory ? false : "HOSTILE_DIR is not set"), timeout: 3_600_000 }, async (t) => {
  const files = readdirSync(directory).filter((name) => /\.(tar|zip|gz|tgz|json|ya?ml)$/.test(name)).sort();
  assert.ok(files.length > 0, `${directory} has no inputs`);
  const called = names();
  const most = { pause: [0, ""], peak: [0, ""] };
  const kinds = new Map();
  let [browser, page, count] = [undefined, undefined, 0];
  const failures = [];
  for (const name of files) {
    const path = join(directory, name);
    const isSmall = statSync(path).size < SMALL;
    if (!browser || !isSmall || count >= MAX_OPEN) {
      await browser?.close();
      browser = await launch();
      page = await open(browser);
      count = 0;
    }
    count += isSmall ? 1 : MAX_OPEN;
    const title = `${name} ${called.get(name.slice(0, 12)) ?? ""}`;
    try {
      const { text, pause, peak, line } = await examine({ browser, ...page }, path);
      if (pause > most.pause[0]) most.pause = [pause, title];
      if (peak > most.peak[0]) most.peak = [peak >> 20, title];
      const kind = text.replace(/`[^`]*`|[\w./-]*\d[\w./-]*|blobs\/\S*/g, "…").slice(0, 60);
      kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
      if (!isSmall) console.error(`${title}: ${line}`);
      if (!isSmall || count >= MAX_OPEN) await usable(page.tab);
      else await page.tab.evaluate(() => (document.querySelector("#dialog").close(), document.querySelector("#close").checkVisibility() && document.querySelector("#close").click()));
    } catch (error) {
      failures.push(`${title}: ${error.message}`);
      console.error(failures.at(-1));
      await browser.close();
      browser = undefined;
    }
  }
  await browser?.close();
  for (const [kind, count] of [...kinds].sort(([, a], [, b]) => b - a)) t.diagnostic(`${count} × ${kind}`);
  t.diagnostic(`${files.length} inputs, ${failures.length} failed; the longest pause: ${most.pause.join(" ms, ")}; the most memory: ${most.peak.join(" MiB, ")}`);
  if (failures.length > 0) throw new Error(failures.join("\n"));
});

// Hostile inputs of others: those that `record-input` kept in a directory, HOSTILE_DIR, of the scripts that attack bundle-tool; without it, those of
// ../shared/hostile that come nearest to the limits, if the directory exists.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, lstatSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import test from "node:test";
import { launch, open, root, skip } from "./browser.mjs";
import { examine, usable } from "./hostile.mjs";

/** How many small inputs a tab opens, how large these are, in bytes, and of how many files and directories they are. */
const MAX_OPEN = 40;
const SMALL = 1 << 20;
const FEW = 1000;

/** Whether an input is opened in a tab with others. Links are not followed, as browsers do not. */
function isSmall(path) {
  let [bytes, entries] = [0, 0];
  const add = (path) => {
    const found = lstatSync(path);
    entries += 1;
    if (found.isFile()) bytes += found.size;
    if (found.isDirectory() && entries < FEW) for (const name of readdirSync(path, { encoding: "buffer" })) add(Buffer.concat([Buffer.from(path), Buffer.from("/"), name]));
  };
  add(Buffer.from(path));
  return bytes < SMALL && entries < FEW;
}

/** Drops each of the inputs on the page, and reports what the page said. */
async function examineAll(t, paths) {
  const most = { pause: [0, ""], peak: [0, ""] };
  const kinds = new Map();
  let [browser, page, count] = [undefined, undefined, 0];
  const failures = [];
  for (const path of paths) {
    const isOneOfMany = isSmall(path);
    if (!browser || !isOneOfMany || count >= MAX_OPEN) {
      await browser?.close();
      browser = await launch();
      page = await open(browser);
      count = 0;
    }
    count += isOneOfMany ? 1 : MAX_OPEN;
    const title = path.split("/").slice(-2).join("/");
    try {
      const { text, pause, peak, line } = await examine({ browser, ...page }, path);
      if (pause > most.pause[0]) most.pause = [pause, title];
      if (peak > most.peak[0]) most.peak = [peak, title];
      const kind = text.replace(/`[^`]*`|[\w./-]*\d[\w./-]*|blobs\/\S*/g, "…").slice(0, 60);
      kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
      if (!isOneOfMany) console.error(`${title}: ${line}`);
      if (!isOneOfMany || count >= MAX_OPEN) await usable(page.tab);
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
  t.diagnostic(`${paths.length} inputs, ${failures.length} failed; the longest pause: ${most.pause.join(" ms, ")}; the most memory: ${most.peak[0] >> 20} MiB, ${most.peak[1]}`);
  if (failures.length > 0) throw new Error(failures.join("\n"));
}

/** What `record-input` kept in a directory. */
function recorded(directory) {
  const paths = readdirSync(directory).sort().flatMap((name) => readdirSync(join(directory, name)).map((input) => join(directory, name, input)));
  assert.ok(paths.length > 0, `${directory} has no inputs`);
  return paths;
}

const directory = process.env.HOSTILE_DIR;
test("hostile inputs of a directory", { skip: skip || (directory ? false : "HOSTILE_DIR is not set"), timeout: 7_200_000 }, (t) => examineAll(t, recorded(directory)));

const scripts = join(root, "../shared/hostile");
const NEAREST = ["binding-subjects", "csv-installmodes", "csv-skiprange2", "default-effort", "dup-keys", "enum-many", "patterns", "required-many", "tagbomb-10MB", "u16-10MB"];
test("hostile inputs that come nearest to the limits", { skip: skip || (existsSync(join(scripts, "bombs.py")) ? false : `${basename(scripts)} does not exist`), timeout: 300_000 }, async (t) => {
  const own = mkdtempSync(join(tmpdir(), "hostile-"));
  try {
    const env = { ...process.env, BUNDLE_TOOL: new URL("record-input", import.meta.url).pathname, HOSTILE_TMP: own, PYTHONDONTWRITEBYTECODE: "1" };
    const { status, stderr } = spawnSync("python3", [join(scripts, "bombs.py"), ...NEAREST], { cwd: root, env, encoding: "utf8" });
    assert.equal(status, 0, stderr);
    const paths = recorded(join(own, "recorded"));
    assert.equal(paths.length, NEAREST.length);
    await examineAll(t, paths);
  } finally {
    rmSync(own, { recursive: true });
  }
});

// The findings of the page are those of the command line: for the bundle of this repository, and for published ones in CORPUS_DIR
// (a directory of bundles), if it is set.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";

const root = new URL("../..", import.meta.url).pathname;
const engine = new URL(process.env.ENGINE ? `${process.env.ENGINE}/` : "../../target/page/", import.meta.url);
const tool = process.env.BUNDLE_TOOL ?? "bundle-tool";
const isReady = existsSync(new URL("olm_web_bg.wasm", engine)) && spawnSync(tool, ["--version"]).status === 0;
const skip = isReady ? false : "target/page is not built (make web), or BUNDLE_TOOL is missing";
if (skip && process.env.CI) throw new Error(skip);

function files(directory, below = "", found = new Map()) {
  for (const entry of readdirSync(join(directory, below), { withFileTypes: true })) {
    const path = below ? `${below}/${entry.name}` : entry.name;
    if (entry.isDirectory()) {
      if (!entry.name.startsWith(".")) files(directory, path, found);
    } else if (entry.isFile()) found.set(path, readFileSync(join(directory, path)));
  }
  return found;
}

/** The bundles that one process of the command line validates. */
const BATCH = 50;

test("the findings are those of the command line", { skip, timeout: 3_600_000 }, async (t) => {
  const { initSync, Engine } = await import(new URL("olm_web.js", engine));
  initSync({ module: readFileSync(new URL("olm_web_bg.wasm", engine)) });
  const corpus = process.env.CORPUS_DIR;
  const bundles = [join(root, "bundle"), ...(corpus ? readdirSync(corpus).sort().map((name) => join(corpus, name)) : [])];
  let agreed = 0;
  let slowest = 0;
  for (let at = 0; at < bundles.length; at += BATCH) {
    const batch = bundles.slice(at, at + BATCH);
    const output = spawnSync(tool, ["validate", ...batch, "--suite", "all", "--output", "json"], { encoding: "utf8", maxBuffer: 1 << 30, cwd: "/" });
    const expected = JSON.parse(output.stdout);
    assert.equal(expected.bundles.length, batch.length, output.stderr);
    for (const [index, directory] of batch.entries()) {
      const one = new Engine(directory);
      for (const [path, bytes] of files(directory)) one.set(path, bytes);
      const start = performance.now();
      const report = JSON.parse(one.validate('{"suites": ["all"]}'));
      slowest = Math.max(slowest, performance.now() - start);
      one.free();
      assert.deepEqual(report.bundles, [expected.bundles[index]], directory);
      agreed += 1;
    }
  }
  t.diagnostic(`${agreed} agreed; the slowest took ${Math.round(slowest)} ms`);
});

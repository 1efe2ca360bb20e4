// Hostile bundles, catalogs and archives: the page answers each within its limits of time and memory, runs nothing of them, and stays usable.

import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test from "node:test";
import { gzipSync } from "node:zlib";
import { launch, open, skip } from "./browser.mjs";
import { tarball } from "./tar.mjs";
import { zipped } from "../src/zip.js";

/** How long the page itself may not answer, in milliseconds. */
const MAX_PAUSE = 1000;
/** What the process of the page may take, in bytes. */
const MAX_MEMORY = 512 << 20;

const CSV = {
  apiVersion: "operators.coreos.com/v1alpha1",
  kind: "ClusterServiceVersion",
  metadata: { name: "gizmo.v1.0.0", annotations: {} },
  spec: { displayName: "Gizmo", version: "1.0.0", description: "It is a gizmo.", customresourcedefinitions: { owned: [{ name: "gizmos.example.com", kind: "Gizmo", version: "v1", displayName: "Gizmo", description: "One" }] } },
};
const crd = (spec) => ({
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "gizmos.example.com" },
  spec: { group: "example.com", scope: "Namespaced", names: { kind: "Gizmo", plural: "gizmos", singular: "gizmo", listKind: "GizmoList" }, versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: { type: "object", properties: { spec } } } }] },
});
const bundle = (change = () => {}, ...others) => {
  const csv = structuredClone(CSV);
  change(csv);
  return { "manifests/csv.json": JSON.stringify(csv), "metadata/annotations.yaml": "annotations: {}\n", ...Object.fromEntries(others.map((one, index) => [`manifests/${index}.json`, JSON.stringify(one)])) };
};
const many = (count, make) => Array.from({ length: count }, (_, index) => make(index));

/** What the processes that show pages take, in bytes, without the program itself. */
function memory(browser) {
  let most = 0;
  const processes = new Map();
  for (const name of readdirSync("/proc")) {
    try {
      const status = readFileSync(join("/proc", name, "status"), "utf8");
      const size = (field) => Number(new RegExp(`^${field}:\\s*(\\d+)`, "m").exec(status)?.[1] ?? 0) * 1024;
      processes.set(name, [String(size("PPid") / 1024), size("RssAnon") + size("RssShmem"), readFileSync(join("/proc", name, "cmdline"), "utf8")]);
    } catch {
      // Not a process, or one that has ended.
    }
  }
  const own = String(browser.process().pid);
  for (const [pid, [, size, command]] of processes) {
    let at = pid;
    while (at && at !== own) at = processes.get(at)?.[0];
    if (at && command.includes("--type=renderer")) most = Math.max(most, size);
  }
  return most;
}

/** Opens files, as an archive if there are several, looks at every view, and checks that the page stays usable. */
function hostile(name, files, check = () => {}) {
  test(name, { skip, timeout: 120_000 }, async (t) => {
    const browser = await launch();
    const directory = mkdtempSync(join(tmpdir(), "hostile-"));
    let timer;
    try {
      const { tab, problems } = await open(browser);
      await tab.evaluate(() => {
        window.pause = 0;
        let last = performance.now();
        setInterval(() => {
          const now = performance.now();
          window.pause = Math.max(window.pause, now - last);
          last = now;
        }, 10);
      });
      const entries = Object.entries(typeof files === "function" ? files() : files);
      const path = join(directory, entries.length === 1 ? entries[0][0] : "bundle.tar");
      writeFileSync(path, entries.length === 1 ? entries[0][1] : tarball(entries));
      let peak = 0;
      timer = setInterval(() => (peak = Math.max(peak, memory(browser))), 30);
      const pauses = [];
      const paused = async (what) => pauses.push([Math.round(await tab.evaluate(() => { const { pause } = window; window.pause = 0; return pause; })), what]);
      await (await tab.$("#file")).uploadFile(path);
      const start = performance.now();
      await tab.waitForSelector(".findings .summary h3, dialog[open]", { timeout: 60_000 });
      const text = await tab.evaluate(() => (document.querySelector("dialog[open]") ?? document.querySelector(".findings .summary")).innerText.replace(/\s+/g, " ").slice(0, 300));
      const took = performance.now() - start;
      await paused("open");
      await check(text, tab);
      const views = await tab.$$eval("[role=tab]", (tabs) => tabs.map((tab) => tab.id));
      if (!(await tab.$("dialog[open]"))) {
        for (const view of views) {
          await tab.evaluate((view) => document.getElementById(view).click(), view);
          await tab.waitForFunction((view) => document.querySelector("#panel")?.getAttribute("aria-labelledby") === view, { timeout: 30_000 }, view);
          await new Promise((resolve) => setTimeout(resolve, 200));
          await paused(view);
          assert.deepEqual(await tab.$$eval("#panel script, #panel [onerror], #panel [onload], #panel a[href^='javascript' i]", (all) => all.length), 0);
        }
      }
      clearInterval(timer);
      const [pause, where] = pauses.sort(([a], [b]) => b - a)[0];
      t.diagnostic(`${Math.round(took)} ms, the page paused for ${pause} ms (${where}), ${peak >> 20} MiB: ${text.slice(0, 160)}`);
      assert.deepEqual(problems, []);
      assert.ok(pause < MAX_PAUSE, `the page did not answer for ${pause} ms (${where})`);
      assert.ok(peak < MAX_MEMORY, `${peak >> 20} MiB`);
      // It is usable: the example has findings.
      await tab.evaluate(() => (document.querySelector("#dialog").close(), (document.title = "before"), document.querySelector("#example").click()));
      await tab.waitForFunction(() => document.title.startsWith("example: ") && !document.title.includes("not validated"), { timeout: 30_000 }).catch(async (error) => { throw new Error(`${error.message}: ${await tab.evaluate(() => document.body.innerText.slice(0, 300))}`); });
    } finally {
      clearInterval(timer);
      rmSync(directory, { recursive: true });
      await browser.close();
    }
  });
}

const anyOf = () => {
  let schema = { minLength: 1 };
  for (let depth = 0; depth < 300; depth += 1) schema = { anyOf: [schema], oneOf: [{ maxLength: 3 }] };
  return { type: "object", properties: Object.fromEntries(many(500, (index) => [`a${index}`, { ...schema, type: "string", default: "q" }])) };
};
hostile("alternatives within alternatives", () => ({ ...bundle(undefined, crd(anyOf())), "bundle-tool.toml": 'suites = ["all"]\n' }));
hostile("alternatives that exceed the memory", () => ({ ...bundle(undefined, ...many(8, () => crd(anyOf()))), "bundle-tool.toml": 'suites = ["all"]\n' }), (text) => assert.match(text, /not validated (this is too large or too deep for a browser|stopped after)/));
hostile("rules that take long are stopped", () => {
  const sum = many(200, () => "1").join("+");
  const rules = many(5000, (index) => ({ rule: `${sum} > ${index}` }));
  return { ...bundle(undefined, ...many(10, () => crd({ type: "object", properties: { l: { type: "string" } }, "x-kubernetes-validations": rules }))), "bundle-tool.toml": 'suites = ["all"]\n' };
}, (text) => assert.match(text, /not validated stopped after 10 seconds/));
hostile("lists of a hundred thousand entries", () => bundle(({ metadata, spec }) => {
  spec.customresourcedefinitions.owned = many(30_000, (index) => ({ name: `gizmos${index}.example.com`, kind: `Gizmo${index}`, version: "v1" }));
  spec.links = many(100_000, (index) => ({ name: `link ${index}`, url: "https://example.com" }));
  spec.maintainers = many(50_000, (index) => ({ name: `m${index}`, email: "a@example.com" }));
  metadata.annotations.categories = "a,".repeat(200_000);
}), (text, tab) => tab.evaluate(() => document.querySelector("#tab-operatorhub").click()));
hostile("long texts", () => bundle(({ spec }) => {
  spec.displayName = "x".repeat(3 << 20);
  spec.description = `# ${" ".repeat(100_000)}x\n\n${"`".repeat(60_000)}a\n\n${"[".repeat(60_000)}\n\n${"**a ".repeat(20_000)}`;
  spec.provider = { name: "y ".repeat(1 << 20) };
}));
hostile("a schema of many fields and levels", () => {
  let deep = { type: "string" };
  for (let depth = 0; depth < 200; depth += 1) deep = { type: "object", properties: { a: deep } };
  return bundle(undefined, crd({ type: "object", properties: { deep, ...Object.fromEntries(many(50_000, (index) => [`f${index}`, { type: "string" }])) } }));
});
hostile("an icon that draws itself a billion times, with scripts and references", () => {
  const levels = many(9, (level) => `<g id="l${level + 1}">${`<use href="#l${level}"/>`.repeat(10)}</g>`).join("");
  const icon = `<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"><script>alert(2)</script><image href="https://evil.example/x.png"/><rect id="l0" width="1" height="1"/>${levels}</svg>`;
  return bundle(({ spec }) => (spec.icon = [{ mediatype: "image/svg+xml", base64data: Buffer.from(icon).toString("base64") }]));
}, async (text, tab) => {
  await tab.evaluate(() => document.querySelector("#tab-operatorhub").click());
  await tab.waitForSelector(".icon.none");
});
hostile("a file of 50 MB", () => ({ ...bundle(), "manifests/big.yaml": `a: ${"x".repeat(50 << 20)}` }));
hostile("line breaks only", () => ({ ...bundle(), "manifests/big.yaml": "\n".repeat(20 << 20) }));
hostile("a million keys", () => ({ ...bundle(), "manifests/big.yaml": many(900_000, (index) => `k${index}: 1\n`).join("") }));
hostile("a catalog with a large package", () => {
  const name = (index) => `gizmo.v1.0.${index}`;
  const entries = many(20_000, (index) => ({ name: name(index), ...(index > 0 && { replaces: name(index - 1) }) }));
  const bundles = many(20_000, (index) => JSON.stringify({ schema: "olm.bundle", package: "gizmo", name: name(index), image: `quay.io/a/b:${index}`, properties: [{ type: "olm.package", value: { packageName: "gizmo", version: `1.0.${index}` } }] }));
  return { "catalog.json": [JSON.stringify({ schema: "olm.package", name: "gizmo", defaultChannel: "stable" }), JSON.stringify({ schema: "olm.channel", package: "gizmo", name: "stable", entries }), ...bundles].join("\n") };
});
hostile("a catalog with markup in every string", () => {
  const evil = `"><img src=x onerror=alert(1)><script>alert(2)</script>`;
  const icon = { base64data: Buffer.from("<svg xmlns='http://www.w3.org/2000/svg' onload='alert(3)'/>").toString("base64"), mediatype: "image/svg+xml" };
  const csv = { annotations: { description: evil }, displayName: evil, description: `${evil} [a](javascript:alert(4))`, provider: { name: evil }, links: [{ name: evil, url: "javascript:alert(5)" }, { name: evil, url: `https://example.com/${evil}` }], keywords: [evil] };
  const blobs = [
    { schema: "olm.package", name: evil, defaultChannel: evil, description: evil, icon },
    { schema: "olm.channel", package: evil, name: evil, entries: [{ name: evil, replaces: `${evil}1`, skipRange: evil, skips: [evil] }] },
    { schema: "olm.bundle", package: evil, name: evil, image: evil, properties: [{ type: "olm.package", value: { packageName: evil, version: "1.0.0" } }, { type: "olm.csv.metadata", value: csv }, { type: "olm.gvk", value: { group: evil, kind: evil, version: evil } }] },
    { schema: "olm.deprecations", package: evil, entries: [{ reference: { schema: "olm.bundle", name: evil }, message: evil }, { reference: { schema: "olm.package" }, message: evil }] },
  ];
  return { "catalog.json": blobs.map((blob) => JSON.stringify(blob)).join("\n") };
}, async (text, tab) => {
  await tab.evaluate(() => document.querySelector("#tab-catalog").click());
  await tab.waitForSelector(".packages .place");
  await tab.evaluate(() => document.querySelector(".packages .place").click());
  await tab.waitForSelector(".drawing");
  await tab.waitForFunction(() => document.querySelector(".drawing").shadowRoot.querySelector(".node[role=button]"));
  const evil = await tab.evaluate(() => {
    const root = document.querySelector(".drawing").shadowRoot;
    root.querySelector(".node[role=button]").dispatchEvent(new MouseEvent("click", { bubbles: true }));
    return [...root.querySelectorAll("script, img, [onerror]")].length + [...document.querySelectorAll(".catalog script, .catalog [onerror], .catalog img[src=x], .catalog a[href^=javascript]")].length;
  });
  assert.equal(evil, 0);
});

const manifests = Object.entries(bundle());
const dialog = (pattern) => (text) => assert.match(text, pattern);
const zip = async (files) => Buffer.from(await zipped(files.map(([path, text]) => [path, Buffer.from(text)])).arrayBuffer());
hostile("a hundred thousand files", () => ({ "a.tar.gz": gzipSync(tarball([...manifests, ...many(100_000, (index) => [`manifests/${index}.yaml`, ""])])) }), dialog(/more than 20000 files/));
hostile("an archive that decompresses to gigabytes", () => ({ "a.tar.gz": Buffer.concat([gzipSync(tarball(manifests)), ...many(40, () => gzipSync(Buffer.alloc(100 << 20)))]) }), dialog(/exceed the limit/));
hostile("paths that leave the archive, and names twice", () => ({ "a.tar": tarball([["../../etc/passwd", "x"], ["/etc/passwd", "x"], ["manifests/../../x", "x"], ["manifests\\..\\..\\y", "x"], ["manifests/csv.json", "{}"], ...manifests]) }), async (text, tab) => {
  const names = await tab.$$eval(".files .name", (all) => all.map((one) => one.textContent));
  assert.deepEqual(names, ["etc/passwd", "manifests/csv.json", "metadata/annotations.yaml"]);
});
hostile("names that are not UTF-8, and no names", () => ({ "a.tar": Buffer.from(tarball([...manifests, ["manifests/\u00e9\u00e9.yaml", "a: b\n"]]).toString("latin1").replace("a: b\n", "a: \xff\n"), "latin1") }));
hostile("an empty archive", () => ({ "a.tar": tarball([]) }), dialog(/No bundle or catalog found/));
for (const [name, change, pattern] of [
  ["a zip archive that leaves its directory", (files) => [["../../x", "x"], ...files], /gizmo/],
  ["a zip archive without files", () => [], /No bundle or catalog found/],
]) {
  const bytes = await zip(change(manifests));
  hostile(name, { "a.zip": bytes }, dialog(pattern));
}

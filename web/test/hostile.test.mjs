// Hostile bundles, catalogs and archives: the page answers each within its limits of time and memory, runs nothing of them, and stays usable.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test from "node:test";
import { gzipSync } from "node:zlib";
import { launch, open, skip } from "./browser.mjs";
import { examine, usable } from "./hostile.mjs";
import { tarball } from "./tar.mjs";
import { zipped } from "../src/zip.js";

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

/** Opens files, as an archive if there are several, and checks that the page stays within its limits, and usable. */
function hostile(name, files, check) {
  test(name, { skip, timeout: 180_000 }, async (t) => {
    const browser = await launch();
    const directory = mkdtempSync(join(tmpdir(), "hostile-"));
    try {
      const { tab, problems } = await open(browser);
      const entries = Object.entries(typeof files === "function" ? files() : files);
      const path = join(directory, entries.length === 1 ? entries[0][0] : "bundle.tar");
      writeFileSync(path, entries.length === 1 ? entries[0][1] : tarball(entries));
      const { line } = await examine({ browser, tab, problems }, path, check);
      t.diagnostic(line);
      await usable(tab);
    } finally {
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
for (const [name, part] of [["headings", "# x\n"], ["cells of a table", "|x"], ["items of a list", "* x\n"], ["marks in a line", "`x` **y** "]]) {
  hostile(`a description of a million ${name}`, () => bundle(({ spec }) => (spec.description = part.repeat(1_000_000))));
}
hostile("three thousand times the same CRD", () => bundle(undefined, ...many(3000, () => crd({ type: "object" }))));
hostile("a schema of many fields and levels", () => {
  let deep = { type: "string" };
  for (let depth = 0; depth < 200; depth += 1) deep = { type: "object", properties: { a: deep } };
  return bundle(undefined, crd({ type: "object", properties: { deep, ...Object.fromEntries(many(50_000, (index) => [`f${index}`, { type: "string" }])) } }));
});
hostile("defaults that multiply, fields that depend on each other in a circle, and a deep example", () => {
  const nested = (levels) => (levels === 0 ? { x: { type: "string", default: "q" } } : { a: { type: "array", default: many(500, () => ({})), items: { type: "object", properties: nested(levels - 1) } } });
  const fields = Object.fromEntries(many(1900, (index) => [`f${index}`, { type: "string" }]));
  return bundle(({ metadata, spec }) => {
    const depend = (index) => ({ path: `f${index}`, "x-descriptors": [`urn:alm:descriptor:com.tectonic.ui:fieldDependency:f${(index + 1) % 500}:true`] });
    spec.customresourcedefinitions.owned[0].specDescriptors = many(500, depend);
    metadata.annotations["alm-examples"] = `[{"apiVersion": "example.com/v1", "kind": "Gizmo", "spec": ${'{"a":'.repeat(50_000)}1${"}".repeat(50_000)}}]`;
  }, crd({ type: "object", properties: { ...fields, b: { type: "object", properties: nested(5) } } }));
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

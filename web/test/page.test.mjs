// The page in a headless browser, from file://.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import test, { after, before } from "node:test";
import { drop, findings, launch, open, root, screenshots, skip, summary } from "./browser.mjs";
import { tarball } from "./tar.mjs";
import { zeros, zstd } from "./zstd.mjs";

const bundle = {};
for (const directory of ["manifests", "metadata"]) {
  for (const name of readdirSync(join(root, "bundle", directory))) {
    bundle[`${directory}/${name}`] = readFileSync(join(root, "bundle", directory, name), "utf8");
  }
}
const CSV = Object.keys(bundle).find((name) => name.includes("clusterserviceversion"));
const ANNOTATIONS = "metadata/annotations.yaml";
const CATALOG = readFileSync(join(root, "bundle-tool/tests/fixtures/catalog/valid.yaml"), "utf8");
const broken = {
  ...bundle,
  [CSV]: bundle[CSV].replace(/^( *)displayName: Memcached Operator$/m, "$1displayNam: Memcached Operator"),
  [ANNOTATIONS]: bundle[ANNOTATIONS].replace(/^.*bundle\.metadata\.v1: .*\n/m, ""),
};
for (const name of [CSV, ANNOTATIONS]) assert.notEqual(broken[name], bundle[name]);

let browser;
before(async () => {
  if (!skip) browser = await launch();
});
after(() => browser?.close());

const shot = screenshots();
const settled = (tab) => tab.waitForFunction(() => document.querySelector("#status").textContent === "" && document.querySelector(".findings .summary h3"));

/** A test with a page of its own, on which nothing may go wrong. */
function case_(name, options, run) {
  test(name, { skip, timeout: 120_000 }, async (t) => {
    const { tab, problems } = await open(browser, options);
    try {
      await run(tab, t, problems);
      assert.deepEqual(problems, []);
    } finally {
      await tab.close();
    }
  });
}

case_("the memcached bundle has no findings", {}, async (tab, t) => {
  const start = performance.now();
  await drop(tab, bundle);
  assert.deepEqual(await findings(tab), []);
  t.diagnostic(`first findings after ${Math.round(performance.now() - start)} ms`);
  assert.equal(await summary(tab), "no errors, no warnings");
  assert.equal(await tab.$eval(".file-title", (title) => title.textContent), CSV);
});

case_("findings are at their places, a fix changes the editor, and the download has it", {}, async (tab) => {
  await drop(tab, broken);
  const found = await findings(tab);
  const line = broken[CSV].split("\n").findIndex((text) => text.includes("displayNam:")) + 1;
  const one = found.find((finding) => finding.rule === "csv-unknown-field");
  assert.ok(one, JSON.stringify(found));
  assert.match(one.place, new RegExp(`^${CSV}:${line}:\\d+$`));
  await tab.evaluate((place) => [...document.querySelectorAll("button.place")].find((button) => button.textContent === place).click(), one.place);
  const active = () => tab.$eval("#editor", (host) => host.shadowRoot.querySelector(".cm-activeLine").textContent);
  assert.match(await active(), /displayNam:/);
  const marks = await tab.$eval("#editor", (host) => [...host.shadowRoot.querySelectorAll(".cm-lintRange")].map((mark) => mark.textContent));
  assert.ok(marks.some((mark) => mark.includes("displayNam")), marks.join("|"));
  await shot(tab, "validate");

  // The safe fixes of all findings, then the one that has to be reviewed.
  await tab.click("#fix-all");
  await tab.waitForFunction(() => !document.querySelector("#fix-all"));
  await tab.click(".fix");
  await tab.waitForFunction(() => document.querySelector(".findings .summary h3").textContent === "no errors, no warnings");
  assert.match(await active(), /displayName:/);
  // Each fix can be undone.
  await tab.$eval("#editor", (host) => host.shadowRoot.querySelector(".cm-content").focus());
  await tab.keyboard.down("Control");
  await tab.keyboard.press("z");
  await tab.keyboard.up("Control");
  await tab.waitForFunction(() => document.querySelectorAll(".finding").length > 0);
  await tab.click(".fix");
  await tab.waitForFunction(() => document.querySelectorAll(".finding").length === 0);

  const directory = mkdtempSync(join(tmpdir(), "download-"));
  const session = await tab.createCDPSession();
  await session.send("Browser.setDownloadBehavior", { behavior: "allow", downloadPath: directory, eventsEnabled: true });
  const done = new Promise((resolve) => session.on("Browser.downloadProgress", ({ state }) => state === "completed" && resolve()));
  await tab.click("#download");
  await done;
  const [name] = readdirSync(directory);
  const zip = readFileSync(join(directory, name));
  rmSync(directory, { recursive: true });
  assert.equal(name, "dropped.zip");
  // What was downloaded can be opened again, and the fixed file is that of before.
  await tab.evaluate(() => (document.title = "before"));
  await drop(tab, { "dropped.zip": zip });
  await tab.waitForFunction(() => document.title !== "before");
  await settled(tab);
  assert.deepEqual(await findings(tab), []);
  for (const text of [bundle[CSV], "bundle.metadata.v1: metadata/"]) assert.ok(zip.includes(Buffer.from(text)));
});

case_("every keystroke is validated", {}, async (tab, t) => {
  await drop(tab, bundle);
  await findings(tab);
  await tab.evaluate(() => {
    window.times = [];
    const post = Worker.prototype.postMessage;
    Worker.prototype.postMessage = function (message, ...rest) {
      const start = performance.now();
      this.addEventListener("message", ({ data }) => data.id === message.id && message.method === "validate" && window.times.push(data.result.time));
      return post.call(this, message, ...rest);
    };
  });
  await tab.$eval("#editor", (host) => host.shadowRoot.querySelector(".cm-content").focus());
  // The next key is pressed after the validation: those of several keys at once are one.
  for (const [index, key] of [..."# abc"].entries()) {
    await tab.keyboard.press(key === " " ? "Space" : key);
    await tab.waitForFunction((count) => window.times.length > count, {}, index);
  }
  const times = (await tab.evaluate(() => window.times)).sort((a, b) => a - b);
  t.diagnostic(`validations of the memcached bundle take ${times[0].toFixed(1)} ms`);
});

case_("settings filter findings, and links carry them and nothing else", { hash: "#profile=community&suite=olmv1,evil&kubernetes=9.99" }, async (tab) => {
  await drop(tab, bundle);
  const found = await findings(tab);
  assert.ok(found.length > 0);
  assert.equal(await tab.$eval("#profile", (select) => select.value), "community");
  assert.equal(await tab.$eval("#kubernetes", (select) => select.value), "");
  const hash = () => tab.evaluate(() => location.hash);
  assert.equal(await hash(), "#profile=community&suite=olmv1");
  await tab.select("#profile", "");
  await tab.click("#suites summary");
  await tab.click("#suites input[value=olmv1]");
  await tab.waitForFunction(() => document.querySelectorAll(".finding").length === 0);
  assert.equal(await hash(), "");
  await tab.select("#kubernetes", "1.30");
  assert.equal(await hash(), "#kubernetes=1.30");
});

case_("archives and images are opened as directories are", {}, async (tab) => {
  const files = Object.entries(broken);
  const layer = gzipSync(tarball(files));
  const config = JSON.stringify({ config: { Labels: { "operators.operatorframework.io.bundle.manifests.v1": "manifests/" } } });
  const digest = (text) => `sha256:${text}`;
  const manifest = JSON.stringify({ config: { digest: digest("c") }, layers: [{ digest: digest("l") }] });
  const oci = tarball([["oci-layout", "{}"], ["index.json", JSON.stringify({ manifests: [{ digest: digest("m") }] })], ["blobs/sha256/m", manifest], ["blobs/sha256/c", config], ["blobs/sha256/l", layer]]);
  const withZstd = tarball([["index.json", JSON.stringify({ manifests: [{ digest: digest("m") }] })], ["blobs/sha256/m", manifest], ["blobs/sha256/c", config], ["blobs/sha256/l", zstd(tarball(files))]]);
  const docker = tarball([["manifest.json", JSON.stringify([{ Config: "c.json", Layers: ["l/layer.tar"] }])], ["c.json", config], ["l/layer.tar", tarball(files)]]);
  let expected;
  for (const [name, bytes] of [["bundle.tar", tarball(files)], ["bundle.tar.gz", gzipSync(tarball(files))], ["oci.tar", oci], ["zstd.tar", withZstd], ["bundle.tar.zst", zstd(tarball(files))], ["docker.tar", docker], ["nested.tar", tarball(files.map(([path, text]) => [`operators/gizmo/1.0.0/${path}`, text]))]]) {
    await tab.evaluate(() => (document.title = "before"));
    await drop(tab, { [name]: bytes });
    await tab.waitForFunction(() => document.title !== "before");
    await settled(tab);
    const found = await findings(tab);
    expected ??= found;
    assert.ok(found.length > 0);
    assert.deepEqual(found, expected, name);
  }
});

case_("bundle-tool.toml applies, as on the command line", {}, async (tab) => {
  const rules = async (files) => {
    await tab.evaluate(() => (document.title = "before"));
    await drop(tab, files);
    await tab.waitForFunction(() => document.title !== "before");
    await settled(tab);
    return (await findings(tab)).map((finding) => `${finding.severity} ${finding.rule}`);
  };
  assert.ok((await rules(broken)).includes("error csv-unknown-field") || (await rules(broken)).includes("warning csv-unknown-field"));
  const settings = '[rules]\ncsv-unknown-field = "deny"\n[[ignore]]\nrule = "annotation-missing"\nreason = "known"\n';
  const own = await rules({ ...broken, "bundle-tool.toml": settings });
  assert.ok(own.includes("error csv-unknown-field") && !own.some((rule) => rule.includes("annotation-missing")), own.join());
  // That of a directory above.
  const nested = Object.fromEntries(Object.entries(broken).map(([path, text]) => [`operators/gizmo/${path}`, text]));
  assert.deepEqual(await rules({ ...nested, "operators/bundle-tool.toml": settings }), own);
  assert.deepEqual(await rules({ ...nested, "operators/bundle-tool.toml": "suites = 1\n" }), []);
  assert.match(await tab.$eval(".findings [role=alert]", (alert) => alert.textContent), /^operators\/bundle-tool.toml:1:10: /);
});

case_("a CSV is pasted, with the keyboard only", {}, async (tab) => {
  const press = async (...keys) => {
    for (const key of keys) await tab.keyboard.press(key);
  };
  await tab.focus("#open-file");
  await press("Tab", "Enter");
  assert.equal(await tab.evaluate(() => document.activeElement.id), "pasted");
  await tab.evaluate((text) => document.execCommand("insertText", false, text), broken[CSV]);
  await press("Tab", "Enter");
  const found = await findings(tab);
  assert.ok(found.some((finding) => finding.message.includes("displayNam")), JSON.stringify(found));
  // From the tabs to the first finding, its fix, and the editor.
  await tab.focus("#tab-validate");
  await press("ArrowRight");
  await tab.waitForSelector(".preview.hub");
  await press("ArrowLeft");
  await tab.waitForSelector(".findings");
  for (let step = 0; step < 40 && !(await tab.evaluate(() => document.activeElement.classList.contains("fix"))); step += 1) await press("Tab");
  const before = await tab.$$eval(".finding", (all) => all.length);
  await press("Enter");
  await tab.waitForFunction((before) => document.querySelectorAll(".finding").length < before, {}, before);
  // The editor is reached and left with Tab.
  for (let step = 0; step < 80 && (await tab.evaluate(() => document.activeElement.id)) !== "editor"; step += 1) await press("Tab");
  assert.equal(await tab.evaluate(() => document.activeElement.id), "editor");
  await press("Tab");
  assert.notEqual(await tab.evaluate(() => document.activeElement.id), "editor");
});

case_("two bundles are compared, and what breaks is named", {}, async (tab) => {
  const crd = Object.keys(bundle).find((name) => name.includes("memcacheds.yaml"));
  const older = { ...bundle, [CSV]: bundle[CSV].replaceAll("0.0.1", "0.0.0"), [crd]: bundle[crd].replace(/maximum: (\d+)/, "maximum: 9$1") };
  assert.notEqual(older[crd], bundle[crd]);
  await drop(tab, older);
  await findings(tab);
  await drop(tab, bundle);
  await tab.waitForFunction(() => document.querySelectorAll("#subject option").length === 2);
  await settled(tab);
  await tab.click("#tab-upgrade");
  await tab.waitForSelector(".changes");
  const text = await tab.$eval("#panel", (panel) => panel.textContent);
  assert.match(text, /memcached-operator.v0.0.0 → memcached-operator.v0.0.1: breaks something/);
  assert.match(text, /maximum/);
  await shot(tab, "upgrade");
});

case_("a catalog is validated, and browsed as serve --http shows it", {}, async (tab) => {
  await drop(tab, { "catalog.yaml": CATALOG });
  await findings(tab);
  await tab.click("#tab-catalog");
  await tab.waitForSelector(".packages li");
  const status = () => tab.$eval(".catalog [role=status]", (status) => status.textContent);
  const total = await status();
  assert.match(total, /^\d+ packages?$/);
  await tab.type("#package-search", "nothing has this");
  assert.equal(await status(), `0 of ${total}`);
  await tab.$eval("#package-search", (search) => search.select());
  await tab.type("#package-search", "gizmo");
  assert.equal(await status(), `1 of ${total}`);
  await shot(tab, "packages");

  // The package: its channels, and the graph with selection and search, with the keyboard.
  await tab.focus(".packages .place");
  await tab.keyboard.press("Enter");
  await tab.waitForSelector(".drawing");
  assert.match(await tab.$eval(".catalog", (page) => page.textContent), /stable defaultDeprecated: .*gizmo.v1.2.0/);
  assert.equal(await tab.evaluate(() => document.activeElement.tagName), "H3");
  await tab.waitForFunction(() => document.querySelector(".drawing").shadowRoot.querySelector(".node[tabindex='0']"));
  await tab.$eval(".drawing", (host) => host.shadowRoot.querySelector(".node[tabindex='0']").focus());
  await tab.keyboard.press("Enter");
  const chosen = () => tab.$eval(".drawing", (host) => host.shadowRoot.querySelector("#selected h2")?.textContent);
  const first = await chosen();
  assert.match(first, /^gizmo\.v/);
  await tab.keyboard.press("ArrowDown");
  assert.notEqual(await chosen(), first);
  await tab.$eval(".drawing", (host) => host.shadowRoot.querySelector("#search").focus());
  await tab.keyboard.type("1.1.0");
  await tab.keyboard.press("Enter");
  assert.match(await chosen(), /1\.1\.0/);
  await shot(tab, "catalog");

  // A channel, and back.
  await tab.evaluate(() => [...document.querySelectorAll(".catalog table .place")].find((button) => button.textContent === "stable").click());
  await tab.waitForFunction(() => document.querySelector(".catalog th[scope=row]")?.textContent.startsWith("gizmo.v"));
  assert.match(await tab.$eval(".catalog tbody", (body) => body.textContent), /gizmo.v1.2.0 head/);
  await tab.click(".back");
  await tab.waitForSelector(".drawing");
  await tab.click(".back");
  await tab.waitForSelector(".packages li");
});

case_("what a catalog shows of the operator is previewed, and what is missing is named", {}, async (tab) => {
  const without = { ...bundle, [CSV]: bundle[CSV].replace(/^ *icon:\n(?: *-? .*\n)*?(?= {2}\w)/m, "").replace(/^ {4}containerImage: .*\n/m, "") };
  await drop(tab, without);
  await findings(tab);
  for (const [view, selector, patterns] of [
    ["operatorhub", ".preview.hub", [/Memcached/, /metadata.annotations.containerImage is not set/]],
    ["console", ".preview.console", [/Install Operator/, /All namespaces on the cluster/]],
    ["forms", ".preview.forms", [/Create Memcached/]],
  ]) {
    await tab.click(`#tab-${view}`);
    await tab.waitForSelector(selector);
    const text = await tab.$eval(selector, (panel) => panel.textContent);
    for (const pattern of patterns) assert.match(text, pattern);
    await shot(tab, view);
  }
});

for (const [name, viewport] of [["desktop", { width: 1280, height: 860 }], ["phone", { width: 390, height: 844, isMobile: true, hasTouch: true }]]) {
  for (const scheme of ["light", "dark"]) {
    case_(`nothing is serious for axe, and nothing is wider than the window (${name}, ${scheme})`, { viewport, scheme }, async (tab) => {
      const axe = readFileSync(join(root, "web/node_modules/axe-core/axe.min.js"), "utf8");
      const check = async (view) => {
        // The page allows no further scripts; the browser's own tools may evaluate one.
        await tab.evaluate(axe);
        const { violations } = await tab.evaluate(() => axe.run(document, { resultTypes: ["violations"], preload: false }));
        const serious = violations.filter((one) => ["serious", "critical"].includes(one.impact));
        assert.deepEqual(serious.map((one) => `${view}: ${one.id}: ${one.nodes.map((node) => node.html).slice(0, 3).join(" ")}`), []);
        const [wide, width] = await tab.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
        assert.ok(wide <= width, `${view} is ${wide} px wide`);
        await shot(tab, `${name}-${scheme}-${view}`);
      };
      await check("welcome");
      await drop(tab, broken);
      await findings(tab);
      await settled(tab);
      await check("validate");
      for (const view of ["operatorhub", "console", "forms", "upgrade"]) {
        await tab.click(`#tab-${view}`);
        await tab.waitForSelector(".preview");
        await new Promise((resolve) => setTimeout(resolve, 100));
        await check(view);
      }
      await tab.click("#tab-validate");
      await tab.click(".finding .quiet");
      await tab.waitForSelector("dialog[open]");
      await check("explain");
      await tab.keyboard.press("Escape");
      await drop(tab, { "catalog.yaml": CATALOG });
      await tab.waitForSelector("#tab-catalog");
      await settled(tab);
      await tab.click("#tab-catalog");
      await tab.waitForSelector(".packages li");
      await check("packages");
      await tab.click(".packages .place");
      await tab.waitForSelector(".drawing");
      await tab.waitForFunction(() => document.querySelector(".drawing").shadowRoot.querySelector(".node[tabindex='0']"));
      await check("package");
      await tab.click(".catalog table .place");
      await tab.waitForFunction(() => document.querySelector(".catalog thead th").textContent === "Bundle");
      await check("channel");
    });
  }
}

const EVIL = `"><img src=x onerror=alert(1)><script>alert(2)</script>`;

case_("nothing in a bundle becomes markup or a script", {}, async (tab) => {
  const text = JSON.stringify(EVIL);
  const csv = `apiVersion: operators.coreos.com/v1alpha1
kind: ClusterServiceVersion
metadata:
  name: ${text}
  annotations: {description: ${text}, repository: "javascript:alert(3)", containerImage: ${text}, capabilities: ${text}}
spec:
  displayName: ${text}
  description: |
    # ${EVIL}
    [a](javascript:alert(4)) ![b](https://evil.example/x.png) <svg onload=alert(5)>
  version: ${text}
  provider: {name: ${text}}
  links: [{name: a, url: "javascript:alert(6)"}]
  maintainers: [{name: ${text}, email: "x@y?subject=z"}]
  icon: [{mediatype: image/svg+xml, base64data: ${Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" onload="alert(7)"><script>alert(8)</script></svg>').toString("base64")}}]
  customresourcedefinitions: {owned: [{name: ${text}, kind: ${text}, version: v1, description: ${text}, specDescriptors: [{path: ${text}}]}]}
`;
  await drop(tab, { "manifests/csv.yaml": csv, [`manifests/${EVIL.replaceAll("/", "")}.yaml`]: "a: b", "metadata/annotations.yaml": `annotations: {operators.operatorframework.io.bundle.channels.v1: ${text}}` });
  await findings(tab);
  for (const view of ["operatorhub", "console", "forms"]) {
    await tab.click(`#tab-${view}`);
    await tab.waitForSelector(".preview");
    await new Promise((resolve) => setTimeout(resolve, 200));
    const bad = await tab.$$eval("#panel script, #panel [onerror], #panel svg, #panel a[href^=javascript], #panel img[src=x]", (all) => all.length);
    assert.equal(bad, 0, view);
  }
});

case_("damaged and hostile archives are errors, and the page stays usable", {}, async (tab, t) => {
  const bomb = gzipSync(Buffer.alloc(300 << 20));
  const truncated = tarball(Object.entries(bundle)).subarray(0, 1536 + 100);
  for (const [name, bytes] of [["bomb.gz", bomb], ["bomb.tar.gz", gzipSync(tarball([["manifests/a.yaml", Buffer.alloc(200 << 20)]]))], ["bomb.tar.zst", zeros(300 << 20)], ["truncated.tar.gz", gzipSync(truncated)], ["a.zip", Buffer.from("PK\u0003\u0004 not a zip archive at all, really not")], ["x.bin", Buffer.from([0, 1, 2])]]) {
    await drop(tab, { [name]: bytes });
    await tab.waitForSelector("dialog[open]", { timeout: 30_000 });
    t.diagnostic(`${name}: ${await tab.$eval("dialog p", (message) => message.textContent)}`);
    await tab.keyboard.press("Escape");
    await tab.waitForSelector("dialog:not([open])", { visible: false });
  }
  // A tree that is as deep as the reader allows, and an expression that is as deep as its parser allows.
  const deep = `a: ${"{a: ".repeat(900)}1${"}".repeat(900)}\n`;
  await drop(tab, { "manifests/deep.yaml": deep, "metadata/annotations.yaml": "annotations: {}\n" });
  await findings(tab);
  await settled(tab);
  await tab.evaluate(() => (document.title = "before"));
  await drop(tab, bundle);
  await tab.waitForFunction(() => document.title.includes("no errors"));
});

test("preview shows a directory, and what is saved while it is shown", { skip: skip || (process.env.BUNDLE_TOOL ? false : "BUNDLE_TOOL is not set"), timeout: 120_000 }, async () => {
  const directory = mkdtempSync(join(tmpdir(), "preview-"));
  cpSync(join(root, "bundle"), directory, { recursive: true });
  const server = spawn(process.env.BUNDLE_TOOL, ["preview", directory, "--page", join(root, "web/dist")], { stdio: ["ignore", "pipe", "ignore"] });
  try {
    const address = await new Promise((resolve) => server.stdout.once("data", (line) => resolve(String(line).trim())));
    const { tab, problems } = await open(browser, { address });
    assert.deepEqual(await findings(tab), []);
    await tab.evaluate((name) => [...document.querySelectorAll(".files button")].find((button) => button.textContent.startsWith(name)).click(), ANNOTATIONS);
    writeFileSync(join(directory, ANNOTATIONS), broken[ANNOTATIONS]);
    await tab.waitForFunction(() => document.querySelectorAll(".finding").length > 0, { timeout: 30_000 });
    assert.equal(await tab.$eval(".file-title", (title) => title.textContent), ANNOTATIONS);
    const text = await tab.$eval("#editor", (host) => host.shadowRoot.querySelector(".cm-content").textContent);
    assert.ok(!text.includes("bundle.metadata.v1"), text);
    assert.deepEqual(problems, []);
    await tab.close();
  } finally {
    server.kill();
    rmSync(directory, { recursive: true });
  }
});

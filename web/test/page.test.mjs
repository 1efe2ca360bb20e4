// The page in a headless browser, from file://.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createServer } from "node:http";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, extname, join } from "node:path";
import { gzipSync } from "node:zlib";
import test from "node:test";
import { computed } from "./hostile.mjs";
import { case_, drop, dropNext, dropPath, findings, launch, openShared, page, root, screenshots, skip, summary } from "./browser.mjs";
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

const shot = screenshots();
const settled = (tab) => tab.waitForFunction(() => document.querySelector("#status").textContent === "" && document.querySelector(".findings .summary h3"));

case_("the memcached bundle has no findings", {}, async (tab) => {
  await drop(tab, bundle);
  assert.deepEqual(await findings(tab), []);
  assert.equal(await summary(tab), "no errors, no warnings");
  assert.equal(await tab.$eval(".file-title", (title) => title.textContent), CSV);
});

test("first findings in a fresh browser", { skip: skip || (process.env.MEASURE ? false : "MEASURE is not set"), timeout: 240_000 }, async (t) => {
  const median = (all) => all.sort((a, b) => a - b)[Math.floor(all.length / 2)];
  // A bundle is dropped when the page has just been drawn, and when a user has found the directory.
  for (const [name, wait] of [["at once", 0], ["after 2 seconds", 2000]]) {
    const runs = [];
    for (let run = 0; run < 5; run += 1) {
      const browser = await launch();
      try {
        const tab = await browser.newPage();
        await tab.evaluateOnNewDocument(() => {
          addEventListener("drop", () => (window.dropped ??= performance.now()), true);
          new MutationObserver(() => document.querySelector(".findings .summary h3") && (window.found ??= performance.now())).observe(document, { subtree: true, childList: true });
        });
        await tab.goto(page.href);
        await new Promise((resolve) => setTimeout(resolve, wait));
        const before = computed(browser, { isAll: true });
        await drop(tab, bundle);
        await tab.waitForFunction(() => window.found);
        const after = computed(browser, { isAll: true });
        runs.push([await tab.evaluate(() => window.found - window.dropped), after - before]);
        assert.equal(await summary(tab), "no errors, no warnings");
      } finally {
        await browser.close();
      }
    }
    const [times, cpu] = [0, 1].map((at) => runs.map((run) => run[at]));
    t.diagnostic(`dropped ${name}: first findings after ${Math.round(median(times))} ms (${times.map(Math.round).join(", ")}), with ${Math.round(median(cpu))} ms of CPU`);
  }
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
  await dropNext(tab, { "dropped.zip": zip });
  await settled(tab);
  assert.deepEqual(await findings(tab), []);
  for (const text of [bundle[CSV], "bundle.metadata.v1: metadata/"]) assert.ok(zip.includes(Buffer.from(text)));
});

case_("a file that is not listed, because there are too many, is shown", {}, async (tab) => {
  const many = Object.fromEntries(Array.from({ length: 2100 }, (_, index) => [`manifests/a${index}.yaml`, `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a${index}}\n`]));
  await drop(tab, { ...bundle, ...many });
  await tab.waitForSelector(".findings .summary h3, dialog[open]");
  assert.equal(await tab.$("dialog[open]"), null);
  assert.equal(await tab.$eval(".file-title", (title) => title.textContent), CSV);
  assert.match(await tab.$eval(".files", (list) => list.textContent), /and \d+ more$/);
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
    await dropNext(tab, { [name]: bytes });
    await settled(tab);
    const found = await findings(tab);
    expected ??= found;
    assert.ok(found.length > 0);
    assert.deepEqual(found, expected, name);
  }
});

/** Serves the page on loopback, also for what there is not, as many static hosts do. */
async function served() {
  const types = { ".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml" };
  const server = createServer(({ url }, response) => {
    const asked = basename(new URL(url, "http://localhost").pathname);
    const name = extname(asked) in types ? asked : "index.html";
    response.setHeader("content-type", types[extname(name)]).end(readFileSync(new URL(name, page)));
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { address: `http://127.0.0.1:${server.address().port}/`, stop: () => server.close() };
}

for (const where of ["a file", "a server"]) {
  test(`directories and files of the disk are dropped on the page of ${where}`, { skip, timeout: 120_000 }, async () => {
    const directory = mkdtempSync(join(tmpdir(), "dropped-"));
    const { address, stop } = where === "a server" ? await served() : { address: page.href, stop: () => {} };
    try {
      cpSync(join(root, "bundle"), join(directory, "bundle"), { recursive: true });
      mkdirSync(join(directory, "bundle/.git/manifests"), { recursive: true });
      writeFileSync(join(directory, "bundle/.git/manifests/a.yaml"), "a: b\n");
      writeFileSync(join(directory, "bundle.tar"), tarball(Object.entries(bundle)));
      writeFileSync(join(directory, "csv.yaml"), bundle[CSV]);
      const { tab, problems } = await openShared({ address });
      const next = async (path) => {
        await tab.evaluate(() => (document.title = "before"));
        await dropPath(tab, join(directory, path));
        await tab.waitForFunction(() => document.querySelector("dialog[open]") || (document.title !== "before" && document.querySelector(".findings .summary h3")));
        assert.equal(await tab.evaluate(() => document.querySelector("dialog[open]")?.innerText), undefined, path);
        return tab.$$eval(".files .name", (all) => all.map((one) => one.textContent));
      };
      const names = Object.keys(bundle).sort();
      assert.deepEqual(await next("bundle"), names);
      assert.equal(await tab.title(), "bundle: no errors, no warnings");
      assert.deepEqual(await next("bundle.tar"), names);
      assert.deepEqual(await next("csv.yaml"), ["manifests/csv.yaml"]);
      // The directory that contains all of them.
      await next(".");
      assert.deepEqual(problems, []);
      await tab.close();
    } finally {
      stop();
      rmSync(directory, { recursive: true });
    }
  });
}

case_("bundle-tool.toml applies, as on the command line", {}, async (tab) => {
  const rules = async (files) => {
    await dropNext(tab, files);
    await settled(tab);
    return (await findings(tab)).map((finding) => `${finding.severity} ${finding.rule}`);
  };
  assert.ok((await rules(broken)).some((rule) => rule.endsWith(" csv-unknown-field")));
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

case_("the permissions that an upgrade adds and removes are named", {}, async (tab) => {
  const rule = (verb, resource) => `        - apiGroups:\n          - apps\n          resources:\n          - ${resource}\n          verbs:\n          - ${verb}\n`;
  const granted = (text) => bundle[CSV].replace(/^( *)clusterPermissions:\n *- rules:\n/m, (found) => found + text);
  assert.notEqual(granted(rule("get", "x")), bundle[CSV]);
  await drop(tab, { ...bundle, [CSV]: granted(rule("get", "daemonsets")).replaceAll("0.0.1", "0.0.0") });
  await findings(tab);
  await drop(tab, { ...bundle, [CSV]: granted(rule("delete", "statefulsets")) });
  await tab.waitForFunction(() => document.querySelectorAll("#subject option").length === 2);
  await settled(tab);
  await tab.click("#tab-upgrade");
  await tab.waitForSelector(".changes");
  const changes = await tab.$$eval("#panel section", (all) => all.filter((one) => one.querySelector("h4").textContent === "Permissions").flatMap((one) => [...one.querySelectorAll("li")].map((line) => `${line.className}: ${line.textContent}`)));
  assert.deepEqual(changes, ["removed: - memcached-operator-controller-manager may get daemonsets.apps cluster-wide", "added: + memcached-operator-controller-manager may delete statefulsets.apps cluster-wide"]);
});

test("a catalog is shown as serve --http shows it", { skip: skip || (process.env.BUNDLE_TOOL ? false : "BUNDLE_TOOL is not set"), timeout: 60_000 }, async () => {
  const directory = mkdtempSync(join(tmpdir(), "catalog-"));
  const icon = { base64data: Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>').toString("base64"), mediatype: "image/svg+xml" };
  const csv = { annotations: { description: "Fills lakes" }, displayName: "Lakes", description: "It fills lakes", provider: { name: "Example" }, links: [{ name: "Site", url: "https://lakes.example.com/" }], keywords: ["water"] };
  const lake = [
    { schema: "olm.package", name: "lake", defaultChannel: "stable", description: "Lakes", icon },
    { schema: "olm.channel", package: "lake", name: "stable", entries: [{ name: "lake.v1.1.0", replaces: "lake.v1.0.0", skips: ["lake.v1.0.1", "lake.v1.0.2"], skipRange: "<1.1.0" }, { name: "lake.v1.0.0" }] },
    { schema: "olm.channel", package: "lake", name: "candidate", entries: [{ name: "lake.v1.1.0" }] },
    ...["1.1.0", "1.0.0"].map((version) => ({ schema: "olm.bundle", package: "lake", name: `lake.v${version}`, image: `quay.io/example/lake:v${version}`, properties: [{ type: "olm.package", value: { packageName: "lake", version } }, { type: "olm.gvk", value: { group: "example.com", kind: "Lake", version: "v1" } }, { type: "olm.csv.metadata", value: csv }] })),
    { schema: "olm.deprecations", package: "lake", entries: [{ reference: { schema: "olm.channel", name: "candidate" }, message: "Use stable" }, { reference: { schema: "olm.bundle", name: "lake.v1.0.0" }, message: "It leaks" }] },
  ].map((blob) => JSON.stringify(blob)).join("\n");
  writeFileSync(join(directory, "gizmo.yaml"), CATALOG);
  writeFileSync(join(directory, "lake.json"), lake);
  const server = spawn(process.env.BUNDLE_TOOL, ["serve", directory, "--port", "0", "--http", "127.0.0.1:0"], { stdio: ["ignore", "pipe", "ignore"] });
  try {
    const address = await new Promise((resolve) => {
      let text = "";
      server.stdout.on("data", (part) => {
        text += part;
        const [, found] = /(http:\S+)/.exec(text) ?? [];
        if (found) resolve(found.replace(/\/$/, ""));
      });
    });
    const { tab, problems } = await openShared();
    const served = await tab.browser().newPage();
    await served.goto(address);
    await tab.bringToFront();
    await drop(tab, { "gizmo.yaml": CATALOG, "lake.json": lake });
    await findings(tab);
    await tab.click("#tab-catalog");
    await tab.waitForSelector(".packages li");
    /** The texts of what both pages show. */
    const shown = (page, selector) => page.$$eval(selector, (all) => all.map((one) => one.textContent.replace(/\s+/g, " ").trim()).filter((text) => text !== "" && text !== "?"));
    const same = async (ours, theirs, what) => {
      const expected = await shown(served, theirs);
      assert.ok(expected.length > 0, what);
      assert.deepEqual(await shown(tab, ours), expected, what);
    };
    await same(".packages .place, .packages .muted, .packages .notice, .packages > li > p:last-child, .catalog [role=status]", ".cards strong, .cards .meta, .cards .deprecated, .cards li > p:last-child, [role=status]", "packages");
    await tab.type("#package-search", "water lake");
    await served.goto(`${address}/?q=water+lake`);
    await same(".packages .place, .catalog [role=status]", ".cards strong, [role=status]", "search");
    for (const name of ["lake", "gizmo"]) {
      await tab.$eval("#package-search", (search, name) => ((search.value = name), search.dispatchEvent(new Event("input"))), name);
      await tab.click(".packages .place");
      await tab.waitForSelector(".drawing");
      await served.goto(`${address}/packages/${name}`);
      await same(".catalog h3, .catalog .facts dt, .catalog .facts dd, .catalog th, .catalog td", "h1, dl dt, dl dd, th, td", name);
      // The same drawing: its bundles, channels and upgrades.
      await served.goto(`${address}/packages/${name}/graph.svg`);
      const drawn = (root) => [...root.querySelectorAll(".node, .replaces, .rail")].map((one) => [one.getAttribute("class"), one.getAttribute("data-name"), one.getAttribute("data-state"), one.getAttribute("d")].join(" "));
      const theirs = await served.evaluate(`(${drawn})(document)`);
      assert.ok(theirs.length > 1, name);
      await tab.waitForFunction(() => document.querySelector(".drawing").shadowRoot.querySelector(".node[tabindex='0']"));
      assert.deepEqual(await tab.evaluate(`(${drawn})(document.querySelector(".drawing").shadowRoot)`), theirs, name);
      for (const channel of await tab.$$eval(".catalog tbody .place", (all) => all.map((one) => one.textContent))) {
        await tab.evaluate((channel) => [...document.querySelectorAll(".catalog tbody .place")].find((one) => one.textContent === channel).click(), channel);
        await tab.waitForFunction(() => document.querySelector(".catalog thead th").textContent === "Bundle");
        await served.goto(`${address}/packages/${name}/channels/${channel}`);
        await same(".catalog h3, .catalog th, .catalog td", "h1, th, td", channel);
        await tab.click(".back");
        await tab.waitForSelector(".drawing");
      }
      await tab.click(".back");
      await tab.waitForSelector(".packages li");
    }
    assert.deepEqual(problems, []);
    await served.close();
    await tab.close();
  } finally {
    server.kill();
    rmSync(directory, { recursive: true });
  }
});

case_("what a catalog shows of the operator is previewed, and what is missing is named", {}, async (tab) => {
  const without = { ...bundle, [CSV]: bundle[CSV].replace(/^ *icon:\n(?: *-? .*\n)*?(?= {2}\w)/m, "").replace(/^ {4}containerImage: .*\n/m, "") };
  await drop(tab, without);
  await findings(tab);
  for (const [view, selector, patterns] of [
    ["operatorhub", ".preview.hub", [/Memcached/, /metadata.annotations.containerImage is not set/]],
    ["console", ".preview.console", [/Install Operator/, /All namespaces on the cluster/]],
    ["forms", ".preview.forms", [/Create Memcached/, /Memcached overview/]],
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
      // With several bundles, the controls have more lines.
      await dropNext(tab, bundle);
      await settled(tab);
      await tab.click("#suites summary");
      await check("suites");
      const [left, right, width] = await tab.$eval("#suites fieldset", (list) => [list.getBoundingClientRect().left, list.getBoundingClientRect().right, innerWidth]);
      assert.ok(left >= 0 && right <= width, `the list of suites is from ${left} to ${right} of ${width} px`);
      // Not with the mouse, for which the browser scrolls.
      await tab.evaluate(() => document.querySelector("#tab-upgrade").click());
      const [from, to] = await tab.$eval("#tab-upgrade", (chosen) => [chosen.getBoundingClientRect().left, chosen.getBoundingClientRect().right]);
      assert.ok(from >= 0 && to <= width, `the chosen tab is from ${from} to ${to} of ${width} px`);
    });
  }
}

/** Makes the worker never answer the calls of a method, from now on. */
const mute = (tab, method) => tab.evaluate((method) => {
  window.muted = method;
  if (window.isMuting) return;
  window.isMuting = true;
  const post = Worker.prototype.postMessage;
  Worker.prototype.postMessage = function (message, ...rest) {
    if (message.method === window.muted) (window.held ??= []).push(() => post.call(this, message, ...rest));
    else post.call(this, message, ...rest);
  };
}, method);
/** Sends the calls that were kept back. */
const release = (tab) => tab.evaluate(() => {
  window.muted = null;
  for (const send of window.held.splice(0)) send();
});
const texts = (tab, selector) => tab.$$eval(selector, (all) => all.map((one) => one.textContent));
const dialogText = async (tab) => {
  await tab.waitForSelector("dialog[open] #dialog-title");
  return tab.$eval("#dialog", (dialog) => dialog.textContent);
};
const focused = (tab) => tab.evaluate(() => document.activeElement.id || document.activeElement.className || document.activeElement.tagName);
const press = async (tab, ...keys) => {
  for (const key of keys) await tab.keyboard.press(key);
};

case_("a slow validation is cancelled, and older findings are not shown as if they were current", {}, async (tab) => {
  await drop(tab, broken);
  const before = await findings(tab);
  assert.ok(before.length > 0);
  // The settings change what is validated.
  await mute(tab, "validate");
  await tab.select("#profile", "community");
  await tab.waitForSelector(".findings.old[aria-busy=true]");
  assert.match(await tab.$eval(".findings .summary", (summary) => summary.textContent), /^Validating… The findings below are from before your last change\./);
  assert.equal(await tab.$(".findings .summary h3"), null);
  // A fix of the older findings is not applied to the newer ones.
  await tab.click("#fix-all");
  assert.match(await tab.$eval("#status", (status) => status.textContent), /^These findings are out of date/);
  await tab.waitForSelector("#cancel");
  await tab.focus("#cancel");
  await press(tab, "Enter");
  await tab.waitForSelector("#again");
  assert.deepEqual(await findings(tab), []);
  assert.equal(await summary(tab), "not validated");
  assert.match(await tab.$eval(".findings [role=alert]", (alert) => alert.textContent), /^The validation was cancelled\.$/);
  assert.equal(await tab.$("#cancel"), null);
  await tab.waitForFunction(() => document.activeElement !== document.body);
  await mute(tab, null);
  await tab.click("#again");
  await tab.waitForSelector(".finding");
  assert.ok((await findings(tab)).length >= before.length);

  // Another bundle never shows the findings of this one.
  await mute(tab, "validate");
  await drop(tab, bundle);
  await tab.waitForFunction(() => document.querySelectorAll("#subject option").length === 2);
  await tab.waitForSelector(".findings.old");
  assert.deepEqual(await texts(tab, ".finding"), []);
  await release(tab);
  await tab.waitForSelector(".findings:not(.old) .summary h3");
  assert.match(await tab.title(), /^dropped: (?!not validated)/);
});

case_("rules that really take long are cancelled", {}, async (tab) => {
  const sum = Array.from({ length: 200 }, () => "1").join("+");
  const crd = (name) => JSON.stringify({
    apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition", metadata: { name },
    spec: { group: "example.com", scope: "Namespaced", names: { kind: "Gizmo", plural: "gizmos" }, versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: { type: "object", properties: { spec: {
      type: "object", properties: { l: { type: "string" } }, "x-kubernetes-validations": Array.from({ length: 5000 }, (_, index) => ({ rule: `${sum} > ${index}` })),
    } } } } }] },
  });
  const slow = Object.fromEntries(Array.from({ length: 10 }, (_, index) => [`manifests/${index}.json`, crd(`gizmos${index}.example.com`)]));
  await drop(tab, { ...bundle, ...slow, "bundle-tool.toml": 'suites = ["all"]\n' });
  await tab.waitForSelector("#cancel");
  await tab.waitForSelector(".findings.old");
  await tab.click("#cancel");
  await tab.waitForSelector("#again");
  // What is opened next is validated.
  await drop(tab, broken);
  await tab.waitForFunction(() => document.querySelectorAll("#subject option").length === 2);
  await tab.waitForSelector(".fix");
});

case_("a fix is applied after the worker was replaced", {}, async (tab) => {
  await drop(tab, broken);
  await findings(tab);
  for (const control of ["#fix-all", ".fix"]) {
    const before = await tab.$$eval(".finding", (all) => all.length);
    // Reading something else is cancelled: the worker is replaced, and what is shown stays.
    await mute(tab, "read");
    await drop(tab, bundle);
    await tab.waitForSelector("#cancel");
    await tab.click("#cancel");
    await tab.waitForFunction(() => document.querySelector("#status").textContent === "Cancelled.");
    assert.equal(await tab.$("dialog[open]"), null);
    assert.equal(await tab.$$eval(".finding", (all) => all.length), before);
    await tab.click(control);
    await tab.waitForFunction((before) => document.querySelectorAll(".finding").length < before || document.querySelector("dialog[open]"), {}, before);
    assert.equal(await tab.$("dialog[open]"), null);
  }
  assert.deepEqual(await findings(tab), []);
});

case_("only fixes of tabs that can be applied are offered", {}, async (tab) => {
  const [config, indented] = ["manifests/config.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata:\n\tname: a\n"];
  await drop(tab, { ...bundle, [config]: `\t${indented.replace("\t", "  ")}` });
  const [one] = (await findings(tab)).filter((finding) => finding.rule === "yaml-syntax");
  assert.equal(one.place, `${config}:1:1`);
  assert.equal(await tab.$(".fix"), null);
  assert.match(await tab.$eval(".help", (help) => help.textContent), /remove the tab/);
  await drop(tab, { ...bundle, [config]: indented });
  await tab.waitForSelector("#fix-all");
  await tab.click("#fix-all");
  await tab.waitForFunction(() => document.querySelector(".findings .summary h3")?.textContent.startsWith("no errors"));
});

case_("what cannot be opened is explained", {}, async (tab) => {
  const manifest = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\n";
  for (const [files, pattern] of [
    [{}, /No bundle or catalog found\. There are no files\. Expected/],
    [{ "README.md": "# Gizmo\n", "main.go": "package main\n" }, /There are no YAML or JSON files\. Expected/],
    [{ "deployment.yaml": manifest }, /The YAML contains Deployment, but no ClusterServiceVersion\. Manifests are validated together with their bundle/],
    [{ "a.yaml": manifest, "b.yaml": "kind: Service\n", "c.json": '{"kind": "Role"}', "d.yaml": "kind: Secret\n" }, /Deployment, Service, Role and 1 other kind, but no/],
    [{ "values.yaml": "a: 1\n" }, /no object with a kind and no blob with a schema/],
  ]) {
    await drop(tab, files);
    assert.match(await dialogText(tab), pattern);
    assert.doesNotMatch(await dialogText(tab), /`/);
    await press(tab, "Escape");
    await tab.waitForSelector("dialog:not([open])", { visible: false });
  }
  // Nothing, and a manifest, with the button.
  await tab.click("#open-paste");
  await press(tab, "Tab", "Enter");
  assert.equal(await tab.$eval("#pasted", (field) => field.validity.valueMissing), true);
  await tab.focus("#pasted");
  await tab.evaluate((text) => document.execCommand("insertText", false, text), manifest);
  await press(tab, "Tab", "Enter");
  await tab.waitForFunction(() => document.querySelector("#dialog-title")?.textContent === "That did not work");
  assert.match(await dialogText(tab), /Deployment, but no ClusterServiceVersion/);
});

const LIMITED = { "access-control-allow-origin": "*", "access-control-expose-headers": "X-RateLimit-Remaining", "x-ratelimit-remaining": "0" };
/** GitHub with a repository, in whose branch `release/1` the bundle is in `operator/bundle`. */
const asGitHub = (requests) => (address) => {
  requests.push(address);
  const { hostname, pathname } = new URL(address);
  const names = Object.keys(bundle);
  if (hostname === "raw.githubusercontent.com") {
    const found = names.find((name) => pathname === `/acme/gizmo/release/1/operator/bundle/${name}`);
    if (pathname === "/acme/gizmo/main/catalog.yaml") return { body: CATALOG };
    return found ? { body: bundle[found] } : { status: 404, body: "404" };
  }
  const [, tree] = /^\/repos\/acme\/gizmo\/git\/trees\/(.*)$/.exec(pathname) ?? [];
  if (tree === undefined) return pathname.startsWith("/repos/acme/limited/") ? { status: 403, headers: LIMITED, body: "{}" } : { status: 404, body: "{}" };
  if (decodeURIComponent(tree) !== "release/1:operator/bundle") return { status: 404, body: "{}" };
  return { contentType: "application/json", body: JSON.stringify({ tree: names.map((path) => ({ path, type: "blob", size: bundle[path].length })), truncated: false }) };
};
const askGitHub = async (tab, address) => {
  await tab.click("#open-github");
  await tab.type("#address", address);
  await press(tab, "Enter");
};

test("a directory and a file of GitHub are opened", { skip, timeout: 120_000 }, async () => {
  const requests = [];
  const { tab, problems } = await openShared({ answer: asGitHub(requests) });
  const below = "acme/gizmo/tree/release/1/operator/bundle";
  let count = 0;
  for (const address of [`https://github.com/${below}`, `https://www.github.com/${below}/`, ` github.com/${below}/manifests?x=1#L1`, `http://github.com/${below.replace("tree", "blob")}/${CSV}#L3`, `https://github.com/${below.replace("tree", "blob")}/${ANNOTATIONS}`]) {
    await askGitHub(tab, address);
    count += 1;
    await tab.waitForFunction((count) => document.querySelectorAll("#subject option").length === count && document.querySelector(".findings .summary h3"), {}, count);
    assert.equal(await summary(tab), "no errors, no warnings", address);
    assert.deepEqual((await texts(tab, ".files .name")).sort(), Object.keys(bundle).sort(), address);
  }
  await askGitHub(tab, "https://github.com/acme/gizmo/blob/main/catalog.yaml");
  await tab.waitForSelector("#tab-catalog");
  assert.ok(requests.every((address) => /^https:\/\/(api\.github|raw\.githubusercontent)\.com\//.test(address)), requests.join(" "));
  assert.deepEqual(problems, []);
  await tab.close();
});

test("what GitHub does not have, and a network that fails, are explained", { skip, timeout: 120_000 }, async () => {
  let isOffline = false;
  const requests = [];
  const { tab, problems } = await openShared({ answer: (address) => (isOffline ? null : asGitHub(requests)(address)) });
  const attempt = async (address, pattern) => {
    await askGitHub(tab, address);
    await tab.waitForFunction(() => document.querySelector("dialog[open] #dialog-title")?.textContent === "That did not work");
    assert.match(await dialogText(tab), pattern, address);
    await press(tab, "Escape");
    await tab.waitForSelector("dialog:not([open])", { visible: false });
  };
  for (const address of ["https://gitlab.com/acme/gizmo", "https://github.com/acme", "https://github.com/acme/gizmo/pull/1", "https://github.com/acme/gizmo/blob/main", "https://github.com/a/b/tree/%zz", "git@github.com:acme/gizmo", "javascript:alert(1)", "https://github.com/acme/..%2f/tree/main"]) {
    await attempt(address, /expected an address such as|has no such directory or file/);
  }
  await attempt("https://github.com/acme/gizmo/tree/main/none", /GitHub has no such directory or file, or the repository is private/);
  await attempt("https://github.com/acme/gizmo/blob/main/none.yaml", /GitHub has no such directory or file/);
  await attempt("https://github.com/acme/limited", /403: it allows 60 anonymous requests per hour/);
  isOffline = true;
  await attempt("https://github.com/acme/gizmo/tree/release/1/operator/bundle", /failed to connect to api\.github\.com: check the network/);
  await attempt("https://github.com/acme/gizmo/blob/main/catalog.yaml", /failed to connect to raw\.githubusercontent\.com/);
  assert.deepEqual(problems, []);
  await tab.close();
});

case_("what is open can be closed, and edits are not lost without a question", {}, async (tab, t, problems) => {
  await drop(tab, broken);
  await findings(tab);
  await drop(tab, { "catalog.yaml": CATALOG });
  await tab.waitForSelector("#tab-catalog");
  await settled(tab);
  await tab.click("#close");
  await tab.waitForFunction(() => !document.querySelector("#tab-catalog") && document.querySelector(".fix"));
  assert.match(await tab.title(), /^dropped: /);
  // Reloading asks nothing yet.
  const asked = [];
  tab.removeAllListeners("dialog");
  tab.on("dialog", (dialog) => (asked.push(dialog.type()), dialog.dismiss()));
  const leave = () => tab.reload({ timeout: 1000 }).catch(() => {});
  await leave();
  assert.deepEqual(asked, []);
  await tab.waitForFunction(() => document.querySelectorAll("#profile option").length > 1);
  await drop(tab, broken);
  await findings(tab);
  await tab.click("#fix-all");
  await tab.waitForFunction(() => !document.querySelector("#fix-all"));
  await leave();
  assert.deepEqual(asked, ["beforeunload"]);
  assert.equal(await tab.$eval("#workbench", (bench) => bench.hidden), false);
  // Neither does closing lose them.
  await tab.click("#close");
  assert.match(await dialogText(tab), /These files have changes that you have not downloaded: .*annotations\.yaml/);
  await press(tab, "Escape");
  assert.equal(await tab.$eval("#workbench", (bench) => bench.hidden), false);
  await tab.click("#close");
  await tab.click("#discard");
  await tab.waitForSelector("#welcome:not([hidden])");
  assert.equal(await tab.title(), "OLM bundles: validate, fix, preview");
  assert.equal(await focused(tab), "open-directory");
  await leave();
  assert.deepEqual(asked, ["beforeunload"]);
  assert.deepEqual(problems, []);
});

case_("the focus stays where the user works", {}, async (tab) => {
  await drop(tab, broken);
  await findings(tab);
  // After a fix: the next fix, and at last the summary.
  await tab.focus(".fix");
  for (let count = await tab.$$eval(".finding", (all) => all.length); count > 0; count -= 1) {
    await press(tab, "Enter");
    await tab.waitForFunction((count) => document.querySelectorAll(".finding").length < count, {}, count);
    if (count > 1 && (await tab.$(".fix"))) assert.equal(await focused(tab), "fix");
  }
  assert.equal(await tab.evaluate(() => document.activeElement.textContent), "no errors, no warnings");
  // A file stays chosen.
  await tab.focus(".files li:last-child button");
  await press(tab, "Enter");
  assert.equal(await tab.evaluate(() => document.activeElement.closest(".files li:last-child") !== null && document.activeElement.getAttribute("aria-current")), "true");
  // A fix in the editor leaves it there.
  await drop(tab, broken);
  await tab.waitForSelector(".place");
  await tab.evaluate(() => document.querySelector(".finding .place").click());
  await press(tab, "F8");
  const inside = (selector) => tab.$eval("#editor", (host, selector) => host.shadowRoot.querySelector(selector)?.textContent, selector);
  await tab.keyboard.down("Control");
  await tab.keyboard.down("Shift");
  await press(tab, "M");
  await tab.keyboard.up("Shift");
  await tab.keyboard.up("Control");
  await tab.waitForFunction(() => document.querySelector("#editor").shadowRoot.querySelector(".cm-panel-lint .cm-diagnosticAction"));
  assert.doesNotMatch(await inside(".cm-panel-lint"), /`/);
  const before = await tab.$$eval(".finding", (all) => all.length);
  await tab.$eval("#editor", (host) => host.shadowRoot.querySelector(".cm-diagnosticAction").dispatchEvent(new MouseEvent("mousedown", { bubbles: true, cancelable: true })));
  await tab.waitForFunction((before) => document.querySelectorAll(".finding").length < before, {}, before);
  assert.equal(await focused(tab), "editor");
  // Tabs are one stop; arrows, Home and End move in it.
  await tab.focus("#tab-validate");
  for (const [key, id] of [["End", "tab-upgrade"], ["ArrowRight", "tab-validate"], ["ArrowLeft", "tab-upgrade"], ["Home", "tab-validate"], ["ArrowRight", "tab-operatorhub"]]) {
    await press(tab, key);
    assert.equal(await focused(tab), id);
    assert.equal(await tab.$eval(`#${id}`, (one) => one.getAttribute("aria-selected")), "true");
  }
  // The list of suites closes with Escape.
  await tab.focus("#suites summary");
  await press(tab, "Enter", "Tab", "Space", "Escape");
  assert.equal(await tab.$eval("#suites", (suites) => suites.open), false);
  assert.equal(await tab.evaluate(() => document.activeElement.tagName), "SUMMARY");
  // The example's button is gone afterwards.
  const other = await openShared({});
  await other.tab.focus("#example");
  await press(other.tab, "Enter");
  await other.tab.waitForFunction(() => document.activeElement?.id === "tab-validate");
  await other.tab.close();
});

case_("no backticks are shown", {}, async (tab) => {
  const raw = (selector) => tab.$eval(selector, (one) => (one.textContent.includes("`") ? one.textContent : ""));
  const annotated = bundle[CSV].replace(/^ {2}annotations:\n/m, "  annotations:\n    olm.skipRange: <0.0.1\n");
  await drop(tab, { ...broken, [CSV]: annotated.replaceAll("0.0.1", "0.0.0").replace(/ {2}minKubeVersion: .*\n/, "") });
  await findings(tab);
  for (const selector of [".findings", "#suite-list", "#suites legend", "#profile", "#kubernetes"]) assert.equal(await raw(selector), "", selector);
  await drop(tab, { ...bundle, [CSV]: annotated.replace(/ {2}minKubeVersion: .*\n/, "  minKubeVersion: 1.31.0\n").replace(/^( *)- patch\n/m, "$1- patch\n$1- deletecollection\n") });
  await tab.waitForFunction(() => document.querySelectorAll("#subject option").length === 2);
  await tab.click("#tab-upgrade");
  await tab.waitForSelector(".changes li");
  assert.equal(await raw("#panel"), "");
  assert.ok((await texts(tab, "#panel code")).length > 0);
});

case_("a catalog is downloaded under its name", {}, async (tab) => {
  const directory = mkdtempSync(join(tmpdir(), "download-"));
  const session = await tab.createCDPSession();
  await session.send("Browser.setDownloadBehavior", { behavior: "allow", downloadPath: directory, eventsEnabled: true });
  const downloaded = async (files) => {
    await dropNext(tab, files);
    const done = new Promise((resolve) => session.on("Browser.downloadProgress", ({ state }) => state === "completed" && resolve()));
    await tab.click("#download");
    await done;
  };
  await downloaded({ "catalog.yaml": CATALOG });
  await downloaded({ "gizmo/catalog.yaml": CATALOG, "gizmo/README.md": "# Gizmo\n" });
  assert.deepEqual(readdirSync(directory).sort(), ["catalog.yaml", "gizmo.zip"]);
  assert.equal(readFileSync(join(directory, "catalog.yaml"), "utf8"), CATALOG);
  rmSync(directory, { recursive: true });
});

case_("the graph of a large package is drawn in parts", {}, async (tab) => {
  const count = 12_000;
  const name = (index) => `gizmo.v1.0.${index}`;
  const entries = Array.from({ length: count }, (_, index) => ({ name: name(index), ...(index > 0 && { replaces: name(index - 1) }) }));
  const bundles = Array.from({ length: count }, (_, index) => JSON.stringify({ schema: "olm.bundle", package: "gizmo", name: name(index), image: `quay.io/a/b:${index}`, properties: [{ type: "olm.package", value: { packageName: "gizmo", version: `1.0.${index}` } }] }));
  await drop(tab, { "catalog.json": [JSON.stringify({ schema: "olm.package", name: "gizmo", defaultChannel: "stable" }), JSON.stringify({ schema: "olm.channel", package: "gizmo", name: "stable", entries }), ...bundles].join("\n") });
  await findings(tab);
  await tab.click("#tab-catalog");
  await tab.waitForSelector(".packages .place");
  await tab.click(".packages .place");
  const part = async (pattern) => {
    await tab.waitForFunction((pattern) => new RegExp(pattern).test(document.querySelector(".parts")?.textContent) && document.querySelector(".drawing").shadowRoot.querySelector(".node[tabindex='0']"), {}, pattern);
    return tab.$eval(".drawing", (host) => [...host.shadowRoot.querySelectorAll(".labels .row")].map((row) => row.dataset.name));
  };
  const newest = await part("^Bundles 1 to \\d+ of 12000, the newest first\\.Older bundles$");
  assert.equal(newest[0], name(count - 1));
  assert.ok(newest.length > 1000, String(newest.length));
  // The older ones: their states and upgrades are those of the whole graph.
  await tab.focus(".parts button");
  await press(tab, "Enter");
  const older = await part(`^Bundles ${newest.length + 1} to \\d+ of 12000`);
  assert.equal(older[0], name(count - 1 - newest.length));
  assert.notEqual(await focused(tab), "BODY");
  const first = await tab.$eval(".drawing", (host) => {
    const node = host.shadowRoot.querySelector(".node");
    node.dispatchEvent(new MouseEvent("click", { bubbles: true }));
    return [node.dataset.state, host.shadowRoot.querySelector("#selected").textContent];
  });
  assert.equal(first[0], "entry");
  assert.match(first[1], new RegExp(`${name(count - newest.length).replaceAll(".", "\\.")} replacesThe path continues in another part of the graph\\.`));
  await tab.evaluate(() => [...document.querySelectorAll(".parts button")].find((button) => button.textContent === "Newer bundles").click());
  assert.deepEqual(await part("^Bundles 1 to"), newest);
});

case_("text that is typed while another bundle is opened stays in the one that is shown", {}, async (tab) => {
  await drop(tab, bundle);
  await findings(tab);
  await mute(tab, "validate");
  await drop(tab, broken);
  await tab.waitForFunction(() => document.querySelectorAll("#subject option").length === 2);
  const [first, second] = await tab.$$eval("#subject option", (all) => all.map((one) => one.value));
  const content = () => tab.$eval("#editor", (host) => host.shadowRoot.querySelector(".cm-content").textContent);
  const write = async (text) => {
    await tab.$eval("#editor", (host) => host.shadowRoot.querySelector(".cm-content").focus());
    await tab.keyboard.type(text);
  };
  // The second one is shown although its validation has not answered.
  await write("# second ");
  assert.match(await content(), /# second /);
  await tab.select("#subject", first);
  assert.doesNotMatch(await content(), /# second /);
  await write("# first ");
  await release(tab);
  await tab.waitForSelector(".findings .summary h3");
  assert.match(await content(), /# first /);
  assert.doesNotMatch(await content(), /# second /);
  await tab.select("#subject", second);
  await tab.waitForFunction(() => document.querySelector(".findings .summary h3")?.textContent.includes("error") || document.querySelector(".findings .summary h3")?.textContent.includes("warning"));
  await tab.evaluate((name) => [...document.querySelectorAll(".files button")].find((button) => button.dataset.key === name).click(), CSV);
  assert.match(await content(), /# second /);
  assert.doesNotMatch(await content(), /# first /);
});

case_("text that is typed while a fix is computed is kept, and the fix is refused", {}, async (tab) => {
  await drop(tab, broken);
  await findings(tab);
  const before = await tab.$$eval(".finding", (all) => all.length);
  await mute(tab, "fixAll");
  await tab.click("#fix-all");
  await tab.waitForFunction(() => window.held?.length > 0);
  await tab.$eval("#editor", (host) => host.shadowRoot.querySelector(".cm-content").focus());
  await tab.keyboard.type("# typed\n");
  await release(tab);
  await tab.waitForFunction(() => document.querySelector("#status").textContent.startsWith("These findings are out of date"));
  assert.match(await tab.$eval("#editor", (host) => host.shadowRoot.querySelector(".cm-content").textContent), /# typed/);
  // With the findings of now, it applies.
  await tab.waitForFunction(() => document.querySelector(".findings:not(.old) .summary h3"));
  assert.equal(await tab.$$eval(".finding", (all) => all.length), before);
  await tab.click("#fix-all");
  await tab.waitForFunction((before) => document.querySelectorAll(".finding").length < before, {}, before);
  assert.match(await tab.$eval("#editor", (host) => host.shadowRoot.querySelector(".cm-content").textContent), /# typed/);
});

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
    const { tab, problems } = await openShared({ address });
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

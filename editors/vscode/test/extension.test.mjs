// The built extension against a mock of VS Code's API, with the real program.
import assert from "node:assert/strict";
import { cpSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { document, load, mock, Uri } from "./mock.mjs";
import { directory, extension, program, repository } from "./support.mjs";

const manifest = JSON.parse(readFileSync(join(extension, "package.json"), "utf8"));

/** Activates the extension, and deactivates it after the test. */
async function activate(test, settings = { "bundle-tool.path": program }, documents = []) {
  const { vscode, state } = mock(settings);
  state.documents.push(...documents);
  const loaded = load(vscode);
  const context = { subscriptions: [], extensionUri: Uri.file(extension) };
  await loaded.activate(context);
  test.after(async () => {
    await loaded.deactivate();
    for (const item of context.subscriptions) item.dispose();
  });
  return { state, vscode };
}

/** Waits until a condition holds, which is checked whenever diagnostics arrive. */
function until(state, condition) {
  return new Promise((resolve, reject) => {
    const timeout = setTimeout(() => reject(new Error(`not within 20 seconds; log: ${state.log.join("\n")}`)), 20_000);
    const check = () => {
      if (!condition()) return;
      clearTimeout(timeout);
      state.events.off("diagnostics", check);
      resolve();
    };
    state.events.on("diagnostics", check);
    check();
  });
}

function brokenBundle(test) {
  const root = directory(test);
  cpSync(join(repository, "bundle"), root, { recursive: true });
  const file = join(root, "manifests/memcached-operator.clusterserviceversion.yaml");
  writeFileSync(file, readFileSync(file, "utf8").replace("\nspec:\n", "\nspec:\n  minKubeVersion: new\n"));
  return file;
}

test("the server starts and reports the findings of an open bundle", async (test) => {
  const file = brokenBundle(test);
  const { state } = await activate(test, undefined, [document(file)]);
  assert.deepEqual(state.errors, []);
  assert.match(state.log[0], /^info: bundle-tool \d/);
  const key = Uri.file(file).toString();
  await until(state, () => state.diagnostics.get(key)?.length > 0);
  const found = state.diagnostics.get(key).find((item) => item.message.includes("minKubeVersion"));
  assert.ok(found, JSON.stringify(state.diagnostics.get(key)));
  assert.equal(found.source, "bundle-tool");
});

test("every declared command is registered", async (test) => {
  const { state } = await activate(test);
  assert.deepEqual(Object.keys(state.commands).filter((name) => name.startsWith("bundle-tool.")).sort(),
    manifest.contributes.commands.map((item) => item.command).sort());
});

test("restarting starts a new server, and options of the settings are passed to it", async (test) => {
  const file = brokenBundle(test);
  const { state } = await activate(test, undefined, [document(file)]);
  const key = Uri.file(file).toString();
  const messages = () => (state.diagnostics.get(key) ?? []).map((item) => item.message).join("\n");
  await until(state, () => messages().includes("minKubeVersion"));
  const rule = state.diagnostics.get(key).find((item) => item.message.includes("minKubeVersion")).code;
  state.settings["bundle-tool.arguments"] = ["--allow", rule.value ?? rule];
  state.diagnostics.clear();
  state.events.emit("configuration", { affectsConfiguration: (name) => name === "bundle-tool.arguments" });
  await state.commands["bundle-tool.restart"]();
  await until(state, () => state.diagnostics.has(key));
  assert.doesNotMatch(messages(), /minKubeVersion/);
  assert.deepEqual(state.errors, []);
});

test("the output is shown", async (test) => {
  const { state } = await activate(test);
  state.commands["bundle-tool.showOutput"]();
  assert.equal(state.log.at(-1), "shown");
});

test("a missing program is reported with a guide to install it", async (test) => {
  const { vscode, state } = mock({ "bundle-tool.path": "/nowhere/bundle-tool" });
  state.answer = "How to Install";
  const loaded = load(vscode);
  await loaded.activate({ subscriptions: [], extensionUri: Uri.file(extension) });
  await new Promise(setImmediate);
  const [{ message, actions }] = state.errors;
  assert.equal(message, "bundle-tool was not found at `/nowhere/bundle-tool`: install it, or set bundle-tool.path");
  assert.deepEqual(actions, ["How to Install", "Open Settings"]);
  const [command, guide] = state.executed.find(([name]) => name === "markdown.showPreview");
  assert.equal(command, "markdown.showPreview");
  const text = readFileSync(guide.fsPath, "utf8");
  assert.match(text, /^# Install bundle-tool/);
  assert.doesNotMatch(text, /\]\((?!https:|#)/, "a link leads out of the extension");
  await loaded.deactivate();
});

test("the upgrade graph is shown under a strict policy, and again after a change", async (test) => {
  const root = directory(test);
  cpSync(join(repository, "catalog"), root, { recursive: true });
  const { state } = await activate(test);
  await state.commands["bundle-tool.previewGraph"](Uri.file(root));
  assert.deepEqual(state.errors, []);
  const [panel] = state.panels;
  assert.equal(panel.title, "Upgrades of memcached-operator");
  assert.deepEqual(panel.options, { enableScripts: false, localResourceRoots: [] });
  const { html } = panel.webview;
  const nonce = html.match(/content="default-src 'none'; style-src 'nonce-([A-Za-z0-9+/=]{24})'"/)[1];
  assert.match(html, /<svg [^>]*aria-label="Upgrade graph of memcached-operator"/);
  // Whatever the policy would block is not in the page.
  assert.doesNotMatch(html, /<script|\son\w+=|\sstyle=|<(img|image|link|iframe|object)\b/);
  for (const [, attributes] of html.matchAll(/<style([^>]*)>/g)) assert.equal(attributes, ` nonce="${nonce}"`);

  const file = join(root, "memcached-operator/catalog.yaml");
  writeFileSync(file, readFileSync(file, "utf8").replace("name: stable\npackage", "name: testing\npackage"));
  const changed = new Promise((resolve) => {
    const webview = { set html(text) { resolve(text); } };
    panel.webview = webview;
  });
  state.events.emit("save", { uri: Uri.file(file) });
  const second = await changed;
  assert.match(second, /testing/);
  assert.ok(!second.includes(nonce), "the nonce is used twice");
});

test("a catalog with several packages offers them", async (test) => {
  const file = join(directory(test), "catalog.yaml");
  const blobs = ["a", "b"].flatMap((name) => [
    { schema: "olm.package", name, defaultChannel: "stable" },
    { schema: "olm.channel", package: name, name: "stable", entries: [{ name: `${name}.v1.0.0` }] },
    { schema: "olm.bundle", package: name, name: `${name}.v1.0.0`, image: `quay.io/example/${name}:v1.0.0`,
      properties: [{ type: "olm.package", value: { packageName: name, version: "1.0.0" } }] },
  ]);
  writeFileSync(file, blobs.map((blob) => JSON.stringify(blob)).join("\n"));
  const { state } = await activate(test);
  state.pick = "b";
  await state.commands["bundle-tool.previewGraph"](Uri.file(file));
  assert.deepEqual(state.offered, ["a", "b"]);
  assert.match(state.panels[0].webview.html, /aria-label="Upgrade graph of b"/);
});

test("what is not a catalog is reported", async (test) => {
  const { state } = await activate(test);
  await state.commands["bundle-tool.previewGraph"](Uri.file(join(directory(test), "missing")));
  assert.equal(state.panels.length, 0);
  assert.match(state.errors[0].message, /missing/);
  await state.commands["bundle-tool.previewGraph"]();
  assert.match(state.errors[1].message, /^no catalog is open/);
});

test("the extension starts only where a bundle, a catalog or settings are", () => {
  for (const event of manifest.activationEvents) assert.match(event, /^workspaceContains:/);
});

test("every schema of the manifest is built", () => {
  for (const { url } of manifest.contributes.yamlValidation) JSON.parse(readFileSync(join(extension, url), "utf8"));
});

test("the lockfile names no registry", () => {
  assert.doesNotMatch(readFileSync(join(extension, "package-lock.json"), "utf8"), /"resolved"/);
});

// bundle-tool accepts what each snippet expands to.
import assert from "node:assert/strict";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { directory, extension, run } from "./support.mjs";

const snippets = ["yaml", "toml"].flatMap((language) =>
  Object.values(JSON.parse(readFileSync(join(extension, `snippets/${language}.json`), "utf8"))));

/** Returns what a snippet expands to if all defaults are kept, with `last` at the final position of the cursor. */
function expand(prefix, last = "") {
  const { body } = snippets.find((snippet) => snippet.prefix === prefix);
  const text = body.join("\n").replace(/\$\{\d+:([^}]*)\}/g, "$1").replace(/\$\{\d+\|([^,|]*)[^}]*\|\}/g, "$1");
  const expanded = text.replace(/^( *)\$0$/m, (_, indent) => last.replace(/^/gm, indent));
  assert.doesNotMatch(expanded, /\$\d|\$\{/, `unknown syntax in ${prefix}`);
  return `${expanded}\n`;
}

function write(root, files) {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
}

const crd = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: lakes.example.com
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Lake, listKind: LakeList, plural: lakes, singular: lake}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object}}
`;
const bundle = () => ({
  "manifests/lake-operator.clusterserviceversion.yaml": expand("olm-csv", expand("olm-owned-crd").trimEnd()),
  "manifests/lakes.yaml": crd,
  "metadata/annotations.yaml": expand("olm-annotations"),
});

function accepted(...args) {
  const { status, stdout, stderr } = run(...args);
  assert.equal(status, 0, stdout + stderr);
  return stdout;
}

test("a bundle of snippets is valid", (test) => {
  const root = directory(test);
  write(root, bundle());
  const { bundles } = JSON.parse(accepted("validate", root, "--no-config", "--output", "json"));
  assert.equal(bundles.length, 1);
});

test("a catalog of snippets is valid", (test) => {
  const root = directory(test);
  write(root, { "catalog.yaml": expand("olm-package") + expand("olm-channel") + expand("olm-bundle") });
  accepted("catalog", "validate", root, "--no-config");
});

for (const prefix of ["olm-template-basic", "olm-template-semver"]) {
  test(`${prefix} becomes a catalog`, (test) => {
    const root = directory(test);
    write(root, { "template.yaml": expand(prefix), "bundles.yaml": expand("olm-bundle") });
    accepted("catalog", "template", join(root, "template.yaml"), "--bundles-from", join(root, "bundles.yaml"));
  });
}

test("ci.yaml and release-config.yaml match their schemas", (test) => {
  const root = directory(test);
  const operator = "operators/lake-operator";
  const files = Object.entries(bundle()).map(([path, text]) => [`${operator}/0.1.0/${path}`, text]);
  write(root, {
    ...Object.fromEntries(files),
    [`${operator}/ci.yaml`]: expand("olm-ci"),
    [`${operator}/0.1.0/release-config.yaml`]: expand("olm-release-config"),
  });
  const { stdout } = run("validate", join(root, operator, "0.1.0"), "--suite", "community", "--no-config", "--output", "json");
  assert.match(stdout, /^\{/);
  assert.doesNotMatch(stdout, /community-ci-invalid|community-release-config-invalid/);
});

test("bundle-tool.toml is read", (test) => {
  const root = directory(test);
  const text = `${expand("bundle-tool")}\n${expand("bundle-tool-ignore")}`;
  write(root, { "bundle-tool.toml": text, ...Object.fromEntries(Object.entries(bundle()).map(([path, text]) => [`bundle/${path}`, text])) });
  const { status, stderr } = run("validate", join(root, "bundle"));
  assert.notEqual(status, 2, stderr);
});

test("every snippet is tested", () => {
  const source = readFileSync(import.meta.filename, "utf8");
  for (const { prefix } of snippets) assert.ok(source.includes(`"${prefix}"`), prefix);
});

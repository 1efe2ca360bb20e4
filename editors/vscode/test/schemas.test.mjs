// The schemas accept the files that bundle-tool accepts, and reject those that it rejects.
import assert from "node:assert/strict";
import { cpSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { basename, extname, join } from "node:path";
import { test } from "node:test";
import Ajv from "ajv";
import { parse as parseToml } from "smol-toml";
import { parse as parseYaml } from "yaml";
import { directory, repository, run } from "./support.mjs";

const schemas = join(repository, "docs/schemas");
const read = (file) => JSON.parse(readFileSync(file, "utf8"));
const names = ["bundle-tool", "olm-catalog-template", "operator-ci", "operator-release-config"];
const content = (file) => {
  const text = readFileSync(file, "utf8");
  return extname(file) === ".toml" ? parseToml(text) : parseYaml(text);
};

/** Returns whether a rule has findings in a submission with the file at `path` below the operator's directory. */
function reports(test, rule, path, file) {
  const root = directory(test);
  const operator = join(root, "operators/memcached-operator");
  mkdirSync(operator, { recursive: true });
  cpSync(join(repository, "bundle"), join(operator, "0.0.1"), { recursive: true });
  cpSync(file, join(operator, path));
  const { stdout, stderr } = run("validate", join(operator, "0.0.1"), "--suite", "community", "--no-config", "--output", "json");
  assert.ok(stdout.startsWith("{"), stderr);
  return stdout.includes(`"${rule}"`);
}

/** Whether bundle-tool accepts a file, by the name of its schema. */
const accepts = {
  "bundle-tool": (test, file) => {
    const root = directory(test);
    cpSync(join(repository, "bundle"), join(root, "bundle"), { recursive: true });
    cpSync(file, join(root, "bundle-tool.toml"));
    return run("validate", join(root, "bundle")).status !== 2;
  },
  "olm-catalog-template": (test, file) => {
    const bundles = join(directory(test), "catalog.yaml");
    const versions = { "v1.0.0": "1.0.0", "v1.1.0": "1.1.0", "v1.1.0-1": "1.1.1" };
    const blobs = Object.entries(versions).map(([tag, version]) => ({
      schema: "olm.bundle", name: `lake-operator.${tag}`, package: "lake-operator",
      image: `quay.io/example/lake-operator-bundle:${tag}`,
      properties: [{ type: "olm.package", value: { packageName: "lake-operator", version } }],
    }));
    writeFileSync(bundles, blobs.map((blob) => JSON.stringify(blob)).join("\n"));
    return run("catalog", "template", file, "--bundles-from", bundles).status === 0;
  },
  "operator-ci": (test, file) => !reports(test, "community-ci-invalid", "ci.yaml", file),
  "operator-release-config": (test, file) =>
    !reports(test, "community-release-config-invalid", "0.0.1/release-config.yaml", file),
};

for (const name of names) {
  const schema = read(join(schemas, `${name}.json`));
  // Strict: an unknown keyword is an error.
  const validate = new Ajv({ strict: true, strictTypes: false, strictRequired: false, allErrors: true }).compile(schema);
  for (const [kind, expected] of [["test", true], ["negative_test", false]]) {
    for (const entry of readdirSync(join(schemas, kind, name))) {
      const file = join(schemas, kind, name, entry);
      test(`${name}: ${kind}/${entry}`, (test) => {
        assert.equal(validate(content(file)), expected, JSON.stringify(validate.errors));
        assert.equal(accepts[name](test, file), expected, "bundle-tool disagrees");
      });
    }
  }

  test(`${name}: has the form that SchemaStore requires`, () => {
    assert.equal(schema.$schema, "http://json-schema.org/draft-07/schema#");
    assert.equal(schema.$id, `https://json.schemastore.org/${name}.json`);
    assert.ok(schema.title && schema.description);
    const undocumented = [];
    const visit = (node, path) => {
      for (const [key, property] of Object.entries(node.properties ?? {})) {
        if (!property.description && !property.$ref) undocumented.push(`${path}.${key}`);
        visit(property, `${path}.${key}`);
      }
      for (const [key, definition] of Object.entries(node.definitions ?? {})) visit(definition, key);
      for (const condition of node.allOf ?? []) visit(condition.then, path);
      for (const child of [node.items, node.additionalProperties]) {
        if (child && typeof child === "object") visit(child, `${path}[]`);
      }
    };
    visit(schema, "");
    assert.deepEqual(undocumented, []);
  });
}

test("each schema has an entry for the catalog of SchemaStore", () => {
  const { schemas: entries } = read(join(schemas, "catalog.json"));
  assert.deepEqual(entries.map((entry) => basename(entry.url, ".json")).sort(), names);
  for (const entry of entries) {
    assert.deepEqual(Object.keys(entry), ["name", "description", "fileMatch", "url"]);
    assert.ok(entry.fileMatch.length > 0);
  }
});

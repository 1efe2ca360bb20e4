// Builds the extension into dist/: one file of code, the JSON Schemas, and the page "Install".
import { cp, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { build } from "esbuild";

const docs = new URL("../../docs/", import.meta.url);
const dist = new URL("dist/", import.meta.url);
await rm(dist, { recursive: true, force: true });
await mkdir(new URL("schemas/", dist), { recursive: true });
await build({
  absWorkingDir: import.meta.dirname,
  bundle: true,
  entryPoints: ["src/extension.mjs"],
  external: ["vscode"],
  format: "cjs",
  minify: true,
  outfile: "dist/extension.js",
  platform: "node",
  target: "node20",
});
for (const schema of ["bundle-tool", "olm-catalog-template", "operator-ci", "operator-release-config"]) {
  await cp(new URL(`schemas/${schema}.json`, docs), new URL(`schemas/${schema}.json`, dist));
}
// The pages that it links to are not part of the extension.
const install = await readFile(new URL("install.md", docs), "utf8");
await writeFile(new URL("install.md", dist), install.replace(/\[([^\]]*)\]\((?!https:|#)[^)]*\)/g, "$1"));

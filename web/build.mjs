// Builds the page into dist/: `make web` runs this after it has compiled crates/olm-web to WebAssembly.
//
// The page must work from file://, where a page can load neither modules, nor a worker, nor WebAssembly. So there are classic scripts
// only: engine.js holds the WebAssembly (compressed, in base64), and app.js the source of the worker, which starts from a blob.

import { readFileSync, writeFileSync, mkdirSync, rmSync, copyFileSync, readdirSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";

const engine = process.env.ENGINE ?? "../target/page";
const output = "dist";
// What a visitor downloads, in bytes, if the server compresses.
const MAX_DOWNLOAD = 2 * 1024 * 1024;

const common = {
  bundle: true,
  format: "iife",
  minify: true,
  target: "es2022",
  charset: "utf8",
  legalComments: "none",
  // The path of the WebAssembly beside a module, which is never used.
  logOverride: { "empty-import-meta": "silent" },
  alias: { engine: new URL(`${engine}/olm_web.js`, import.meta.url).pathname },
};

const worker = await build({ ...common, entryPoints: ["src/worker.js"], write: false });
const source = {
  name: "worker-source",
  setup(builder) {
    builder.onResolve({ filter: /^worker-source$/ }, () => ({ path: "worker-source", namespace: "source" }));
    builder.onLoad({ filter: /.*/, namespace: "source" }, () => ({ contents: worker.outputFiles[0].text, loader: "text" }));
  },
};

// The script of the page of upgrade graphs, which is a classic one there.
const graph = {
  name: "graph-page",
  setup(builder) {
    builder.onResolve({ filter: /^graph-page$/ }, () => ({ path: "graph-page", namespace: "graph" }));
    builder.onLoad({ filter: /.*/, namespace: "graph" }, () => ({
      contents: `${readFileSync("../crates/olm-catalog/src/graph/page.js", "utf8")}\nexport { graphPage };`,
      loader: "js",
    }));
  },
};

rmSync(output, { recursive: true, force: true });
mkdirSync(output);
await build({ ...common, entryPoints: ["src/app.js"], outfile: `${output}/app.js`, plugins: [source, graph] });
await build({ ...common, entryPoints: ["src/style.css"], outfile: `${output}/style.css` });
const wasm = gzipSync(readFileSync(`${engine}/olm_web_bg.wasm`), { level: 9 });
writeFileSync(`${output}/engine.js`, `globalThis.bundleToolEngine="${wasm.toString("base64")}";\n`);
for (const name of ["index.html", "icon.svg"]) copyFileSync(`src/${name}`, `${output}/${name}`);

let total = 0;
for (const name of readdirSync(output).sort()) {
  const bytes = readFileSync(`${output}/${name}`);
  const compressed = gzipSync(bytes, { level: 9 }).length;
  total += compressed;
  console.log(`${name}: ${bytes.length} bytes, ${compressed} compressed`);
}
console.log(`download: ${total} bytes compressed, of at most ${MAX_DOWNLOAD}`);
if (total > MAX_DOWNLOAD) {
  console.error("error: the page is too large to download");
  process.exit(1);
}

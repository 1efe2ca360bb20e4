// Packs dist/bundle-tool.vsix, with the publisher PUBLISHER and the repository REPOSITORY, which the marketplace requires.
import { cp, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createVSIX } from "@vscode/vsce";

const { PUBLISHER, REPOSITORY } = process.env;
const here = import.meta.dirname;
const manifest = JSON.parse(await readFile(join(here, "package.json"), "utf8"));
// vsce rejects an extension without a publisher. This one shows that the extension is not from the marketplace.
manifest.publisher = PUBLISHER || "unpublished";
if (REPOSITORY) {
  manifest.repository = { type: "git", url: REPOSITORY };
  // Even Better TOML reads schemas from URLs only.
  manifest.contributes.tomlValidation = [
    { fileMatch: "bundle-tool.toml", url: `${REPOSITORY}/raw/HEAD/docs/schemas/bundle-tool.json` },
  ];
}
manifest.files = ["dist", "snippets", "LICENSE"];
delete manifest.scripts;
delete manifest.devDependencies;
const stage = await mkdtemp(join(tmpdir(), "bundle-tool-vsix-"));
try {
  for (const name of ["dist", "snippets", "README.md"]) {
    const filter = (path) => !path.endsWith(".vsix");
    await cp(join(here, name), join(stage, name), { recursive: true, filter });
  }
  await cp(join(here, "../../LICENSE"), join(stage, "LICENSE"));
  await writeFile(join(stage, "package.json"), `${JSON.stringify(manifest, null, 2)}\n`);
  await createVSIX({
    cwd: stage,
    packagePath: join(here, "dist/bundle-tool.vsix"),
    dependencies: false,
    allowMissingRepository: true,
    skipLicense: false,
    ...(REPOSITORY ? {} : { rewriteRelativeLinks: false }),
  });
} finally {
  await rm(stage, { recursive: true, force: true });
}

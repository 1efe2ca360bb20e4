// What the tests share: the repository's files, and the program that they run.
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

export const extension = fileURLToPath(new URL("..", import.meta.url));
export const repository = fileURLToPath(new URL("../../..", import.meta.url));
export const program = process.env.BUNDLE_TOOL ?? join(repository, "target/x86_64-unknown-linux-musl/debug/bundle-tool");

/** Runs bundle-tool and returns its status and output. */
export function run(...args) {
  const { error, status, stdout, stderr } = spawnSync(program, args, { encoding: "utf8" });
  if (error) throw error;
  return { status, stdout, stderr };
}

/** Returns a new directory that is deleted after the test. */
export function directory(test) {
  const path = mkdtempSync(join(tmpdir(), "bundle-tool-vscode-"));
  test.after(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

// Runs bundle-tool.
import { execFile } from "node:child_process";

const MAX_OUTPUT = 64 << 20;

/** bundle-tool is not installed, or not at the path of the settings. */
export class MissingProgram extends Error {
  constructor(path) {
    super(`bundle-tool was not found at \`${path}\`: install it, or set bundle-tool.path`);
  }
}

/** Runs a program and returns its output. A failure's message is the error that it printed. */
export function run(path, args, { cwd, signal } = {}) {
  return new Promise((resolve, reject) => {
    execFile(path, args, { cwd, signal, maxBuffer: MAX_OUTPUT, windowsHide: true }, (error, stdout, stderr) => {
      if (!error) resolve(stdout);
      else if (error.code === "ENOENT" || error.code === "EACCES") reject(new MissingProgram(path));
      else reject(new Error(stderr.trim().replace(/^error: /, "") || error.message));
    });
  });
}

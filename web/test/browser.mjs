// A headless browser with the page, for tests.

import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { spawnSync } from "node:child_process";
import test, { after } from "node:test";
import puppeteer from "puppeteer-core";

export const root = new URL("../..", import.meta.url).pathname;
export const page = new URL("../dist/index.html", import.meta.url);

const program = process.env.CHROMIUM ?? "chromium";
const found = spawnSync("sh", ["-c", 'command -v "$0"', program], { encoding: "utf8" }).stdout.trim();

/** Why the tests cannot run; with CI set, that is an error. */
export const skip = !found ? `${program} is not installed` : !existsSync(page) ? "web/dist is not built (make web)" : false;
if (skip && process.env.CI) throw new Error(skip);

export async function launch() {
  return puppeteer.launch({ executablePath: found, args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"] });
}

let shared;
after(async () => (await shared)?.close());

/** Opens the page in a new tab of the browser that the tests of one file share. */
export const openShared = async (options) => open(await (shared ??= launch()), options);

/** A test with a page of its own, on which nothing may go wrong. */
export function case_(name, options, run) {
  test(name, { skip, timeout: 120_000 }, async (t) => {
    const { tab, problems } = await openShared(options);
    try {
      await run(tab, t, problems);
      assert.deepEqual(problems, []);
    } finally {
      await tab.close();
    }
  });
}

const isOwn = (request) => /^(file|blob|data):|^http:\/\/127\.0\.0\.1/.test(request.url());

/** Opens the page in a new tab, and returns it with what must stay empty: errors, requests to others, dialogs of scripts, other pages, and
 * what the Content-Security-Policy has stopped.
 * `answer` stands for the network: it returns the answer to a request for an address, or null if the host cannot be reached. */
export async function open(browser, { hash = "", viewport = { width: 1280, height: 860 }, scheme = "light", address = page.href, answer } = {}) {
  const tab = await browser.newPage();
  const problems = [];
  if (answer) {
    await tab.setRequestInterception(true);
    tab.on("request", (request) => {
      if (isOwn(request)) return request.continue();
      const found = answer(request.url());
      return found === null ? request.abort("internetdisconnected") : request.respond({ headers: { "access-control-allow-origin": "*" }, ...found });
    });
  }
  tab.on("pageerror", (error) => problems.push(`error: ${error.message}`));
  // Answers that are errors are part of such a test.
  const isExpected = (message) => answer && message.text().startsWith("Failed to load resource");
  tab.on("console", (message) => message.type() === "error" && !isExpected(message) && problems.push(`console: ${message.text()}`));
  tab.on("dialog", (dialog) => (problems.push(`dialog: ${dialog.message()}`), dialog.dismiss()));
  if (!answer) tab.on("request", (request) => isOwn(request) || problems.push(`request: ${request.url()}`));
  await tab.setViewport(viewport);
  await tab.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
  await tab.exposeFunction("reportProblem", (problem) => problems.push(problem));
  await tab.evaluateOnNewDocument(() => addEventListener("securitypolicyviolation", ({ violatedDirective, blockedURI }) => reportProblem(`policy: ${violatedDirective} ${blockedURI}`)));
  await tab.goto(address + hash);
  tab.on("framenavigated", (frame) => frame.url().split("#")[0] === new URL(address).href || problems.push(`navigation: ${frame.url()}`));
  tab.on("popup", (other) => problems.push(`popup: ${other?.url()}`));
  await tab.waitForFunction(() => document.querySelectorAll("#profile option").length > 1);
  return { tab, problems };
}

/** Drops files on the page, path to text or bytes, as a directory of that name. */
export async function drop(tab, files) {
  const list = Object.entries(files).map(([path, content]) => [path, Buffer.from(content).toString("base64")]);
  await tab.evaluate((list) => {
    const bytes = (base64) => Uint8Array.from(atob(base64), (char) => char.charCodeAt(0));
    const entries = new Map();
    const directory = (name) => ({ name, isDirectory: true, isFile: false, children: [], createReader() {
      let batches = [this.children, []];
      return { readEntries: (done) => done(batches.shift() ?? []) };
    } });
    const root = directory("dropped");
    entries.set("", root);
    for (const [path, base64] of list) {
      const parts = path.split("/");
      let parent = root;
      for (let index = 1; index < parts.length; index += 1) {
        const key = parts.slice(0, index).join("/");
        if (!entries.has(key)) {
          entries.set(key, directory(parts[index - 1]));
          parent.children.push(entries.get(key));
        }
        parent = entries.get(key);
      }
      const file = new File([bytes(base64)], parts.at(-1));
      parent.children.push({ name: parts.at(-1), isFile: true, isDirectory: false, file: (done) => done(file) });
    }
    const items = list.length === 1 && !list[0][0].includes("/") ? root.children : [root];
    const event = new Event("drop", { bubbles: true, cancelable: true });
    event.dataTransfer = { items: items.map((entry) => ({ kind: "file", webkitGetAsEntry: () => entry })), getData: () => "" };
    document.body.dispatchEvent(event);
  }, list);
}

/** Drops a file or a directory of the disk on the page, as a user does with the mouse. */
export async function dropPath(tab, path) {
  const session = await tab.createCDPSession();
  const data = { items: [], files: [path], dragOperationsMask: 1 };
  for (const type of ["dragEnter", "dragOver", "drop"]) await session.send("Input.dispatchDragEvent", { type, x: 100, y: 100, data });
  await session.detach();
}

/** Drops files, and waits until what was dropped has been validated: for pages on which something is open already. */
export async function dropNext(tab, files) {
  await tab.evaluate(() => (document.title = "before"));
  await drop(tab, files);
  await tab.waitForFunction(() => document.title !== "before");
}

/** Waits until the findings of what was dropped are shown, and returns them. */
export async function findings(tab) {
  await tab.waitForSelector(".findings .summary h3");
  return tab.$$eval(".finding", (all) => all.map((one) => ({
    severity: one.querySelector(".severity").textContent,
    message: one.querySelector(".message").textContent,
    place: one.querySelector(".place")?.textContent ?? "",
    rule: one.querySelector(".quiet").textContent,
  })));
}

export const summary = (tab) => tab.$eval(".findings .summary h3", (title) => title.textContent);

/** Compares lines with those of `snapshots/<name>.txt`; with INSTA_UPDATE=always, writes them, as the tests of the crates do. */
export function snapshot(name, lines) {
  const file = new URL(`snapshots/${name}.txt`, import.meta.url);
  const text = lines.map((line) => `${line}\n`).join("");
  if (process.env.INSTA_UPDATE === "always") writeFileSync(file, text);
  assert.equal(text, readFileSync(file, "utf8"), `${name}: review the difference, and accept it with INSTA_UPDATE=always`);
}

export function screenshots() {
  const directory = process.env.SCREENSHOTS;
  if (directory) mkdirSync(directory, { recursive: true });
  return async (tab, name) => directory && tab.screenshot({ path: `${directory}/${name}.png` });
}

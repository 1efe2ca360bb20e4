// Opens a hostile input in the page, looks at every view, and checks that the page stays within its limits.

import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { dropPath } from "./browser.mjs";

/** How long the page itself may not answer, in milliseconds. */
export const MAX_PAUSE = 1000;
/** What the process of the page may take, in bytes. */
export const MAX_MEMORY = 512 << 20;

/** The fields of a process that are numbers, or null if it has ended. */
function statusOf(pid) {
  try {
    return Object.fromEntries([...readFileSync(join("/proc", pid, "status"), "utf8").matchAll(/^(\w+):\s*(\d+)/gm)].map(([, name, value]) => [name, Number(value)]));
  } catch {
    return null;
  }
}

/** How long the list of processes is valid, in milliseconds: to read all of them takes much longer than to read one. */
const MAX_AGE = 500;
const lists = new WeakMap();

/** The processes that show pages. */
function renderers(browser) {
  const known = lists.get(browser);
  if (known && performance.now() - known.at < MAX_AGE) return known.pids;
  const parents = new Map(readdirSync("/proc").filter((name) => /^\d+$/.test(name)).map((pid) => [pid, String(statusOf(pid)?.PPid ?? "")]));
  const own = String(browser.process().pid);
  const pids = [...parents.keys()].filter((pid) => {
    let at = pid;
    while (at && at !== own) at = parents.get(at);
    try {
      return at && readFileSync(join("/proc", pid, "cmdline"), "utf8").includes("--type=renderer");
    } catch {
      return false;
    }
  });
  lists.set(browser, { at: performance.now(), pids });
  return pids;
}

/** What the processes take, in bytes, without the program itself. */
const memory = (browser) => Math.max(0, ...renderers(browser).map((pid) => {
  const { RssAnon = 0, RssShmem = 0 } = statusOf(pid) ?? {};
  return (RssAnon + RssShmem) * 1024;
}));

/** How long the pages have computed, in milliseconds: their main threads, or all, with the workers and the compiler. */
export function computed(browser, { isAll = false } = {}) {
  const spent = (pid) => {
    try {
      const threads = isAll ? readdirSync(`/proc/${pid}/task`) : [pid];
      return threads.reduce((sum, thread) => sum + Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, "utf8").split(" ")[0]) / 1e6, 0);
    } catch {
      // It has ended.
      return 0;
    }
  };
  return renderers(browser).reduce((sum, pid) => sum + spent(pid), 0);
}

/** Returns the most that was computed within a time, in milliseconds, of samples of the clock and of what was computed until then. The time may
 * begin and end between two of them. */
function busiest(samples, time) {
  let [most, end] = [0, 0];
  for (const [at, before] of samples) {
    while (end < samples.length - 1 && samples[end][0] < at + time + 100) end += 1;
    most = Math.max(most, samples[end][1] - before);
  }
  return most;
}

/** Drops the file or the directory at `path` on a tab, looks at every view, and returns a line about it. The page may pause only as long as it computes:
 * what it waits because others use the processors is not its own. */
export async function examine({ browser, tab, problems }, path, check = () => {}) {
  await tab.evaluate(() => {
    window.pause = 0;
    if (window.pauses) return;
    window.pauses = true;
    let last = performance.now();
    setInterval(() => {
      const now = performance.now();
      window.pause = Math.max(window.pause, now - last);
      last = now;
    }, 10);
  });
  let peak = 0;
  let samples = [];
  const sample = () => {
    peak = Math.max(peak, memory(browser));
    samples.push([performance.now(), computed(browser)]);
  };
  const timer = setInterval(sample, 50);
  try {
    const pauses = [];
    const paused = async (what) => {
      const pause = await tab.evaluate(() => { const { pause } = window; window.pause = 0; return pause; });
      sample();
      pauses.push([Math.round(Math.min(pause, busiest(samples, pause))), what]);
      samples = samples.slice(-1);
    };
    sample();
    const titled = await tab.evaluate(() => (document.title = "before"));
    const start = performance.now();
    await dropPath(tab, path);
    await tab.waitForFunction((titled) => document.querySelector("dialog[open]") || (document.title !== titled && document.querySelector(".findings .summary h3")), { timeout: 90_000 }, titled);
    const text = await tab.evaluate(() => (document.querySelector("dialog[open]") ?? document.querySelector(".findings .summary")).innerText.replace(/\s+/g, " ").slice(0, 300));
    const took = performance.now() - start;
    await paused("open");
    await check(text, tab);
    if (!(await tab.$("dialog[open]"))) {
      for (const view of await tab.$$eval("[role=tab]", (tabs) => tabs.map((tab) => tab.id))) {
        await tab.evaluate((view) => document.getElementById(view).click(), view);
        await tab.waitForFunction((view) => document.querySelector("#panel")?.getAttribute("aria-labelledby") === view, { timeout: 60_000 }, view);
        if (view === "tab-forms") await tab.$$eval("details.group", (all) => {
          all.slice(0, 20).forEach((one) => (one.open = true));
          document.querySelector("#yaml-view")?.click();
        });
        if (view === "tab-catalog") await tab.evaluate(() => document.querySelector(".packages .place")?.click());
        // The next time that the page measures itself.
        await tab.evaluate(() => new Promise((resolve) => setTimeout(resolve, 20)));
        await paused(view);
        assert.equal(await tab.$$eval("#panel script, #panel [onerror], #panel [onload], #panel a[href^='javascript' i]", (all) => all.length), 0);
      }
      await tab.evaluate(() => document.querySelector("#tab-validate").click());
    }
    const [pause, where] = pauses.sort(([a], [b]) => b - a)[0];
    assert.deepEqual(problems, []);
    assert.ok(pause < MAX_PAUSE, `the page did not answer for ${pause} ms (${where})`);
    assert.ok(peak < MAX_MEMORY, `${peak >> 20} MiB`);
    return { text, pause, peak, line: `${Math.round(took)} ms, the page paused for ${pause} ms (${where}), ${peak >> 20} MiB: ${text.slice(0, 160)}` };
  } finally {
    clearInterval(timer);
  }
}

/** Checks that the page is usable: the example has findings. */
export async function usable(tab) {
  await tab.evaluate(() => (document.querySelector("#dialog").close(), (document.title = "before"), document.querySelector("#example").click()));
  await tab.waitForFunction(() => document.title.startsWith("example: ") && !document.title.includes("not validated"), { timeout: 60_000 }).catch(async (error) => { throw new Error(`${error.message}: ${await tab.evaluate(() => document.body.innerText.slice(0, 300))}`); });
}

// What takes long is shown, with a button that cancels it.

import { fill, h } from "./dom.js";

/** After how many milliseconds something is shown. */
const DELAY = 300;

/** What the user has cancelled. */
export class Cancelled extends Error {
  constructor() {
    super("cancelled");
  }
}

/** What runs, the newest last. */
const running = [];
let shown;

/** Runs `work`; while it takes long, `title` is shown with a button that calls `cancel`. */
export async function busy(title, cancel, work) {
  const task = { title, cancel, isLong: false };
  running.push(task);
  const timer = setTimeout(() => ((task.isLong = true), update()), DELAY);
  try {
    return await work();
  } finally {
    clearTimeout(timer);
    running.splice(running.indexOf(task), 1);
    update();
  }
}

function update() {
  const task = running.findLast((one) => one.isLong);
  if (task === shown) return;
  shown = task;
  fill(document.getElementById("busy"), task && h("p", {}, task.title, " ", h("button", { type: "button", id: "cancel", onclick: () => task.cancel() }, "Cancel")));
}

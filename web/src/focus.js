// Keeps the focus where the user works: what is shown is replaced while a control in it has the focus, which the browser then takes away.

const CONTROLS = "button, input, select, textarea, a[href], summary";
/** Where the focus goes if nothing is left of what had it: the first one that is shown. */
const FALLBACK = ["[role=tab][aria-selected=true]", "#open-directory"];

const isShown = (element) => element.isConnected && element.checkVisibility();
const controls = (element) => [...(element.matches(CONTROLS) ? [element] : []), ...element.querySelectorAll(CONTROLS)];
const elements = (nodes) => [...nodes].filter((node) => node instanceof Element);

/** Returns what takes the place of a control, if `removed` was replaced in `host`: the control with the same `data-key`, or the one of its
 * kind that is now at its position, or the heading. */
function replacement(control, removed, host) {
  const at = removed.flatMap(controls).indexOf(control);
  const all = controls(host).filter(isShown);
  const alike = all.filter((one) => one.className === control.className);
  const rest = all.slice(Math.max(at, 0));
  return (control.dataset.key !== undefined && all.find((one) => one.dataset.key === control.dataset.key))
    || (rest.find((one) => one.className === control.className) ?? alike.at(-1))
    || host.querySelector("h3[tabindex]") || all[0];
}

/** Keeps the focus from now on. */
export function keepFocus() {
  let last = null;
  addEventListener("focusin", ({ target }) => (last = target));
  // A click beside all controls takes the focus away on purpose.
  addEventListener("pointerup", () => document.activeElement === document.body && (last = null));
  const observer = new MutationObserver((records) => {
    const { activeElement } = document;
    // Browsers take it away from what is hidden only when they draw the page.
    if (last === null || (activeElement !== document.body && isShown(activeElement))) return;
    if (isShown(last)) return last.focus();
    const record = records.find(({ removedNodes }) => elements(removedNodes).some((node) => node.contains(last)));
    const next = record && isShown(record.target) && replacement(last, elements(record.removedNodes), record.target);
    (next || FALLBACK.map((selector) => document.querySelector(selector)).find((one) => one && isShown(one)))?.focus();
  });
  observer.observe(document.body, { subtree: true, childList: true, attributes: true, attributeFilter: ["hidden", "open"] });
}

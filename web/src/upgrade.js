// What an upgrade changes.

import { alert, coded, fill, first, h } from "./dom.js";

/** The comparison of two bundles that are open. */
export function upgradeView(client, bundles, current, titleOf, pick) {
  const file = h("input", { type: "file", multiple: true, hidden: true, "aria-label": "Other version" });
  file.onchange = () => pick([...file.files]);
  const other = h("button", { type: "button", onclick: () => file.click() }, "Open another version…");
  if (bundles.length < 2) {
    return h("div", { class: "preview" }, h("p", {}, "Open the other version of this operator, as an archive, or drop it on the page: the difference shows what an upgrade changes, and what it breaks."), h("p", {}, other, file));
  }
  const result = h("div", { "aria-live": "polite" });
  const others = bundles.filter((one) => one !== current);
  const choose = (id, title, chosen) => h("label", {}, title, " ", h("select", { id, onchange: () => show() }, bundles.map((one) => h("option", { value: one.number, selected: one === chosen }, titleOf(one)))));
  const [from, to] = [choose("from", "From", others[0]), choose("to", "To", current)];
  const show = async () => {
    const [old, next] = [from, to].map((label) => Number(label.querySelector("select").value));
    if (old === next) return fill(result, h("p", {}, "Choose two different bundles."));
    try {
      fill(result, difference(await client.call("compare", old, next)));
    } catch (error) {
      fill(result, alert(error));
    }
  };
  const swap = h("button", { type: "button", onclick: () => {
    const [a, b] = [from, to].map((label) => label.querySelector("select"));
    [a.value, b.value] = [b.value, a.value];
    show();
  } }, "Swap");
  show();
  return h("div", { class: "preview" }, h("div", { class: "bar" }, from, to, swap, other, file), result);
}

function difference({ old, new: next, breaks, summary, crds, sections }) {
  const line = (change) => {
    const kind = change.startsWith("- ") ? "removed" : change.startsWith("+ ") ? "added" : "";
    return h("li", { class: kind }, coded(change));
  };
  return [
    h("h3", { class: breaks ? "failed" : "passed" }, `${old || "unnamed"} → ${next || "unnamed"}: ${breaks ? "breaks something" : "breaks nothing"}`),
    h("p", {}, coded(summary)),
    crds.slice(0, 200).map((crd) => h("section", {}, h("h4", {}, `Custom resource definition ${crd.name}`), h("ul", { class: "changes" }, first(crd.changes, (change) => h("li", { class: "removed" }, coded(change)))))),
    sections.map((section) => h("section", {}, h("h4", {}, coded(section.title[0].toUpperCase() + section.title.slice(1))), h("ul", { class: "changes" }, first(section.changes, line, 1000)))),
    crds.length + sections.length === 0 && h("p", { class: "muted" }, "Nothing that matters for an upgrade differs."),
  ];
}

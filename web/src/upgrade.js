// What an upgrade changes, and the packages of a catalog.

import { counted, fill, h } from "./dom.js";

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
    try {
      fill(result, difference(await client.call("compare", old, next)));
    } catch (error) {
      fill(result, h("p", { role: "alert", class: "notice" }, error.message));
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
    return h("li", { class: kind }, change);
  };
  return [
    h("h3", { class: breaks ? "failed" : "passed" }, `${old || "unnamed"} → ${next || "unnamed"}: ${breaks ? "breaks something" : "breaks nothing"}`),
    h("p", {}, summary),
    crds.map((crd) => h("section", {}, h("h4", {}, `Custom resource definition ${crd.name}`), h("ul", { class: "changes" }, crd.changes.map((change) => h("li", { class: "removed" }, change))))),
    sections.map((section) => h("section", {}, h("h4", {}, section.title[0].toUpperCase() + section.title.slice(1)), h("ul", { class: "changes" }, section.changes.map(line)))),
    crds.length + sections.length === 0 && h("p", { class: "muted" }, "Nothing that matters for an upgrade differs."),
  ];
}

/** The maximum number of packages that are listed; the search finds the others. */
const MAX_PACKAGES = 500;

/** The packages of a catalog, and the upgrade graph of one. */
export async function catalogView(client, number) {
  const packages = await client.call("packages", number);
  const detail = h("div", { class: "graph", "aria-live": "polite" });
  const items = h("ul", { class: "files" });
  const show = async (one) => {
    fill(detail, h("p", { class: "muted" }, "Drawing…"));
    try {
      const { svg, problem, text } = await client.call("graph", number, one.name);
      // A drawing as an image runs no script, and needs no style of this page.
      const address = svg && URL.createObjectURL(new Blob([svg], { type: "image/svg+xml" }));
      fill(detail,
        h("h3", {}, one.name),
        one.deprecated !== null && h("p", { class: "notice" }, "Deprecated: ", one.deprecated),
        h("table", {}, h("caption", {}, counted(one.bundles, "bundle")), h("thead", {}, h("tr", {}, ["Channel", "Head", "Entries"].map((name) => h("th", { scope: "col" }, name)))),
          h("tbody", {}, one.channels.map((channel) => h("tr", {}, h("th", { scope: "row" }, channel.name, channel.name === one.defaultChannel && " (default)", channel.deprecated !== null && " (deprecated)"), h("td", {}, channel.heads.join(", ") || "none"), h("td", {}, channel.entries))))),
        problem && h("p", { class: "notice" }, problem),
        address && h("div", { class: "drawing", tabindex: 0, role: "group", "aria-label": "Upgrade graph" }, h("img", { src: address, alt: `Upgrade graph of ${one.name}; the text below has the same content`, onload: () => URL.revokeObjectURL(address) })),
        h("details", {}, h("summary", {}, "As text"), h("pre", { tabindex: 0 }, text)));
    } catch (error) {
      fill(detail, h("p", { role: "alert", class: "notice" }, error.message));
    }
  };
  const search = h("input", { type: "search", id: "package-search", "aria-label": "Search packages", placeholder: "Search packages" });
  search.oninput = () => names();
  const names = () => {
    const found = packages.filter((one) => one.name.includes(search.value.trim().toLowerCase()));
    fill(items, found.slice(0, MAX_PACKAGES).map((one) => h("li", {}, h("button", { type: "button", onclick: () => show(one) }, h("span", { class: "name" }, one.name), one.deprecated !== null && " (deprecated)"))));
  };
  names();
  if (packages.length > 0) show(packages[0]);
  return h("div", { class: "catalog" }, h("div", {}, h("p", {}, counted(packages.length, "package")), search, items), detail);
}

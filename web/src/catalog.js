// A catalog as `bundle-tool serve --http` shows it: its packages, a package with its channels and its upgrade graph, and the entries of
// a channel.

import { alert, coded, counted, fill, h, link } from "./dom.js";
import { iconAddress } from "./icon.js";
import { markdown } from "./markdown.js";
import { graphPage } from "graph-page";

/** The packages of one page of the list, and the rows of a table. */
const PAGE_SIZE = 60;
const MAX_ROWS = 2000;
/** The maximum number of characters of a graph as text. */
const MAX_TEXT = 200_000;

const heading = (...children) => h("h3", { tabindex: -1 }, ...children);
const deprecated = (message) => message !== null && h("p", { class: "notice" }, "Deprecated: ", message);

/** The view of a catalog; returns at once, and is filled when the worker has answered. */
export async function catalogView(client, number) {
  const packages = await client.call("packages", number);
  const host = h("div", { class: "catalog" });
  /** Shows a page, and moves the focus to its heading unless it is the first one. */
  const show = async (page, { focus = true } = {}) => {
    try {
      fill(host, await page());
      if (focus) host.querySelector("h3")?.focus();
    } catch (error) {
      fill(host, alert(error));
    }
  };
  const back = (title, page) => h("p", {}, h("button", { type: "button", class: "back", onclick: () => show(page) }, `← ${title}`));

  const search = h("input", { type: "search", id: "package-search", autocomplete: "off" });
  let at = 0;
  const list = () => {
    const status = h("p", { role: "status" });
    const cards = h("ul", { class: "cards packages" });
    const pages = h("p", { class: "bar pages" });
    const update = () => {
      const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
      const found = packages.filter((one) => words.every((word) => one.searched.includes(word)));
      at = Math.max(0, Math.min(at, Math.ceil(found.length / PAGE_SIZE) - 1));
      fill(status, words.length > 0 && `${found.length} of `, counted(packages.length, "package"));
      fill(cards, found.slice(at * PAGE_SIZE, (at + 1) * PAGE_SIZE).map(card));
      const step = (title, by) => h("button", { type: "button", onclick: () => ((at += by), update()) }, title);
      fill(pages, at > 0 && step("Previous", -1), found.length > PAGE_SIZE && ` Page ${at + 1} of ${Math.ceil(found.length / PAGE_SIZE)} `, (at + 1) * PAGE_SIZE < found.length && step("Next", 1));
    };
    search.oninput = () => ((at = 0), update());
    update();
    return [heading("Packages"), h("p", {}, h("label", { for: search.id }, "Search packages"), search), status, cards, pages];
  };
  const card = (one) => {
    const icon = h("span", { class: "icon none", "data-size": "small", "aria-hidden": "true" }, "?");
    if (one.has_icon) {
      client.call("icon", number, one.name).then((found) => {
        const image = pictured(found);
        if (image) icon.replaceWith(image);
      }).catch(() => {});
    }
    return h("li", {},
      h("p", { class: "title" }, icon, h("button", { type: "button", class: "place", onclick: () => show(() => ofPackage(one.name)) }, one.display_name)),
      h("p", { class: "muted" }, [one.name, one.provider, counted(one.channels, "channel")].filter(Boolean).join(" · ")),
      one.is_deprecated && h("p", { class: "notice" }, "Deprecated"),
      h("p", {}, one.description));
  };

  const ofPackage = async (name) => {
    const { view, icon, graph, problem, text } = await client.call("package", number, name, 0);
    const fact = (title, ...values) => values.some(Boolean) && [h("dt", {}, title), values.map((value) => h("dd", {}, value))];
    const toChannel = (channel) => h("button", { type: "button", class: "place", onclick: () => show(() => ofChannel(view, channel)) }, channel);
    return [
      back("Packages", list),
      heading(icon && pictured(icon), view.display_name || view.name),
      deprecated(view.deprecation),
      h("dl", { class: "facts" },
        fact("Package", view.name), fact("Provider", view.provider), fact("Version", view.version), fact("Default channel", view.default_channel),
        fact("Bundle image", view.image && h("code", {}, view.image)), fact("Provided APIs", ...view.apis.slice(0, 100)),
        fact("Links", ...view.links.slice(0, 100).map(([title, url]) => link(url, title || url)))),
      h("h4", {}, "Channels"),
      table(["Channel", "Head", "Bundles"], view.channels.map((channel) => [
        [toChannel(channel.name), channel.name === view.default_channel && h("small", {}, " default"), deprecated(channel.deprecation)], channel.head || "none", channel.entries])),
      h("h4", {}, "Upgrade graph"),
      problem && h("p", { class: "notice" }, coded(problem)),
      graph && graphOf(name, graph),
      h("details", {}, h("summary", {}, "As text"), h("pre", { tabindex: 0 }, text.slice(0, MAX_TEXT))),
      view.description && [h("h4", {}, "Description"), h("div", { class: "description" }, markdown(view.description, 5))],
    ];
  };

  /** The upgrade graph, in parts if the package is large. */
  const graphOf = (name, newest) => {
    const host = h("div", {});
    /** Where the parts begin, the newest first. */
    const starts = [0];
    const update = (graph) => {
      const [from, to] = graph.drawn;
      const go = (title, change) => h("button", { type: "button", "data-key": title, onclick: async ({ currentTarget }) => {
        currentTarget.disabled = true;
        change();
        try {
          const { graph, problem } = await client.call("package", number, name, starts.at(-1));
          if (!graph) throw new Error(problem);
          update(graph);
        } catch (error) {
          fill(host, alert(error));
        }
      } }, title);
      fill(host,
        to - from < graph.total && h("p", { class: "bar parts" },
          h("span", { role: "status" }, `Bundles ${from + 1} to ${to} of ${graph.total}, the newest first.`),
          from > 0 && go("Newer bundles", () => starts.pop()),
          to < graph.total && go("Older bundles", () => starts.push(to))),
        drawing(graph));
    };
    update(newest);
    return host;
  };

  const ofChannel = async (view, name) => {
    const entries = await client.call("channel", number, view.name, name);
    const { deprecation } = view.channels.find((channel) => channel.name === name);
    return [
      back(view.name, () => ofPackage(view.name)),
      heading(name, name === view.default_channel && h("small", {}, " default")),
      deprecated(deprecation),
      table(["Bundle", "Version", "Replaces", "Skips"], entries.map((entry) => [
        [entry.name, entry.is_head && h("small", {}, " head"), deprecated(entry.deprecation)], entry.version, entry.replaces,
        [entry.skip_range && h("code", {}, entry.skip_range), " ", shortened(entry.skips)]])),
    ];
  };

  await show(list, { focus: false });
  return host;
}

const shortened = (names) => names.slice(0, 50).join(", ") + (names.length > 50 ? ` and ${names.length - 50} more` : "");

function pictured([mediaType, base64]) {
  const address = iconAddress(String(mediaType), String(base64));
  const image = address && h("img", { class: "icon", "data-size": "small", src: address, alt: "" });
  if (image) image.onerror = () => image.remove();
  return image;
}

function table(columns, rows) {
  return h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": columns[0] },
    h("table", {}, h("thead", {}, h("tr", {}, columns.map((name) => h("th", { scope: "col" }, name)))),
      h("tbody", {}, rows.slice(0, MAX_ROWS).map(([first, ...cells]) => h("tr", {}, h("th", { scope: "row" }, first), cells.map((cell) => h("td", {}, cell)))))),
    rows.length > MAX_ROWS && h("p", { class: "muted" }, `and ${rows.length - MAX_ROWS} more`));
}

/** The page of `catalog graph --output html`, in a shadow root, where its style is its own. */
function drawing({ style, body }) {
  const host = h("div", { class: "drawing" });
  const root = host.attachShadow({ mode: "open" });
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(style);
  root.adoptedStyleSheets.push(sheet);
  const page = h("div", { class: "graph-page" }, ...new DOMParser().parseFromString(body, "text/html").body.childNodes);
  // The name and the scheme are those of the page around it, and there is only one package.
  for (const one of page.querySelectorAll("h1, #theme, .field")) one.hidden = true;
  page.querySelector("main").replaceWith(h("div", { class: "main" }, ...page.querySelector("main").childNodes));
  root.append(page);
  // It measures itself, so that it must be in the page.
  requestAnimationFrame(() => graphPage(root, ""));
  return host;
}

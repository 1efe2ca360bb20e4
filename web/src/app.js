// The page: what is open, its settings, and the views of it.

import { Client } from "./client.js";
import { Editor } from "./editor.js";
import { coded, counted, fill, first, h } from "./dom.js";
import { markdown } from "./markdown.js";
import { consoleView, formsView, operatorHubView } from "./preview.js";
import { catalogView } from "./catalog.js";
import { upgradeView } from "./upgrade.js";
import { dropped, picked } from "./files.js";
import { fetched } from "./github.js";
import { zipped } from "./zip.js";
import { EXAMPLE } from "./example.js";
import { follow } from "./live.js";

const $ = (id) => document.getElementById(id);
const encoder = new TextEncoder();

/** The findings that are listed before a button shows the others. */
const MAX_LISTED = 200;
/** The files that are listed. */
const MAX_FILES = 2000;
/** The bundles that are opened at once. */
const MAX_SUBJECTS = 200;
/** The maximum size of a file in the editor. */
const MAX_SHOWN = 2 << 20;

const settings = { suites: [], profiles: [], kubernetes: "" };
/** What is open: `{number, name, isCatalog, files, changed, view}`. */
const subjects = [];
let current = null;
let report = null;
let numbers = 0;
let view = "validate";

const client = new Client((number) => opening(subjects.find((subject) => subject.number === number)));

// ---- opening

const status = (message) => fill($("status"), message);

function fail(error) {
  status("");
  fill($("dialog"), h("h2", { id: "dialog-title" }, "That did not work"), h("p", {}, error.message), closing());
  $("dialog").showModal();
}

const closing = () => h("p", {}, h("button", { type: "button", class: "primary", onclick: () => $("dialog").close() }, "Close"));

const opening = (subject) => [subject.name, [...subject.files], subject.project];

async function send(subject) {
  const { isCatalog } = await client.call("open", subject.number, ...opening(subject));
  subject.isCatalog = isCatalog;
}

/** Opens files, path to bytes. `replaces` is the number of a subject that they are a newer state of. */
async function open(files, name, { keeps = false } = {}) {
  status("Reading…");
  try {
    const found = await client.call("read", [...files], name);
    const before = keeps ? current?.name : undefined;
    if (keeps) subjects.length = 0;
    const next = subjects.length;
    for (const { name, files, project } of found.slice(0, MAX_SUBJECTS)) {
      numbers += 1;
      const subject = { number: numbers, name, files: new Map(files), project, changed: new Set() };
      await send(subject);
      subjects.push(subject);
    }
    const again = subjects.find((subject) => subject.name === before);
    // The error of what was dropped before.
    $("dialog").close();
    await select(again ?? subjects[next], { keeps });
    status(found.length > MAX_SUBJECTS ? `Only the first ${MAX_SUBJECTS} of ${found.length} bundles are open.` : "");
  } catch (error) {
    fail(error);
  }
}

/** The name of a bundle or a catalog, with a number if others have the same. */
function titleOf(subject) {
  const title = (one) => (one.title && one.title !== one.name ? `${one.title} in ${one.name}` : one.name);
  const twins = subjects.filter((other) => title(other) === title(subject));
  return twins.length > 1 ? `${title(subject)} (${twins.indexOf(subject) + 1})` : title(subject);
}

async function select(subject, { keeps = false } = {}) {
  const path = keeps ? current?.path : undefined;
  current = subject;
  $("welcome").hidden = true;
  $("workbench").hidden = false;
  fill($("subject"), subjects.map((one) => h("option", { value: one.number, selected: one === current }, titleOf(one))));
  $("subject-label").hidden = subjects.length < 2;
  tabs();
  report = null;
  const wanted = path !== undefined && subject.files.has(path) ? path : undefined;
  const first = wanted ?? mainFile(subject);
  const before = edits;
  // At once, so that the editor never shows a file of another bundle.
  openFile(first);
  await validate();
  if (wanted !== undefined || subject !== current || subject.path !== first || edits !== before) return;
  openFile(visible().find((finding) => subject.files.has(finding.file))?.file);
}

function mainFile(subject) {
  const names = [...subject.files.keys()];
  return names.find((name) => /clusterserviceversion/i.test(name)) ?? names.find((name) => name.startsWith("manifests/")) ?? names[0];
}

// ---- validation

let isValidating = false;
let isOutdated = false;
/** How often files were edited; a report knows how often they had been. */
let edits = 0;
/** The bundle and the path that the editor shows. */
let opened = null;

/** Validates what is open. While a validation runs, only the newest state waits. */
async function validate() {
  if (isValidating) {
    isOutdated = true;
    return;
  }
  isValidating = true;
  do {
    isOutdated = false;
    const [subject, version] = [current, edits];
    let next;
    try {
      const { report: found, time } = await client.call("validate", subject.number, settings);
      const [one] = subject.isCatalog ? found.catalogs : found.bundles;
      subject.title = one.name || subject.name;
      next = { ...one, time, findings: one.findings.map((finding, index) => ({ ...finding, index })) };
    } catch (error) {
      next = { findings: [], passed: false, error: error.message };
    }
    if (subject !== current) {
      isOutdated = true;
      continue;
    }
    report = { ...next, version };
    show();
  } while (isOutdated);
  isValidating = false;
}

const RANK = { error: 0, warning: 1, info: 2 };
const visible = () => (report?.findings ?? []).filter((finding) => !finding.ignored).sort((a, b) => RANK[a.severity] - RANK[b.severity] || a.index - b.index);

const CHANGED = "The files have changed since they were validated: choose the fix again.";

async function apply(method, ...args) {
  const [subject, before] = [current, edits];
  // Fixes are numbered by the report.
  if (report?.version !== before) return status(CHANGED);
  try {
    const changed = await client.call(method, subject.number, ...args);
    if (edits !== before) return status(CHANGED);
    edits += 1;
    for (const [path, text] of Object.entries(changed)) {
      subject.files.set(path, encoder.encode(text));
      subject.changed.add(path);
      if (opened?.subject === subject && opened.path === path) editor.replace(text);
    }
    for (const [path, text] of Object.entries(changed)) await client.call("set", subject.number, path, text);
    status(`Changed ${Object.keys(changed).join(", ")}`);
    await validate();
    if (view !== "validate") render();
  } catch (error) {
    fail(error);
  }
}

async function edited(text) {
  const { subject, path } = opened;
  edits += 1;
  subject.files.set(path, encoder.encode(text));
  subject.changed.add(path);
  try {
    await client.call("set", subject.number, path, text);
  } catch {
    await send(subject).catch(() => {});
  }
  await validate();
}

// ---- the view of files and findings

const findingsHost = h("div", { class: "findings" });
const filesHost = h("ul", { class: "files" });
const editorHost = h("div", { class: "editor", id: "editor" });
const fileTitle = h("h3", { class: "file-title" });
const notText = h("p", { class: "muted", hidden: true });
let editor = null;
let isShowingAll = false;

function openFile(path, finding) {
  if (path === undefined || !current.files.has(path)) return;
  current.path = path;
  const text = decoded(current.files.get(path));
  editor ??= new Editor(editorHost, edited);
  fill(fileTitle, path);
  editorHost.hidden = text === null;
  notText.hidden = text !== null;
  fill(notText, "This file is not text, or is too large to show.");
  if (text !== null) {
    opened = { subject: current, path };
    editor.open(`${current.number}/${path}`, path, text);
    mark();
    if (finding?.line) editor.go(finding);
  }
  listFiles();
}

function decoded(bytes) {
  if (bytes.length > MAX_SHOWN) return null;
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return null;
  }
}

const mark = () => editor?.mark(visible().filter((finding) => finding.file === current.path), (finding) => apply("fix", finding.index));

function show() {
  for (const option of $("subject").options) option.textContent = titleOf(subjects.find((one) => String(one.number) === option.value));
  listFindings();
  listFiles();
  if (current.path !== undefined && !editorHost.hidden && editor?.key === `${current.number}/${current.path}`) mark();
  document.title = `${current.name}: ${summary()}`;
}

function summary() {
  if (report?.error) return "not validated";
  const count = (severity) => visible().filter((finding) => finding.severity === severity).length;
  const [errors, warnings] = [count("error"), count("warning")];
  if (errors + warnings === 0) return "no errors, no warnings";
  return [errors && counted(errors, "error"), warnings && counted(warnings, "warning")].filter(Boolean).join(", ");
}

function listFindings() {
  const all = visible();
  const shown = isShowingAll ? all : all.slice(0, MAX_LISTED);
  const fixable = all.filter((finding) => finding.fix?.safety === "safe").length;
  const ignored = (report?.findings.length ?? 0) - all.length;
  fill(
    findingsHost,
    h("div", { class: "summary" },
      h("h3", { class: report?.passed ? "passed" : "failed" }, summary()),
      report?.error && h("p", { role: "alert" }, report.error),
      report?.name && h("p", { class: "muted" }, report.name, ignored > 0 && `, ${counted(ignored, "ignored finding")}`),
      fixable > 0 && h("button", { type: "button", class: "primary", id: "fix-all", onclick: () => apply("fixAll") }, `Apply ${counted(fixable, "safe fix").replace("fixs", "fixes")}`)),
    h("ol", { class: "list" }, shown.map(item)),
    all.length > shown.length && h("button", { type: "button", onclick: () => ((isShowingAll = true), listFindings()) }, `Show ${all.length - shown.length} more`),
  );
}

function item(finding) {
  const place = finding.file && `${finding.file}${finding.line ? `:${finding.line}:${finding.column}` : ""}`;
  const isOpen = finding.file && current.files.has(finding.file);
  return h("li", { class: `finding ${finding.severity}` },
    h("p", { class: "message" }, h("span", { class: "severity" }, finding.severity), " ", coded(finding.message)),
    place && (isOpen
      ? h("button", { type: "button", class: "place", onclick: () => openFile(finding.file, finding) }, place)
      : h("span", { class: "place" }, place)),
    finding.path && h("p", { class: "path" }, finding.path),
    finding.help && h("p", { class: "help" }, h("strong", {}, "help: "), coded(finding.help)),
    (finding.related ?? []).map((related) => h("button", { type: "button", class: "place", onclick: () => openFile(related.file, related) }, `${related.message}: ${related.file}:${related.line}:${related.column}`)),
    h("p", { class: "buttons" },
      finding.fix && h("button", { type: "button", class: "fix", onclick: () => apply("fix", finding.index) }, "Fix: ", coded(finding.fix.title), finding.fix.safety === "unsafe" && " (review it)"),
      h("button", { type: "button", class: "quiet", "aria-label": `Explain ${finding.rule}`, onclick: () => explain(finding.rule) }, finding.rule),
      h("span", { class: "suite" }, finding.suite)));
}

async function explain(rule) {
  try {
    const page = await client.call("explain", rule);
    const [title, ...rest] = markdown(page, 2);
    title.id = "dialog-title";
    fill($("dialog"), title, rest, closing());
    $("dialog").showModal();
    $("dialog").scrollTop = 0;
  } catch (error) {
    fail(error);
  }
}

function listFiles() {
  const counts = new Map();
  for (const finding of visible()) {
    if (!finding.file || finding.severity === "info") continue;
    const count = counts.get(finding.file) ?? { error: 0, warning: 0 };
    count[finding.severity] += 1;
    counts.set(finding.file, count);
  }
  const names = [...current.files.keys()].sort();
  fill(filesHost, first(names, (name) => {
    const { error = 0, warning = 0 } = counts.get(name) ?? {};
    return h("li", {}, h("button", { type: "button", "aria-current": name === current.path ? "true" : undefined, onclick: () => openFile(name) },
      h("span", { class: "name" }, name, current.changed.has(name) && h("span", { class: "changed", title: "changed" }, " •", h("span", { class: "hidden" }, " changed"))),
      error > 0 && h("span", { class: "count error" }, String(error), h("span", { class: "hidden" }, " errors")),
      warning > 0 && h("span", { class: "count warning" }, String(warning), h("span", { class: "hidden" }, " warnings"))));
  }, MAX_FILES));
}

const validateView = h("div", { class: "validate" },
  findingsHost,
  h("div", { class: "source" },
    h("details", { class: "file-list", open: matchMedia("(min-width: 60rem)").matches }, h("summary", {}, "Files"), filesHost),
    h("div", { class: "pane" }, fileTitle, notText, editorHost)));

// ---- tabs

/** A view of the CSV, which is shortened where it is too large to show. */
const preview = (show) => async () => {
  const found = await client.call("preview", current.number);
  return [found.isClipped && h("p", { class: "notice" }, "Long lists and texts are shortened in this view."), show(found)];
};

const VIEWS = {
  validate: { title: "Validate", of: () => validateView },
  operatorhub: { title: "OperatorHub.io", for: "bundle", of: preview(operatorHubView) },
  console: { title: "OpenShift console", for: "bundle", of: preview(consoleView) },
  forms: { title: "Forms", for: "bundle", of: preview(formsView) },
  catalog: { title: "Packages", for: "catalog", of: () => catalogView(client, current.number) },
  upgrade: { title: "Upgrade", for: "bundle", of: () => upgradeView(client, subjects.filter((one) => !one.isCatalog), current, titleOf, pickUpgrade) },
};

const available = () => Object.entries(VIEWS).filter(([, one]) => !one.for || (one.for === "catalog") === current.isCatalog);

function tabs() {
  if (!available().some(([name]) => name === view)) view = "validate";
  const list = document.querySelector("[role=tablist]");
  fill(list, available().map(([name, one]) => h("button", {
    type: "button", role: "tab", id: `tab-${name}`, "aria-controls": "panel", "aria-selected": name === view ? "true" : "false",
    tabindex: name === view ? 0 : -1, onclick: () => show_(name),
    onkeydown: (event) => {
      const names = available().map(([name]) => name);
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!step) return;
      event.preventDefault();
      const next = names[(names.indexOf(name) + step + names.length) % names.length];
      show_(next);
      $(`tab-${next}`).focus();
    },
  }, one.title)));
  render();
}

function show_(name) {
  view = name;
  for (const tab of document.querySelectorAll("[role=tab]")) {
    const isThis = tab.id === `tab-${name}`;
    tab.setAttribute("aria-selected", String(isThis));
    tab.tabIndex = isThis ? 0 : -1;
  }
  render();
}

async function render() {
  const wanted = view;
  const panel = h("div", { id: "panel", role: "tabpanel", tabindex: -1, "aria-labelledby": `tab-${wanted}` });
  try {
    const content = await VIEWS[wanted].of();
    if (view !== wanted) return;
    fill(panel, content);
  } catch (error) {
    fill(panel, h("p", { role: "alert", class: "notice" }, error.message));
  }
  if (view === wanted) fill($("panels"), panel);
}

// ---- settings, and links to them

function readLink() {
  const parameters = new URLSearchParams(location.hash.slice(1));
  const names = (name) => (parameters.get(name) ?? "").split(",").filter(Boolean);
  return { profiles: names("profile"), suites: names("suite"), kubernetes: parameters.get("kubernetes") ?? "" };
}

function writeLink() {
  const parameters = new URLSearchParams();
  if (settings.profiles.length > 0) parameters.set("profile", settings.profiles.join(","));
  if (settings.suites.length > 0) parameters.set("suite", settings.suites.join(","));
  if (settings.kubernetes) parameters.set("kubernetes", settings.kubernetes);
  history.replaceState(null, "", `#${parameters}`);
}

async function showSettings() {
  const { suites, profiles, versions, reproduces } = await client.choices;
  const asked = readLink();
  // What this page does not know is dropped.
  settings.profiles = asked.profiles.filter((name) => profiles.some((one) => one.name === name)).slice(0, 1);
  settings.suites = asked.suites.filter((name) => suites.some((one) => one.name === name));
  settings.kubernetes = versions.includes(asked.kubernetes) ? asked.kubernetes : "";
  const changed = () => {
    writeLink();
    fill($("suite-count"), settings.suites.length > 0 ? `(${settings.suites.length})` : "");
    if (current) validate();
  };
  fill($("profile"), h("option", { value: "" }, "none"), profiles.map((one) => h("option", { value: one.name, title: one.suites.join(", ") }, `${one.name}: ${one.description}`)));
  $("profile").value = settings.profiles[0] ?? "";
  $("profile").onchange = () => {
    settings.profiles = $("profile").value ? [$("profile").value] : [];
    changed();
  };
  fill($("kubernetes"), h("option", { value: "" }, "as the bundle claims"), [...versions].reverse().map((version) => h("option", { value: version }, version)));
  $("kubernetes").value = settings.kubernetes;
  $("kubernetes").title = `The rules reproduce ${reproduces}`;
  $("kubernetes").onchange = () => {
    settings.kubernetes = $("kubernetes").value;
    changed();
  };
  fill($("suite-list"), suites.map((one) => h("label", {}, h("input", {
    type: "checkbox", value: one.name, checked: settings.suites.includes(one.name),
    onchange: (event) => {
      settings.suites = event.target.checked ? [...settings.suites, one.name] : settings.suites.filter((name) => name !== one.name);
      changed();
    },
  }), h("span", {}, h("strong", {}, one.name), ` ${one.description}`))));
  changed();
}

// ---- the controls

/** Opens what a user picks for a comparison, beside what is open. */
async function pickUpgrade(files) {
  const kept = current;
  try {
    await open(await picked(files), files[0]?.name ?? "");
  } catch (error) {
    fail(error);
  }
  if (current !== kept) {
    view = "upgrade";
    tabs();
  }
}

for (const [button, input] of [["open-directory", "directory"], ["open-file", "file"]]) {
  $(button).onclick = () => $(input).click();
  $(input).onchange = async () => {
    const files = [...$(input).files];
    try {
      if (files.length > 0) await open(await picked(files), files[0].webkitRelativePath.split("/")[0] || files[0].name);
    } catch (error) {
      fail(error);
    }
    $(input).value = "";
  };
}

function ask(title, field, label, go) {
  const run = (event) => {
    event.preventDefault();
    $("dialog").close();
    go(field.value);
  };
  fill($("dialog"), h("h2", { id: "dialog-title" }, title),
    h("form", { onsubmit: run }, h("label", { for: field.id }, label), field,
      h("p", { class: "buttons" }, h("button", { class: "primary" }, "Open"), h("button", { type: "button", onclick: () => $("dialog").close() }, "Cancel"))));
  $("dialog").showModal();
  field.focus();
}

$("open-paste").onclick = () =>
  ask("Paste a CSV, a manifest or a catalog", h("textarea", { id: "pasted", rows: 14, spellcheck: "false" }), "YAML or JSON", (text) =>
    open(new Map([["pasted.yaml", encoder.encode(text)]]), "pasted"));
$("open-github").onclick = () =>
  ask("Open a directory on GitHub", h("input", { id: "address", type: "url", placeholder: "https://github.com/OWNER/REPOSITORY/tree/BRANCH/DIRECTORY" }),
    "Address. This is the only action of the page that uses the network: it asks GitHub for the files.", async (address) => {
      try {
        status("Asking GitHub…");
        const { files, name } = await fetched(address.trim());
        await open(files, name);
      } catch (error) {
        fail(error);
      }
    });
$("example").onclick = () => open(new Map(Object.entries(EXAMPLE).map(([path, text]) => [path, encoder.encode(text)])), "example");
$("subject").onchange = () => select(subjects.find((one) => String(one.number) === $("subject").value)).catch(fail);
$("link").onclick = async () => {
  writeLink();
  try {
    await navigator.clipboard.writeText(location.href);
    status("Copied. The link contains the settings, never your files.");
  } catch {
    status(`The link is the address of this page: it contains the settings, never your files.`);
  }
};
$("download").onclick = () => {
  const name = current.name.split("/").at(-1) || "bundle";
  const address = URL.createObjectURL(zipped([...current.files].sort(([a], [b]) => (a < b ? -1 : 1))));
  h("a", { href: address, download: `${name}.zip` }).click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
};

addEventListener("dragover", (event) => {
  event.preventDefault();
  $("dropping").hidden = false;
});
addEventListener("dragleave", (event) => {
  if (!event.relatedTarget) $("dropping").hidden = true;
});
addEventListener("drop", async (event) => {
  event.preventDefault();
  $("dropping").hidden = true;
  try {
    const { files, name } = await dropped(event.dataTransfer);
    if (files.size > 0) await open(files, name);
  } catch (error) {
    fail(error);
  }
});
addEventListener("hashchange", () => showSettings().catch(fail));

showSettings().then(() => follow(open)).catch(fail);

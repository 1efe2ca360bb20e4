// The page: what is open, its settings, and the views of it.

import { Client } from "./client.js";
import { Editor } from "./editor.js";
import { Cancelled, busy } from "./busy.js";
import { keepFocus } from "./focus.js";
import { coded, counted, fill, first, h, plain } from "./dom.js";
import { markdown } from "./markdown.js";
import { consoleView, formsView, operatorHubView } from "./preview.js";
import { catalogView } from "./catalog.js";
import { upgradeView } from "./upgrade.js";
import { dropped, picked } from "./files.js";
import { fetched } from "./github.js";
import { zipped } from "./zip.js";
import { EXAMPLE } from "./example.js";
import { follow } from "./live.js";

const TITLE = document.title;
const $ = (id) => document.getElementById(id);
const encoder = new TextEncoder();

/** The findings that are listed before a button shows the others. */
const MAX_LISTED = 200;
/** The files that are listed. */
const MAX_FILES = 1000;
/** The bundles that are opened at once. */
const MAX_SUBJECTS = 200;
/** The maximum size of a file in the editor. */
const MAX_SHOWN = 2 << 20;

const settings = { suites: [], profiles: [], kubernetes: "" };
/** What is open: `{number, name, isCatalog, files, changed, isUnsaved, isLive}`; `isLive` if it is what `bundle-tool preview` serves. */
const subjects = [];
let current = null;
let report = null;
let numbers = 0;
let view = "validate";

const client = new Client((number) => {
  const found = subjects.find((subject) => subject.number === number);
  return found && opening(found);
});
/** Calls the worker; what takes long can be cancelled. */
const call = (title, ...args) => busy(title, () => client.cancel(), () => client.call(...args));

// ---- opening

const status = (message) => fill($("status"), message);

function fail(error) {
  if (error instanceof Cancelled) return status("Cancelled.");
  status("");
  fill($("dialog"), h("h2", { id: "dialog-title" }, "That did not work"), h("p", {}, coded(error.message)), closing());
  $("dialog").showModal();
}

const closing = () => h("p", {}, h("button", { type: "button", class: "primary", onclick: () => $("dialog").close() }, "Close"));

const opening = (subject) => [subject.name, [...subject.files], subject.project];

async function send(subject) {
  const { isCatalog } = await call("Reading…", "open", subject.number, ...opening(subject));
  subject.isCatalog = isCatalog;
}

/** Opens files, path to bytes. Those that `bundle-tool preview` serves replace what it served before. */
async function open(files, name, { isLive = false } = {}) {
  status("Reading…");
  try {
    const found = await call("Reading…", "read", [...files], name);
    const older = subjects.filter((subject) => isLive && subject.isLive);
    const before = older.includes(current) ? current : undefined;
    const next = [];
    // The new ones need the memory of these. If they cannot be opened, the worker opens the older ones again when it is asked about them.
    for (const one of older) client.close(one.number);
    for (const { name, files, project } of found.slice(0, MAX_SUBJECTS)) {
      numbers += 1;
      const subject = { number: numbers, name, files: new Map(files), project, changed: new Set(), isUnsaved: false, isLive };
      await send(subject);
      next.push(subject);
    }
    for (const one of older) forget(one);
    subjects.push(...next);
    // The error of what was dropped before.
    $("dialog").close();
    const again = next.find((subject) => subject.name === before?.name);
    if (older.length > 0 && !before) listSubjects();
    else await select(again ?? next[0], { path: before?.path });
    status(found.length > MAX_SUBJECTS ? `Only the first ${MAX_SUBJECTS} of ${found.length} bundles are open.` : "");
  } catch (error) {
    fail(error);
  }
}

/** Opens the state of the directory that `bundle-tool preview` serves, unless that would discard what the user has changed here. */
async function openLive(files, name) {
  const show = () => {
    $("notice").hidden = true;
    return open(files, name, { isLive: true });
  };
  if (!subjects.some((one) => one.isLive && one.isUnsaved)) return show();
  fill($("notice"), "The directory changed on disk, but this page has unsaved changes. ",
    h("button", { type: "button", onclick: show }, "Load from disk and discard my changes"), " ",
    h("button", { type: "button", onclick: () => ($("notice").hidden = true) }, "Keep my changes"));
  $("notice").hidden = false;
}

/** Removes what is open from the list. */
function forget(subject) {
  subjects.splice(subjects.indexOf(subject), 1);
  editor?.forget(`${subject.number}/`);
  if (opened?.subject === subject) opened = null;
  client.close(subject.number);
}

async function close(subject) {
  if (!subject || !subjects.includes(subject)) return;
  const at = subjects.indexOf(subject);
  forget(subject);
  status("");
  if (subject.isLive && !subjects.some((one) => one.isLive)) $("notice").hidden = true;
  if (current !== subject) return;
  current = subjects[at] ?? subjects.at(-1) ?? null;
  report = null;
  if (current) await select(current);
  else {
    $("workbench").hidden = true;
    $("welcome").hidden = false;
    document.title = TITLE;
  }
}

/** The name of a bundle or a catalog, with a number if others have the same. */
function titleOf(subject) {
  // What the user has dropped comes first: lists show only the beginning, and versions of an operator often have the same.
  const title = (one) => (one.title && one.title !== one.name ? `${one.name} (${one.title})` : one.name);
  const twins = subjects.filter((other) => title(other) === title(subject));
  return twins.length > 1 ? `${title(subject)} (${twins.indexOf(subject) + 1})` : title(subject);
}

function listSubjects() {
  fill($("subject"), subjects.map((one) => h("option", { value: one.number, selected: one === current }, titleOf(one))));
  $("subject-label").hidden = subjects.length < 2;
}

/** Shows a bundle or a catalog, with the file at `path` if it has it. */
async function select(subject, { path } = {}) {
  current = subject;
  $("welcome").hidden = true;
  $("workbench").hidden = false;
  listSubjects();
  report = null;
  tabs();
  // The findings of another bundle are not those of this one.
  listFindings();
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

/** How long the findings of the state before are shown while a validation runs, in milliseconds. */
const MAX_QUIET = 200;
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
  const timer = setTimeout(listFindings, MAX_QUIET);
  do {
    isOutdated = false;
    const [subject, version] = [current, edits];
    if (!subject) break;
    let next;
    try {
      const { report: found, time } = await call("Validating…", "validate", subject.number, settings);
      const [one] = subject.isCatalog ? found.catalogs : found.bundles;
      subject.title = one.name || subject.name;
      next = { ...one, time, findings: one.findings.map((finding, index) => ({ ...finding, index })) };
    } catch (error) {
      next = { findings: [], passed: false, error: error instanceof Cancelled ? "The validation was cancelled." : error.message };
    }
    if (subject !== current) {
      isOutdated = true;
      continue;
    }
    report = { ...next, version };
    if (!isOutdated) isValidating = false;
    show();
  } while (isOutdated);
  isValidating = false;
  clearTimeout(timer);
}

const RANK = { error: 0, warning: 1, info: 2 };
const visible = () => (report?.findings ?? []).filter((finding) => !finding.ignored).sort((a, b) => RANK[a.severity] - RANK[b.severity] || a.index - b.index);

const CHANGED = "These findings are out of date: choose the fix again when the validation has finished.";

async function apply(method, ...args) {
  const [subject, before] = [current, edits];
  // Fixes are numbered by the report.
  if (isValidating || report?.version !== before) return status(CHANGED);
  try {
    const changed = await call("Fixing…", method, subject.number, ...args);
    if (edits !== before) return status(CHANGED);
    edits += 1;
    subject.isUnsaved = true;
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
  subject.isUnsaved = true;
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
  reveal();
}

/** Scrolls the list of files to the one that is open; not with scrollIntoView, which would move the page, too. */
function reveal() {
  const chosen = filesHost.querySelector("[aria-current]");
  if (!chosen) return;
  const [above, below] = [chosen.offsetTop - filesHost.offsetTop, chosen.offsetTop - filesHost.offsetTop + chosen.offsetHeight - filesHost.clientHeight];
  filesHost.scrollTop = Math.max(below, Math.min(above, filesHost.scrollTop));
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
  if (!report) return "not validated yet";
  if (report.error) return "not validated";
  const count = (severity) => visible().filter((finding) => finding.severity === severity).length;
  const [errors, warnings] = [count("error"), count("warning")];
  if (errors + warnings === 0) return "no errors, no warnings";
  return [errors && counted(errors, "error"), warnings && counted(warnings, "warning")].filter(Boolean).join(", ");
}

function listFindings() {
  const isOld = isValidating || !report;
  findingsHost.classList.toggle("old", isOld);
  findingsHost.setAttribute("aria-busy", String(isOld));
  const all = visible();
  const shown = isShowingAll ? all : all.slice(0, MAX_LISTED);
  const fixable = all.filter((finding) => finding.fix?.safety === "safe").length;
  const ignored = (report?.findings.length ?? 0) - all.length;
  fill(
    findingsHost,
    h("div", { class: "summary" },
      isOld ? h("p", { class: "validating" }, all.length > 0 ? "Validating… The findings below are from before your last change." : "Validating…")
        : h("h3", { class: report.passed ? "passed" : "failed", tabindex: -1 }, summary()),
      !isOld && report.error && [h("p", { role: "alert" }, coded(report.error)), h("p", {}, h("button", { type: "button", id: "again", onclick: () => validate() }, "Validate again"))],
      report?.name && h("p", { class: "muted" }, report.name, ignored > 0 && `, ${counted(ignored, "ignored finding")}`),
      fixable > 0 && h("button", { type: "button", class: "primary", id: "fix-all", "data-key": "fix-all", onclick: () => apply("fixAll") }, `Apply ${counted(fixable, "safe fix").replace("fixs", "fixes")}`)),
    h("ol", { class: "list" }, shown.map(item)),
    all.length > shown.length && h("button", { type: "button", onclick: () => ((isShowingAll = true), listFindings()) }, `Show ${all.length - shown.length} more`),
  );
}

function item(finding) {
  // Without the line, which fixes of others change.
  const key = [finding.rule, finding.file, finding.path, finding.message].join(" ");
  const place = finding.file && `${finding.file}${finding.line ? `:${finding.line}:${finding.column}` : ""}`;
  const isOpen = finding.file && current.files.has(finding.file);
  return h("li", { class: `finding ${finding.severity}` },
    h("p", { class: "message" }, h("span", { class: "severity" }, finding.severity), " ", coded(finding.message)),
    place && (isOpen
      ? h("button", { type: "button", class: "place", "data-key": `place ${key}`, onclick: () => openFile(finding.file, finding) }, place)
      : h("span", { class: "place" }, place)),
    finding.path && h("p", { class: "path" }, finding.path),
    finding.help && h("p", { class: "help" }, h("strong", {}, "help: "), coded(finding.help)),
    (finding.related ?? []).map((related) => h("button", { type: "button", class: "place", onclick: () => openFile(related.file, related) }, coded(related.message), `: ${related.file}:${related.line}:${related.column}`)),
    h("p", { class: "buttons" },
      finding.fix && h("button", { type: "button", class: "fix", "data-key": `fix ${key}`, onclick: () => apply("fix", finding.index) }, "Fix: ", coded(finding.fix.title), finding.fix.safety === "unsafe" && " (review it)"),
      h("button", { type: "button", class: "quiet", "data-key": `rule ${key}`, "aria-label": `Explain ${finding.rule}`, onclick: () => explain(finding.rule) }, finding.rule),
      h("span", { class: "suite" }, finding.suite)));
}

async function explain(rule) {
  try {
    const page = await call("Loading…", "explain", rule);
    const [title, ...rest] = markdown(page, 2);
    title.id = "dialog-title";
    // Otherwise, browsers go to the first example, because it scrolls.
    title.tabIndex = -1;
    title.autofocus = true;
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
  const files = first(names, (name) => {
    const { error = 0, warning = 0 } = counts.get(name) ?? {};
    return h("li", {}, h("button", { type: "button", "data-key": name, "aria-current": name === current.path ? "true" : undefined, onclick: () => openFile(name) },
      h("span", { class: "name" }, name, current.changed.has(name) && h("span", { class: "changed", title: "changed" }, " •", h("span", { class: "hidden" }, " changed"))),
      error > 0 && h("span", { class: "count error" }, String(error), h("span", { class: "hidden" }, " errors")),
      warning > 0 && h("span", { class: "count warning" }, String(warning), h("span", { class: "hidden" }, " warnings"))));
  }, MAX_FILES);
  const { scrollTop } = filesHost;
  fill(filesHost, files);
  filesHost.scrollTop = scrollTop;
}

const validateView = h("div", { class: "validate" },
  findingsHost,
  h("div", { class: "source" },
    h("details", { class: "file-list", open: matchMedia("(min-width: 60rem)").matches }, h("summary", {}, "Files"), filesHost),
    h("div", { class: "pane" }, fileTitle, notText, editorHost)));

// ---- tabs

/** A view of the CSV, which is shortened where it is too large to show. */
const preview = (show) => async () => {
  const found = await call("Loading…", "preview", current.number);
  return [found.isClipped && h("p", { class: "notice" }, "Long lists and texts are shortened in this view."), show(found)];
};

const VIEWS = {
  validate: { title: "Validate", of: () => validateView },
  operatorhub: { title: "OperatorHub.io", for: "bundle", of: preview(operatorHubView) },
  console: { title: "OpenShift console", for: "bundle", of: preview(consoleView) },
  forms: { title: "Forms", for: "bundle", of: preview(formsView) },
  catalog: { title: "Packages", for: "catalog", of: () => catalogView({ call: (...args) => call("Loading…", ...args) }, current.number) },
  upgrade: { title: "Upgrade", for: "bundle", of: () => upgradeView({ call: (...args) => call("Comparing…", ...args) }, subjects.filter((one) => !one.isCatalog), current, titleOf, pickUpgrade) },
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
      const at = names.indexOf(name);
      const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: -1 }[event.key];
      if (to === undefined || event.altKey || event.ctrlKey || event.metaKey) return;
      event.preventDefault();
      const next = names.at(to % names.length);
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
    // On phones, tabs are wider than the window.
    if (isThis) tab.parentElement.scrollLeft = tab.offsetLeft - tab.parentElement.offsetLeft - (tab.parentElement.clientWidth - tab.offsetWidth) / 2;
  }
  render();
}

/** How often a view was asked for: only the newest is shown. */
let renders = 0;

async function render() {
  const [wanted, number] = [view, (renders += 1)];
  const panel = h("div", { id: "panel", role: "tabpanel", tabindex: -1, "aria-labelledby": `tab-${wanted}` });
  try {
    const content = await VIEWS[wanted].of();
    fill(panel, content);
  } catch (error) {
    const again = h("button", { type: "button", onclick: () => render() }, "Reload");
    const message = error instanceof Cancelled ? "Loading was cancelled." : error.message;
    fill(panel, h("div", { class: "preview" }, h("p", { role: "alert", class: "notice" }, coded(message)), h("p", {}, again)));
  }
  if (renders !== number) return;
  fill($("panels"), panel);
  // Without a place on the page, a list is not scrolled.
  if (wanted === "validate") reveal();
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
  fill($("profile"), h("option", { value: "" }, "none"), profiles.map((one) => h("option", { value: one.name, title: one.suites.join(", ") }, `${one.name}: ${plain(one.description)}`)));
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
  }), h("span", {}, h("strong", {}, one.name), " ", coded(one.description)))));
  changed();
}

// ---- the controls

/** Reads files of the disk with `read`, which is given a signal; while that takes long, it can be cancelled. */
function reading(read) {
  const asking = new AbortController();
  return busy("Reading…", () => asking.abort(new Cancelled()), () => read(asking.signal));
}

/** Opens what a user picks for a comparison, beside what is open. */
async function pickUpgrade(files) {
  const kept = current;
  try {
    await open(await reading((signal) => picked(files, signal)), files[0]?.name ?? "");
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
      await open(await reading((signal) => picked(files, signal)), files[0]?.webkitRelativePath.split("/")[0] || files[0]?.name || "");
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
  ask("Paste a ClusterServiceVersion or a catalog", h("textarea", { id: "pasted", rows: 14, spellcheck: "false", required: true }), "YAML or JSON", (text) =>
    open(new Map([["pasted.yaml", encoder.encode(text)]]), "pasted"));
$("open-github").onclick = () =>
  ask("Open a directory on GitHub", h("input", { id: "address", inputmode: "url", autocomplete: "off", required: true, placeholder: "https://github.com/OWNER/REPOSITORY/tree/BRANCH/DIRECTORY" }),
    "Address. This is the only action of the page that uses the network: it asks GitHub for the files.", async (address) => {
      try {
        const asking = new AbortController();
        const { files, name } = await busy("Downloading from GitHub…", () => asking.abort(new Cancelled()), () => fetched(address, asking.signal));
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
/** Returns the name and the contents of what is downloaded: the file if there is only one, and otherwise a zip archive. */
function download({ name, files }) {
  const last = (path) => path.split("/").at(-1);
  if (files.size === 1) {
    const [[path, bytes]] = files;
    return [last(path), new Blob([bytes])];
  }
  return [`${last(name) || "bundle"}.zip`, zipped([...files].sort(([a], [b]) => (a < b ? -1 : 1)))];
}

$("download").onclick = () => {
  const [name, contents] = download(current);
  const address = URL.createObjectURL(contents);
  h("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
  current.isUnsaved = false;
};

$("close").onclick = () => {
  const subject = current;
  if (!subject.isUnsaved) return close(subject).catch(fail);
  const discard = () => {
    $("dialog").close();
    close(subject).catch(fail);
  };
  fill($("dialog"), h("h2", { id: "dialog-title" }, `Close ${titleOf(subject)}?`),
    h("p", {}, `These files have changes that you have not downloaded: ${[...subject.changed].slice(0, 20).join(", ")}`),
    h("p", { class: "buttons" }, h("button", { type: "button", class: "primary", onclick: () => $("dialog").close() }, "Keep it open"), h("button", { type: "button", id: "discard", onclick: discard }, "Discard the changes")));
  $("dialog").showModal();
};

addEventListener("beforeunload", (event) => {
  if (subjects.some((one) => one.isUnsaved)) event.preventDefault();
});

// The list of suites covers what is below it.
$("suites").addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || !$("suites").open) return;
  $("suites").open = false;
  $("suites").querySelector("summary").focus();
});
addEventListener("pointerdown", (event) => {
  if (!$("suites").contains(event.target)) $("suites").open = false;
});

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
    const { files, name } = await reading((signal) => dropped(event.dataTransfer, signal));
    await open(files, name);
  } catch (error) {
    fail(error);
  }
});
addEventListener("hashchange", () => showSettings().catch(fail));

keepFocus();
showSettings().then(() => follow(openLive)).catch(fail);

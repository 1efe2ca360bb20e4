// The page with which OpenShift's console shows a custom resource: what the descriptors of the CSV say about its status and its spec, with
// the values of the example in alm-examples.
//
// Source: packages/operator-lifecycle-manager/src/components/{descriptors,operand} in openshift/console.

import { RESOURCE, SELECTOR, capabilities, kindOf, parsedPath, schemaAt, shortName, titled, unknownNotice, valueAt } from "./descriptors.js";
import { facts, h, link, list, map, missing, notices as noticesOf, text } from "./dom.js";

/** The descriptors that are shown, and the items of a value. */
const MAX_SHOWN = 300;
const MAX_ITEMS = 50;

const none = (words = "None") => h("span", { class: "muted" }, words);
const isObject = (value) => value !== null && typeof value === "object";
const typeOf = (value) => (value === undefined || value === null ? "any" : Array.isArray(value) ? "array" : isObject(value) ? "object" : "primitive");
const table = (title, columns, rows) => h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": title },
  h("table", {}, h("thead", {}, h("tr", {}, columns.map((name) => h("th", { scope: "col" }, name)))), h("tbody", {}, rows.slice(0, MAX_ITEMS).map((cells) => h("tr", {}, cells.map((cell) => h("td", {}, cell)))))));
const labels = (value) => Object.entries(map(value)).slice(0, MAX_ITEMS).map(([name, one]) => `${name}=${text(one)}`).join(", ");
const conditions = (title, value) => (list(value).length > 0
  ? table(title, ["Type", "Status", "Updated", "Reason", "Message"], list(value).map(map).map((one) => ["type", "status", "lastTransitionTime", "reason", "message"].map((name) => text(one[name]) || "-")))
  : none("No conditions found"));

/** What the console shows for a value, by the capability that it uses. */
const SHOWN = {
  podCount: (value) => (value === undefined ? "-" : `${text(value)} pods`),
  endpointList: (value) => (value === undefined ? none("No endpoints") : table("Endpoints", ["Port", "Interval", ""], list(value).map(map).map((one) => [text(one.port) || "-", text(one.interval) || "-", ["scheme", "targetPort", "honorLabels"].filter((name) => one[name] !== undefined).map((name) => `${titled(name)}: ${text(one[name])}`).join(", ") || "-"]))),
  label: (value) => (isObject(value) ? labels(value) : text(value)) || "-",
  namespaceSelector: (value) => text(list(map(value).matchNames)[0]) || none(),
  resourceRequirements: (value) => facts(["limits", "requests"].map((kind) => {
    const part = map(map(value)[kind]);
    const named = [["CPU", "cpu"], ["Memory", "memory"], ["Storage", "ephemeral-storage"]].filter(([, unit]) => part[unit] !== undefined).map(([title, unit]) => `${title}: ${text(part[unit])}`);
    return [`Resource ${kind}`, named.join(", ") || "None"];
  })),
  booleanSwitch: (value) => h("label", {}, h("input", { type: "checkbox", role: "switch", disabled: true, checked: value === true }), " True"),
  checkbox: (value, title) => h("label", {}, h("input", { type: "checkbox", disabled: true, checked: value === true }), ` ${title}`),
  password: (value) => (value === undefined ? none() : "•••••"),
  updateStrategy: (value) => text(map(value).type) || none(),
  podStatuses: (value, title, path) => {
    const groups = Object.entries(map(value));
    if (!isObject(value) || Array.isArray(value) || groups.some(([, one]) => !Array.isArray(one))) return ["The field ", h("code", {}, path), " is invalid."];
    return groups.every(([, one]) => one.length === 0) ? none("No members") : h("ul", {}, groups.slice(0, MAX_ITEMS).map(([name, one]) => h("li", {}, `${one.length} ${name}`)));
  },
  "org.w3:link": (value) => (value === undefined ? none() : link(text(value), text(value).replace(/https?:\/\//, ""))),
  "io.kubernetes.phase": (value) => text(value) || "-",
  "io.kubernetes.phase:reason": (value) => (text(value) ? h("pre", { tabindex: 0, "aria-label": "Reason" }, text(value)) : none()),
};

/** Returns what is shown for a value; undefined if the console shows nothing. */
function shown(capability, value, title, path) {
  if (capability === "com.tectonic.ui:hidden") return undefined;
  // `io.kubernetes:Secret` is not the phase of `io.kubernetes.phase`.
  if (capability?.startsWith(RESOURCE)) return typeof value === "string" && value ? [h("span", { class: "kind" }, kindOf(capability)), " ", value] : none();
  if (capability?.startsWith(SELECTOR)) return labels(map(value).matchLabels ?? value) || none("No selector");
  const show = Object.hasOwn(SHOWN, shortName(capability ?? "")) ? SHOWN[shortName(capability)] : undefined;
  if (show) return show(value, title, path);
  if (isObject(value)) return undefined;
  return text(value) || none();
}

/** Returns the details of an example of a CRD. */
export function details({ owned, schema, example }) {
  const kind = text(owned.kind);
  const object = map(example);
  const metadata = map(object.metadata);
  const notices = [];
  /** Returns the entries of descriptors of `spec` or `status`, those below another field as a list of their own. */
  const entries = (section, descriptors) => {
    const groups = new Map();
    if (descriptors.length > MAX_SHOWN) notices.push(`${section}Descriptors: only the first ${MAX_SHOWN} of ${descriptors.length} are shown.`);
    for (const descriptor of descriptors.slice(0, MAX_SHOWN)) {
      const path = text(descriptor.path);
      const [first] = parsedPath(path);
      // The console ignores lists within lists.
      if (first === undefined || /\[\d+\].*\[\d+\]/.test(path)) continue;
      if (!groups.has(first)) groups.set(first, []);
      groups.get(first).push(descriptor);
    }
    return [...groups].flatMap(([first, all]) => {
      const nested = all.filter((one) => parsedPath(text(one.path)).length > 1);
      const own = all.find((one) => !nested.includes(one));
      const items = nested.flatMap((one) => expanded(section, one)).map((one) => item(section, one)).filter(Boolean);
      if (nested.length === 0) return [item(section, own)].filter(Boolean);
      const at = map(schemaAt(schema, [section, first]));
      return items.length > 0 ? [[text(own?.displayName) || text(at.title) || titled(first), facts(items), text(own?.description) || text(at.description)]] : [];
    });
  };
  /** Returns a descriptor of an item of a list for each item that the example has. */
  const expanded = (section, descriptor) => {
    const path = text(descriptor.path);
    const [, before] = /^(.*?)\[\d+\]/.exec(path) ?? [];
    if (before === undefined) return [descriptor];
    return list(valueAt(object, [section, ...parsedPath(before)])).slice(0, MAX_ITEMS).map((_, index) => ({ ...descriptor, path: path.replace(/\[\d+\]/, `[${index}]`) }));
  };
  const item = (section, descriptor) => {
    const name = text(descriptor.path);
    const path = [section, ...parsedPath(name)];
    const at = map(schemaAt(schema, path));
    const value = valueAt(object, path);
    const { used: [capability], unknown } = capabilities(descriptor, typeOf(value));
    if (section === "status" && unknown.length > 0) notices.push(unknownNotice("statusDescriptors", name, unknown));
    const title = text(descriptor.displayName) || text(at.title) || titled(path.at(-1));
    const content = shown(capability, value, title, name);
    if (content === undefined && isObject(value) && capability !== "com.tectonic.ui:hidden") notices.push(`${section}Descriptors: \`${name}\` is not shown: the console shows a value of type ${typeOf(value)} only with an x-descriptor for this type.`);
    return content === undefined ? undefined : [title, content, text(descriptor.description) || text(at.description)];
  };
  const all = list(owned.statusDescriptors).map(map);
  const uses = (name) => (one) => list(one["x-descriptors"]).includes(`urn:alm:descriptor:${name}`);
  const isMain = (one) => one.path === "status" || one.displayName === "Status";
  const isConditions = (one) => !isMain(one) && (uses("io.kubernetes.conditions")(one) || one.path === "conditions");
  const isPods = (one) => !isMain(one) && !isConditions(one) && uses("com.tectonic.ui:podStatuses")(one);
  const isMissing = (one) => schema && schemaAt(schema, ["status", ...parsedPath(text(one.path))]) === undefined;
  for (const one of all.filter(isMissing)) notices.push(`statusDescriptors: \`${text(one.path)}\` is not in the schema of the CRD, so the API server drops the field, and the console shows no value.`);
  const [spec, status] = [
    entries("spec", list(owned.specDescriptors).map(map)),
    [...entries("status", all.filter(isPods)), ...entries("status", all.filter(isMain)), ...entries("status", all.filter((one) => !isMain(one) && !isConditions(one) && !isPods(one)))],
  ];
  return h("section", { class: "page details" },
    h("h3", {}, `${text(owned.displayName) || kind} overview`),
    h("p", { class: "muted" }, example ? "The example in alm-examples as the console would show it. The operator sets the status." : "alm-examples has no example of this kind, so no values are shown."),
    h("div", { class: "halves" },
      facts([["Name", text(metadata.name) || "example"], ["Namespace", text(metadata.namespace) || "the namespace in which it is created"], ["Labels", labels(metadata.labels) || "No labels"], ["Annotations", `${Object.keys(map(metadata.annotations)).length} annotations`]]),
      status.length > 0 ? facts(status) : missing("statusDescriptors", "no status fields")),
    spec.length > 0 ? h("div", { class: "halves" }, facts(spec.filter((_, index) => index % 2 === 0)), facts(spec.filter((_, index) => index % 2 === 1)))
      : missing("specDescriptors", "no spec fields"),
    all.filter(isConditions).map((one) => {
      const value = valueAt(object, ["status", ...parsedPath(text(one.path))]);
      const title = text(one.displayName) || titled(text(one.path));
      return [h("h4", {}, title), text(one.description) && h("p", { class: "muted" }, text(one.description)), conditions(title, value)];
    }),
    list(map(object.status).conditions).length > 0 && !all.some((one) => one.path === "conditions") && [h("h4", {}, "Conditions"), conditions("Conditions", object.status.conditions)],
    noticesOf("Ignored or not shown by the console", notices));
}

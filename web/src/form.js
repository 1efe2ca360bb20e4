// The form that OpenShift's console makes of a CRD: fields from its schema, titles, widgets and groups from the descriptors of the CSV,
// values from the example in alm-examples.

import { h, list, map, text } from "./dom.js";

const PREFIX = "urn:alm:descriptor:com.tectonic.ui:";
/** The descriptors for forms that the console has. Source: `descriptors/types.ts` of openshift/console. */
const WIDGETS = new Set([
  "podCount", "endpointList", "label", "resourceRequirements", "namespaceSelector", "booleanSwitch", "password", "updateStrategy", "text",
  "number", "nodeAffinity", "podAffinity", "podAntiAffinity", "imagePullPolicy", "checkbox", "arrayFieldGroup", "fieldGroup", "select",
  "advanced", "fieldDependency", "hidden",
]);
const MAX_DEPTH = 6;
const MAX_FIELDS = 400;

let ids = 0;

/** Returns the form of one CRD of a CSV. */
export function form(owned, crds, examples) {
  const crd = map(crds[text(owned.name)]);
  const version = list(map(crd.spec).versions).map(map).find((one) => one.name === owned.version);
  const schema = map(map(map(map(version).schema).openAPIV3Schema).properties).spec;
  const kind = text(owned.kind);
  const example = list(examples).find((one) => one.kind === kind && text(one.apiVersion).endsWith(`/${text(owned.version)}`)) ?? list(examples).find((one) => one.kind === kind);
  const descriptors = new Map(list(owned.specDescriptors).map(map).map((one) => [text(one.path), one]));
  const notices = [];
  if (!crds[text(owned.name)]) notices.push(`The bundle does not contain the CRD ${text(owned.name)}.`);
  else if (!version) notices.push(`The CRD does not have the version ${text(owned.version)}.`);
  else if (!schema) notices.push("The schema of the CRD has no spec, so the console shows only the YAML view.");
  if (examples === null) notices.push("metadata.annotations.alm-examples is not valid JSON, so the form starts empty.");
  else if (!example) notices.push(`metadata.annotations.alm-examples has no ${kind}, so the form starts empty and the YAML view has no sample.`);
  const context = { descriptors, used: new Set(), notices, count: 0 };
  const fields = schema ? group(map(schema), map(example?.spec), "", context, 0) : { main: [], advanced: [] };
  for (const [path, one] of descriptors) {
    const unknown = list(one["x-descriptors"]).map(text).filter((name) => name.startsWith(PREFIX)).map((name) => name.slice(PREFIX.length)).filter((name) => !WIDGETS.has(name.split(":")[0]));
    if (unknown.length > 0) notices.push(`specDescriptors: ${path}: the console does not know ${unknown.join(", ")}.`);
    if (schema && !context.used.has(path) && !/[[\].]\d|\*/.test(path)) notices.push(`specDescriptors: ${path} is not in the schema, so it is not shown.`);
  }
  if (context.count > MAX_FIELDS) notices.push(`Only the first ${MAX_FIELDS} fields are shown.`);
  return h("section", { class: "page" },
    h("h3", {}, `Create ${kind}`),
    h("p", {}, text(owned.description) || h("span", { class: "missing" }, "no description", h("span", { class: "field" }, "description is not set"))),
    notices.map((notice) => h("p", { class: "notice" }, notice)),
    h("div", { class: "form" },
      h("div", { class: "field" }, h("label", { for: "form-name" }, "Name ", h("span", { class: "required", "aria-hidden": "true" }, "*")), h("input", { id: "form-name", value: text(map(example?.metadata).name) || "example", "aria-required": "true" })),
      h("div", { class: "field" }, h("label", { for: "form-labels" }, "Labels"), h("input", { id: "form-labels", placeholder: "app=frontend" })),
      fields.main,
      fields.advanced.length > 0 && h("details", { class: "group" }, h("summary", {}, "Advanced configuration"), fields.advanced)));
}

/** Returns the fields of an object, in the order of the console: those with descriptors first, then required ones, then the others. */
function group(schema, value, prefix, context, depth) {
  const required = new Set(list(schema.required).map(text));
  const names = Object.keys(map(schema.properties));
  const order = [...context.descriptors.keys()];
  const weight = (name) => {
    const path = prefix + name;
    const at = order.findIndex((one) => one === path || one.startsWith(`${path}.`) || one.startsWith(`${path}[`));
    return at >= 0 ? at : order.length + (required.has(name) ? 0 : 1);
  };
  const sorted = names.map((name, index) => [name, index]).sort(([a, i], [b, j]) => weight(a) - weight(b) || i - j);
  const [main, advanced] = [[], []];
  for (const [name] of sorted) {
    context.count += 1;
    if (context.count > MAX_FIELDS) break;
    const path = prefix + name;
    const descriptor = map(context.descriptors.get(path));
    if (context.descriptors.has(path)) context.used.add(path);
    const widgets = list(descriptor["x-descriptors"]).map(text).filter((one) => one.startsWith(PREFIX)).map((one) => one.slice(PREFIX.length));
    if (widgets.includes("hidden")) continue;
    const element = field(name, map(map(schema.properties)[name]), value[name], { path, descriptor, widgets, isRequired: required.has(name) }, context, depth);
    (widgets.includes("advanced") ? advanced : main).push(element);
  }
  return { main, advanced };
}

const titled = (name) => name.replace(/([a-z0-9])([A-Z])/g, "$1 $2").replace(/^./, (first) => first.toUpperCase());

function field(name, schema, value, { path, descriptor, widgets, isRequired }, context, depth) {
  ids += 1;
  const id = `field-${ids}`;
  const title = text(descriptor.displayName) || titled(name);
  const help = text(descriptor.description) || text(schema.description);
  const has = (widget) => widgets.find((one) => one === widget || one.startsWith(`${widget}:`));
  const shown = value ?? schema.default;
  const describe = help ? { "aria-describedby": `${id}-help` } : {};
  const star = isRequired && h("span", { class: "required", "aria-hidden": "true" }, " *");
  const extra = isRequired ? { "aria-required": "true" } : {};
  const note = help && h("p", { id: `${id}-help`, class: "muted help-text" }, help.length > 500 ? `${help.slice(0, 500)}…` : help);
  const labelled = (control) => h("div", { class: "field" }, h("label", { for: id }, title, star), control, note);
  const options = widgets.filter((one) => one.startsWith("select:")).map((one) => one.slice("select:".length));
  const values = options.length > 0 ? options : list(schema.enum).map(text);
  const select = (all) => labelled(h("select", { id, ...describe, ...extra }, shown === undefined && h("option", { value: "" }, "Select…"), all.map((one) => h("option", { selected: one === text(shown) }, one))));
  if (has("resourceRequirements")) {
    const part = (kind, unit) => h("label", {}, `${kind} ${unit}`, h("input", { value: text(map(map(shown)[kind])[unit]) }));
    return h("fieldset", { class: "field" }, h("legend", {}, title), note, ["limits", "requests"].map((kind) => h("div", { class: "row" }, part(kind, "cpu"), part(kind, "memory"))));
  }
  if (has("updateStrategy")) return select(["RollingUpdate", "Recreate"]);
  if (has("imagePullPolicy")) return select(["Always", "IfNotPresent", "Never"]);
  if (values.length > 0) return select(values);
  if (schema.type === "boolean" || has("booleanSwitch") || has("checkbox")) {
    const role = has("checkbox") ? {} : { role: "switch" };
    return h("div", { class: "field" }, h("div", { class: "choice" }, h("input", { type: "checkbox", id, checked: shown === true, ...role, ...describe }), h("label", { for: id }, title, star)), note);
  }
  if (schema.type === "integer" || schema.type === "number" || has("podCount") || has("number")) {
    return labelled(h("input", { id, type: "number", value: text(shown), min: schema.minimum, max: schema.maximum, ...describe, ...extra }));
  }
  if (schema.type === "array") {
    const items = map(schema.items);
    const all = list(shown);
    const inner = all.slice(0, 20).map((one, index) => (items.properties && depth < MAX_DEPTH
      ? h("fieldset", {}, h("legend", {}, `${title} ${index + 1}`), flat(group(items, map(one), `${path}[${index}].`, context, depth + 1)))
      : h("input", { value: typeof one === "object" ? JSON.stringify(one) : text(one), "aria-label": `${title} ${index + 1}` })));
    return h("details", { class: "group", open: Boolean(has("arrayFieldGroup")) }, h("summary", {}, title, star), note, inner, h("button", { type: "button", disabled: true }, `Add ${title}`));
  }
  if (schema.properties && depth < MAX_DEPTH) {
    return h("details", { class: "group", open: Boolean(has("fieldGroup")) || isRequired }, h("summary", {}, title, star), note, flat(group(schema, map(shown), `${path}.`, context, depth + 1)));
  }
  if (schema.type === "object" || schema["x-kubernetes-preserve-unknown-fields"]) {
    return labelled(h("textarea", { id, rows: 3, ...describe }, shown === undefined ? "" : JSON.stringify(shown, null, 2)));
  }
  return labelled(h("input", { id, type: has("password") ? "password" : "text", autocomplete: "off", value: text(shown), ...describe, ...extra }));
}

const flat = ({ main, advanced }) => [...main, advanced.length > 0 && h("details", { class: "group" }, h("summary", {}, "Advanced configuration"), advanced)];

// The form with which OpenShift's console creates a custom resource: fields from the schema of the CRD, titles, widgets and their order
// from the descriptors of the CSV, values from the example in alm-examples and the defaults of the schema.
//
// Source: packages/operator-lifecycle-manager/src/components/operand and packages/console-shared/src/components/dynamic-form in
// openshift/console.

import { DEPENDENCY, RESOURCE, SELECT, capabilities, kindOf, parsedPath, quoted, schemaAt, shortName, unknownNotice, valueAt } from "./descriptors.js";
import { coded, fill, h, helpText, list, map, missing, notices as noticesOf, text } from "./dom.js";
import { yaml } from "./yaml.js";

/** The fields that a group shows. */
const MAX_FIELDS = 400;
/** The items that a list shows. */
const MAX_ITEMS = 50;
/** The levels of a schema that are read. */
const MAX_DEPTH = 40;
/** The values that defaults add: a list of defaults whose items have lists of defaults multiplies them. */
const MAX_DEFAULTS = 100_000;

const UNSUPPORTED = ["allOf", "anyOf", "oneOf"];
/** The properties of an object that have no fields of their own. */
const HIDDEN = ["apiVersion", "kind", "metadata", "status"];
/** The controls of whole objects, by capability, and those of single values. */
const OBJECT_FIELDS = ["nodeAffinity", "podAffinity", "podAntiAffinity", "resourceRequirements", "updateStrategy"];
const WIDGETS = ["hidden", "imagePullPolicy", "booleanSwitch", "checkbox", "number", "password", "podCount", "text"];
/** The types of inputs, by the format of a string. */
const INPUTS = new Map(Object.entries({ "date-time": "datetime-local", date: "date", email: "email", uri: "url", password: "password", int32: "number", int64: "number" }));

let ids = 0;

/** Returns the type that the console sees in a schema. */
function typeOf(schema) {
  const { type, enum: values, properties, additionalProperties } = map(schema);
  if (!type && values) return "string";
  if (!type && (properties || additionalProperties)) return "object";
  return Array.isArray(type) ? (type.find((one) => one !== "null") ?? "") : text(type);
}

/** Returns what the descriptors say about fields, as a tree: `{title, description, control, options, order, isAdvanced, dependency, children}`. */
function described(descriptors, schema, notices) {
  const root = { children: new Map() };
  for (const [index, descriptor] of descriptors.entries()) {
    const path = parsedPath(text(descriptor.path));
    const at = schemaAt(schema, path);
    if (path.length === 0 || at === undefined) {
      notices.push(`specDescriptors: \`${text(descriptor.path)}\` is not in the schema of the CRD, so the form does not show it.`);
      continue;
    }
    const type = typeOf(at);
    const { used, without, deprecated, unknown } = capabilities(descriptor, type);
    if (unknown.length > 0) notices.push(unknownNotice("specDescriptors", text(descriptor.path), unknown));
    if (without.length > 0) notices.push(`specDescriptors: \`${text(descriptor.path)}\`: ${quoted(without)} has no effect on ${type ? `a value of type ${type}` : "a value without a type"}.`);
    if (deprecated.length > 0) notices.push(`specDescriptors: \`${text(descriptor.path)}\`: ${quoted(deprecated)} is deprecated and has no effect on the form.`);
    let node = root;
    for (const name of path.map((part) => (/^\d+$/.test(part) ? "items" : part))) {
      if (!node.children.has(name)) node.children.set(name, { children: new Map() });
      node = node.children.get(name);
    }
    const [, control, value] = /^([^:]*):(.*)$/.exec(used.find((name) => name.startsWith(DEPENDENCY))?.slice(DEPENDENCY.length) ?? "") ?? [];
    Object.assign(node, {
      title: text(descriptor.displayName) || node.title, description: text(descriptor.description) || node.description,
      isAdvanced: used.includes("com.tectonic.ui:advanced"), dependency: control && value ? { path: parsedPath(control), value } : undefined,
      order: index + 1, ...controlOf(used),
    });
  }
  return root;
}

/** Returns the control that capabilities choose. */
function controlOf(used) {
  const resource = used.find((name) => name.startsWith(RESOURCE));
  if (resource) return { control: "resource", kind: kindOf(resource) };
  const options = used.filter((name) => name.startsWith(SELECT)).map((name) => name.slice(SELECT.length)).filter(Boolean);
  if (options.length > 0) return { control: "select", options };
  const names = used.map(shortName);
  return { control: names.includes("hidden") ? "hidden" : names.find((name) => OBJECT_FIELDS.includes(name)) ?? names.find((name) => WIDGETS.includes(name)) };
}

/** Returns why the console reads nothing of a schema, and an empty string if it does. */
function unsupported(schema) {
  if (Object.keys(map(schema)).length === 0) return "its schema is empty";
  const name = UNSUPPORTED.find((name) => Object.hasOwn(schema, name));
  return name ? `its schema uses \`${name}\`` : "";
}

/** Returns why the console makes no field of a schema, and an empty string if it makes one. */
function reasonWithout(schema, node, depth = 0) {
  const reason = unsupported(schema);
  if (reason) return reason;
  if (depth > MAX_DEPTH) return "it is nested too deeply";
  const type = typeOf(schema);
  if (["boolean", "integer", "number", "string"].includes(type) || node?.control) return "";
  if (type === "array") {
    const reason = reasonWithout(schema.items, node?.children.get("items"), depth + 1);
    return reason && `its items cannot be shown (${reason.replace(/^its schema/, "their schema")})`;
  }
  if (type !== "object") return "its schema has no type";
  const properties = Object.entries(map(schema.properties));
  if (properties.length === 0) return "its schema declares no properties";
  return properties.every(([name, one]) => reasonWithout(one, node?.children.get(name), depth + 1)) ? "none of its properties can be shown" : "";
}

/** Returns the names of the properties of an object in the order of the console: required ones with a descriptor first, then the other
 * required ones, then those with a descriptor, those that others depend on just before these, and the rest in the order of the schema. */
function ordered(schema, node, path) {
  const names = Object.keys(map(schema.properties));
  const required = new Set(list(schema.required).map(text));
  const orders = new Map();
  const order = (one) => {
    if (!one) return names.length;
    if (!orders.has(one)) orders.set(one, one.order ?? Math.min(names.length, ...[...one.children.values()].map(order)));
    return orders.get(one);
  };
  const key = JSON.stringify;
  const controls = new Set([...(node?.children.values() ?? [])].flatMap(({ dependency }) => (dependency ? key(dependency.path) : [])));
  const weights = new Map();
  const weight = (name) => {
    if (weights.has(name)) return weights.get(name);
    // The weight of what depends on itself, while it is computed.
    weights.set(name, 0);
    const own = node?.children.get(name);
    const isControl = controls.has(key([...path, name]));
    const { dependency } = own ?? {};
    const base = dependency && key(dependency.path.slice(0, -1)) === key(path)
      ? weight(dependency.path.at(-1))
      : (!required.has(name) && !own && !isControl ? Infinity : 0) - (required.has(name) ? 1e9 : 0) - (own ? 1e6 : 0);
    weights.set(name, base + order(own) + (isControl ? order(own) * 1e3 : 0));
    return weights.get(name);
  };
  names.forEach(weight);
  // Infinity minus itself is no number.
  return names.sort((a, b) => (weights.get(a) === weights.get(b) ? 0 : weights.get(a) - weights.get(b)));
}

/** The number of values in a value of JSON. */
const size = (value) => (value !== null && typeof value === "object" ? Object.values(value).reduce((sum, one) => sum + size(one), 1) : 1);

/** Returns a value with the defaults of its schema, as many as are left of `budget`. */
function withDefaults(schema, value, budget = { left: MAX_DEFAULTS }, depth = 0) {
  const { default: own, properties, items } = map(schema);
  if (budget.left >= 0) budget.left -= 1 + (own === undefined ? 0 : size(own));
  if (budget.left < 0 || depth > MAX_DEPTH) return value;
  const added = structuredClone(own);
  const given = value === undefined ? added : value;
  const type = typeOf(schema);
  if (type === "object" && (given === undefined || given === map(given))) {
    const merged = { ...map(added), ...given };
    for (const [name, one] of Object.entries(map(properties))) {
      const next = withDefaults(one, valueAt(merged, [name]), budget, depth + 1);
      if (next !== undefined) define(merged, name, next);
    }
    return Object.keys(merged).length > 0 ? merged : given;
  }
  if (type === "array" && Array.isArray(given)) return given.map((item) => withDefaults(items, item, budget, depth + 1));
  return given;
}

/** Returns a value without what is empty and was not set in the example. */
function pruned(value, sample) {
  if (value === null || typeof value !== "object") return value;
  const isEmpty = (one) => one === undefined || one === null || one === "" || (typeof one === "object" && Object.keys(one).length === 0);
  const kept = Object.entries(value).flatMap(([name, one]) => {
    const before = valueAt(sample, [name]) ?? undefined;
    const next = pruned(one, before);
    return !isEmpty(next) || (before !== undefined && isEmpty(before)) ? [[name, next]] : [];
  });
  return Array.isArray(value) ? kept.map(([, one]) => one) : Object.fromEntries(kept);
}

/** Returns the form of one CRD of a CSV; `example` is the one of its kind and version. */
export function form({ owned, crd, schema, example, provider, icon }) {
  const kind = text(owned.kind);
  const notices = [];
  const root = map(schema);
  const spec = map(map(root.properties).spec);
  const tree = { children: new Map([["spec", described(list(owned.specDescriptors).map(map), spec, notices)]]) };
  const budget = { left: MAX_DEFAULTS };
  const data = withDefaults({ ...root, properties: { ...map(root.properties), metadata: { type: "object", properties: { name: { type: "string", default: "example" } } } } },
    structuredClone(example ?? { apiVersion: `${text(map(crd.spec).group)}/${text(owned.version)}`, kind }), budget) ?? {};
  if (budget.left < 0) notices.push("The defaults of the CRD are not all shown, because there are too many.");
  delete data.status;
  const reason = unsupported(root) || reasonWithout(spec, tree.children.get("spec"));
  const state = new State(data);
  const others = { ...root, properties: Object.fromEntries(Object.entries(map(root.properties)).filter(([name]) => !HIDDEN.includes(name) && name !== "spec")) };
  const fields = h("div", { class: "form" }, reason
    ? h("p", { class: "missing" }, "A form is not available for this resource. Use the YAML view.", h("span", { class: "field" }, "spec: ", coded(reason)))
    : [
      h("p", { class: "info" }, "Some fields might not be displayed in this form view. Select “YAML view” to edit all fields."),
      atomic({ id: "form-name", title: "Name", isRequired: true }, (properties) => state.input(["metadata", "name"], { ...properties, type: "text" })),
      atomic({ id: "form-labels", title: "Labels" }, (properties) => h("input", {
        ...properties, placeholder: "app=frontend", autocomplete: "off", value: Object.entries(map(data.metadata?.labels)).map(([name, value]) => `${name}=${text(value)}`).join(", "),
        oninput: ({ target }) => state.set(["metadata", "labels"], Object.fromEntries(target.value.split(",").map((one) => one.trim().split("=", 2)).filter(([name]) => name).map(([name, value = ""]) => [name, value]))),
      })),
      group(spec, tree.children.get("spec"), ["spec"], state),
      group(others, undefined, [], state),
      h("p", { class: "buttons" }, h("button", { type: "button", disabled: true }, "Create"), h("button", { type: "button", disabled: true }, "Cancel")),
    ]);
  for (const [name, one] of Object.entries(map(spec.properties))) {
    const without = reasonWithout(one, tree.children.get("spec").children.get(name));
    if (without && !reason) notices.push(`\`spec.${name}\` is shown only in the YAML view: ${without}.`);
  }
  const written = h("pre", { tabindex: 0, hidden: true, class: "yaml", "aria-label": `YAML of ${kind}` });
  const choose = (id, title, isChosen, show) => h("label", {}, h("input", { type: "radio", name: "editor", id, checked: isChosen, onchange: show }), ` ${title}`);
  const toggle = (isForm) => {
    fields.hidden = !isForm;
    written.hidden = isForm;
    if (!isForm) fill(written, yaml(pruned(data, example)));
  };
  return h("section", { class: "page create" },
    h("h3", {}, `Create ${kind}`),
    h("p", { class: "muted" }, "Create by completing the form. Default values may be provided by the Operator authors."),
    h("div", { class: "columns" },
      h("div", {},
        h("div", { class: "bar", role: "group", "aria-label": "Configure via" }, "Configure via: ", choose("form-view", "Form view", true, () => toggle(true)), choose("yaml-view", "YAML view", false, () => toggle(false))),
        fields, written),
      h("aside", {}, h("p", {}, icon), h("h4", {}, text(owned.displayName) || kind), provider && h("p", { class: "muted" }, `provided by ${provider}`),
        h("p", {}, text(owned.description) || missing("description", "no description")))),
    noticesOf("Ignored or not shown by the console", notices));
}

/** Sets a property of an object itself, also one that is named `__proto__`. */
const define = (object, name, value) => Object.defineProperty(object, name, { value, enumerable: true, configurable: true, writable: true });

/** What is filled in, and the fields that depend on it. */
class State {
  #data;
  #dependents = [];

  constructor(data) {
    this.#data = data;
  }

  get(path) {
    return valueAt(this.#data, path);
  }

  set(path, value) {
    let at = this.#data;
    for (const [index, name] of path.slice(0, -1).entries()) {
      if (!Object.hasOwn(at, name) || at[name] === null || typeof at[name] !== "object") define(at, name, /^\d+$/.test(path[index + 1]) ? [] : {});
      at = at[name];
    }
    define(at, path.at(-1), value);
    // Items that were removed take their fields with them.
    this.#dependents = this.#dependents.filter(({ element }) => element.isConnected);
    for (const { update } of this.#dependents) update();
  }

  /** Shows an element only while the value at a path is the one that it depends on. */
  depend(element, { path, value }) {
    const update = () => (element.hidden = text(this.get(["spec", ...path])) !== value);
    this.#dependents.push({ element, update });
    update();
  }

  /** Returns an input for the value at a path. */
  input(path, properties) {
    const value = ({ target }) => (target.type !== "number" ? target.value : target.value === "" ? "" : Number(target.value));
    return h("input", { ...properties, autocomplete: "off", value: text(this.get(path)), oninput: (event) => this.set(path, value(event)) });
  }
}

/** Returns the fields of an object. */
function group(schema, node, path, state) {
  const required = new Set(list(schema.required).map(text));
  const shown = ordered(schema, node, path.slice(1)).filter((name) => !reasonWithout(map(schema.properties)[name], node?.children.get(name)));
  const fields = (names) => names.map((name) => field(name, map(schema.properties)[name], node?.children.get(name), [...path, name], required.has(name), state));
  const [main, advanced] = [false, true].map((isAdvanced) => shown.slice(0, MAX_FIELDS).filter((name) => Boolean(node?.children.get(name)?.isAdvanced) === isAdvanced));
  return [
    fields(main),
    advanced.length > 0 && folded("Advanced configuration", false, () => fields(advanced)),
    shown.length > MAX_FIELDS && h("p", { class: "notice" }, `Only the first ${MAX_FIELDS} of ${shown.length} fields are shown.`),
  ];
}

/** Returns a group that is closed at first, as all are in the console; its contents are made when it is opened. */
function folded(title, isRequired, contents, help) {
  const inner = h("div", { class: "inner" });
  const open = () => element.open && inner.childNodes.length === 0 && fill(inner, contents());
  const element = h("details", { class: "group", ontoggle: open }, h("summary", {}, title, isRequired && star()), helpText(help), inner);
  return element;
}

const star = () => h("span", { class: "required", "aria-hidden": "true" }, " *");

/** Returns a field with one control. */
function atomic({ id = `field-${(ids += 1)}`, title, help, isRequired }, control) {
  const properties = { id, "aria-required": isRequired ? "true" : undefined, "aria-describedby": help ? `${id}-help` : undefined };
  return h("div", { class: "field" }, h("label", { for: id }, title, isRequired && star()), control(properties), helpText(help, `${id}-help`));
}

function field(name, schema, node, path, isRequired, state) {
  const element = shownField(name, schema, node ?? { children: new Map() }, path, isRequired, state);
  if (node?.dependency) state.depend(element, node.dependency);
  return element;
}

function shownField(name, schema, node, path, isRequired, state) {
  const { control } = node;
  const title = node.title || text(schema.title) || name;
  const help = node.description || text(schema.description);
  const type = typeOf(schema);
  if (control === "hidden") return h("span", { hidden: true });
  if (control === "resourceRequirements") return folded(title, isRequired, () => resources(path, state), help);
  if (control === "updateStrategy") return strategy({ title, help: help || "How should the pods be replaced when a new revision is created?", isRequired }, path, state);
  if (OBJECT_FIELDS.includes(control)) return folded(title, isRequired, () => affinity(state.get(path)), help);
  if (type === "array" && !control) return folded(title, isRequired, () => items(title, name, schema, node, path, state), help);
  if (type === "object" && !control) return folded(title, isRequired, () => group(schema, node, path, state), help);
  const value = state.get(path);
  const about = { title, help, isRequired };
  const select = (options, first) => atomic(about, (properties) => h("select", { ...properties, onchange: ({ target }) => state.set(path, target.value) },
    !options.includes(text(value)) && h("option", { value: "" }, first), options.map((one) => h("option", { selected: one === text(value) }, one))));
  const choice = (role, label) => atomic(about, (properties) => h("div", { class: "choice" },
    h("input", { ...properties, type: "checkbox", role, checked: value === true, onchange: ({ target }) => state.set(path, target.checked) }), h("span", { class: "muted", "aria-hidden": "true" }, label)));
  if (control === "resource") return select(value === undefined ? [] : [text(value)], `Select ${node.kind}`);
  if (control === "select") return select(node.options, `Select ${title}`);
  if (control === "imagePullPolicy") return radios(about, ["Always", "Never", "IfNotPresent"], text(value), (next) => state.set(path, next));
  if (control === "booleanSwitch") return choice("switch", "true");
  if (control === "checkbox") return choice(undefined, text(schema.title) || name);
  if (control === "podCount") return atomic(about, (properties) => spinner(title, properties, path, state));
  if (control === "password") return atomic(about, (properties) => state.input(path, { ...properties, type: "password" }));
  if (control === "number" || ["number", "integer"].includes(type)) return atomic(about, (properties) => state.input(path, { ...properties, type: "number", step: "any" }));
  if (control === "text") return atomic(about, (properties) => state.input(path, { ...properties, type: "text" }));
  if (list(schema.enum).length > 0) return select(schema.enum.map(text), `Select ${title}`);
  if (type === "boolean") return choice(undefined, text(schema.title) || name);
  return atomic(about, (properties) => state.input(path, { ...properties, type: INPUTS.get(text(schema.format)) ?? "text" }));
}

function radios({ title, help, isRequired }, options, chosen, choose) {
  ids += 1;
  const name = `field-${ids}`;
  return h("fieldset", { class: "field", role: "radiogroup", "aria-required": isRequired ? "true" : undefined, "aria-describedby": help ? `${name}-help` : undefined }, h("legend", {}, title, isRequired && star()),
    options.map((one) => h("div", { class: "choice" }, h("input", { type: "radio", name, id: `${name}-${one}`, checked: one === chosen, onchange: () => choose(one) }), h("label", { for: `${name}-${one}` }, one))),
    helpText(help, `${name}-help`));
}

function spinner(title, properties, path, state) {
  const input = state.input(path, { ...properties, type: "number", min: 0 });
  const step = (sign, label, by) => h("button", { type: "button", "aria-label": `${label} ${title}`, onclick: () => {
    input.value = Math.trunc(Number(input.value) || 0) + by;
    state.set(path, Number(input.value));
  } }, sign);
  return h("div", { class: "spinner" }, step("−", "Decrement", -1), input, step("+", "Increment", 1));
}

function resources(path, state) {
  return ["limits", "requests"].map((kind) => h("fieldset", { class: "field" }, h("legend", {}, kind === "limits" ? "Limits" : "Requests"),
    h("div", { class: "row" }, [["CPU cores", "cpu", "500m"], ["Memory", "memory", "50Mi"], ["Storage", "ephemeral-storage", "50Mi"]].map(([title, unit, placeholder]) =>
      h("label", {}, title, state.input([...path, kind, unit], { placeholder, type: "text" }))))));
}

function strategy(about, path, state) {
  const rolling = h("div", { class: "row" }, [["Max unavailable", "maxUnavailable"], ["Max surge", "maxSurge"]].map(([title, name]) =>
    h("label", {}, title, state.input([...path, "rollingUpdate", name], { placeholder: "25%", type: "text" }))));
  const type = text(map(state.get(path)).type) || "RollingUpdate";
  rolling.hidden = type !== "RollingUpdate";
  const element = radios(about, ["RollingUpdate", "Recreate"], type, (next) => {
    rolling.hidden = next !== "RollingUpdate";
    state.set([...path, "type"], next);
  });
  element.insertBefore(rolling, element.children[2]);
  return element;
}

/** Returns the rules of an affinity. */
function affinity(value) {
  const rules = [["required", "Required during scheduling, ignored during execution", "Add required"], ["preferred", "Preferred during scheduling, ignored during execution", "Add preferred"]];
  return rules.map(([kind, title, add]) => {
    const found = map(value)[`${kind}DuringSchedulingIgnoredDuringExecution`];
    const terms = Array.isArray(found) ? found : list(map(found).nodeSelectorTerms);
    return h("fieldset", { class: "field" }, h("legend", {}, title), terms.length > 0 && h("pre", { tabindex: 0, "aria-label": title }, yaml(terms.slice(0, MAX_ITEMS))), h("button", { type: "button", disabled: true }, add));
  });
}

/** Returns the items of a list, with buttons that add and remove them. */
function items(title, name, schema, node, path, state) {
  const host = h("div", { class: "items" });
  const inner = map(schema.items);
  const change = (next) => {
    state.set(path, next);
    show();
  };
  const show = () => {
    const all = list(state.get(path));
    fill(host,
      all.slice(0, MAX_ITEMS).map((_, index) => h("div", { class: "item" },
        h("button", { type: "button", class: "remove", "aria-label": `Remove ${title} ${index + 1}`, onclick: () => change(all.filter((_, other) => other !== index)) }, `Remove ${title}`),
        field(`${name}-${index}`, inner, node.children.get("items"), [...path, String(index)], false, state))),
      all.length > MAX_ITEMS && h("p", { class: "notice" }, `Only the first ${MAX_ITEMS} of ${all.length} items are shown.`),
      h("button", { type: "button", class: "add", "data-key": "add", onclick: () => change([...all, withDefaults(inner, undefined) ?? (typeOf(inner) === "array" ? [] : typeOf(inner) === "object" ? {} : "")]) }, `Add ${title}`));
  };
  show();
  return host;
}

// The descriptors of a CSV as OpenShift's console reads them: which of its capabilities there are, and on which values they have an effect.
// Source: packages/operator-lifecycle-manager/src/components/descriptors in openshift/console.

import { list, map, text } from "./dom.js";

const PREFIX = "urn:alm:descriptor:";
const ui = (...names) => names.map((name) => `com.tectonic.ui:${name}`);
/** A name of an object of Kubernetes; its kind follows. */
export const RESOURCE = "io.kubernetes:";
/** The label selector of objects; their kind follows. */
export const SELECTOR = "com.tectonic.ui:selector:";
export const SELECT = "com.tectonic.ui:select:";
export const DEPENDENCY = "com.tectonic.ui:fieldDependency:";

const DEPRECATED = ui("arrayFieldGroup:", "fieldGroup:", "namespaceSelector", "label");
const COMMON = ui("advanced", "fieldDependency:", "hidden", "arrayFieldGroup:", "fieldGroup:");
/** What has an effect on a value of a type; everything has one on a value that is not set. */
const EFFECTIVE = {
  object: [...COMMON, ...ui("podStatuses", "updateStrategy", "nodeAffinity", "podAffinity", "podAntiAffinity", "resourceRequirements", "selector:", "label", "namespaceSelector")],
  array: [...COMMON, ...ui("endpointList"), "io.kubernetes.conditions"],
  primitive: [...COMMON, ...ui("imagePullPolicy", "podCount", "select:", "booleanSwitch", "checkbox", "password", "text", "number", "label"), "io.kubernetes.phase", RESOURCE, "org.w3:link", "text"],
};
/** What exists, the one that is used first if there are several. */
const ORDER = [
  ...ui("hidden", "endpointList"), "io.kubernetes.conditions", ...ui("resourceRequirements", "updateStrategy", "podStatuses", "selector:"),
  RESOURCE, ...ui("podCount", "password"), "io.kubernetes.phase:reason", ...ui("booleanSwitch", "checkbox"), "org.w3:link",
  ...ui("select:", "imagePullPolicy"), "io.kubernetes.phase", ...ui("text"), "text", ...ui("number", "podAntiAffinity", "podAffinity", "nodeAffinity", "advanced", "fieldDependency:"),
  ...DEPRECATED, "prometheusEndpoint",
];

const rank = (name) => ORDER.findIndex((known) => name.startsWith(known));

/** Returns the capabilities of a descriptor without their prefix: those that have an effect on a value of `type` in the order of their use,
 * those that have none, those that are deprecated, and those that the console does not know. */
export function capabilities(descriptor, type) {
  const all = list(map(descriptor)["x-descriptors"]).map(text).map((name) => (name.startsWith(PREFIX) ? name.slice(PREFIX.length) : name));
  const isKnown = (name) => rank(name) >= 0;
  const hasEffect = (name) => isKnown(name) && (type === "any" || (Object.hasOwn(EFFECTIVE, type) ? EFFECTIVE[type] : EFFECTIVE.primitive).some((known) => name.startsWith(known)));
  return {
    used: all.filter(hasEffect).sort((a, b) => rank(a) - rank(b)),
    without: all.filter((name) => isKnown(name) && !hasEffect(name)),
    deprecated: all.filter((name) => DEPRECATED.some((known) => name.startsWith(known))),
    unknown: all.filter((name) => !isKnown(name)),
  };
}

/** Returns the names and indexes of a path such as `a.b[0].c`. */
export const parsedPath = (path) => [...path.matchAll(/\["([^"]*)"\]|\['([^']*)'\]|([^.[\]]+)/g)].map(([, double, single, plain]) => double ?? single ?? plain);

/** Returns the schema at a path, in which any index stands for the items of a list. */
export function schemaAt(schema, path) {
  return path.reduce((at, name) => {
    const { properties, items } = map(at);
    return /^\d+$/.test(name) && items !== undefined ? items : Object.hasOwn(map(properties), name) ? properties[name] : undefined;
  }, schema);
}

/** Returns the value at a path. */
export const valueAt = (value, path) => path.reduce((at, name) => (at !== null && typeof at === "object" && Object.hasOwn(at, name) ? at[name] : undefined), value);

/** Returns the words of a name: `minReadySeconds` is `Min Ready Seconds`. */
export const titled = (name) => name.replace(/([a-z0-9])([A-Z])/g, "$1 $2").replace(/([A-Za-z])(\d)/g, "$1 $2").replace(/[-_\s]+/g, " ").trim().replace(/(^| )[a-z]/g, (first) => first.toUpperCase());

/** Returns the kind of a resource: `Secret` of `io.kubernetes:core:v1:Secret?label=value`. */
export const kindOf = (capability) => capability.slice(RESOURCE.length).split("?")[0].split(/[:~]/).at(-1);

/** Returns the notice about capabilities that the console does not know. */
export const unknownNotice = (section, path, unknown) => `${section}: \`${path}\`: the console does not support ${quoted(unknown)}.`;

/** Returns the names of capabilities in a message. */
export const quoted = (capabilities) => capabilities.map((one) => `\`${shortName(one)}\``).join(", ");

/** The words of a capability in a message: its last part. */
export const shortName = (capability) => capability.replace(/^com\.tectonic\.ui:/, "");

// How catalogs show an operator: OperatorHub.io, OpenShift's console, and its forms. Rendered from the CSV; what is missing is shown as
// users will see it, and named.

import { coded, facts, fill, h, link, list, map, missing, text } from "./dom.js";
import { iconAddress } from "./icon.js";
import { markdown } from "./markdown.js";
import { details } from "./details.js";
import { form } from "./form.js";

const LEVELS = ["Basic Install", "Seamless Upgrades", "Full Lifecycle", "Deep Insights", "Auto Pilot"];
const FEATURES = {
  "features.operators.openshift.io/disconnected": "Disconnected",
  "features.operators.openshift.io/fips-compliant": "Designed for FIPS",
  "features.operators.openshift.io/proxy-aware": "Proxy-aware",
  "features.operators.openshift.io/tls-profiles": "Configurable TLS ciphers",
  "features.operators.openshift.io/token-auth-aws": "Auth token AWS",
  "features.operators.openshift.io/token-auth-azure": "Auth token Azure",
  "features.operators.openshift.io/token-auth-gcp": "Auth token GCP",
  "features.operators.openshift.io/cnf": "Cloud-native network functions",
  "features.operators.openshift.io/cni": "Container network interface",
  "features.operators.openshift.io/csi": "Container storage interface",
};
const MODES = {
  OwnNamespace: "its own namespace",
  SingleNamespace: "one other namespace",
  MultiNamespace: "several namespaces",
  AllNamespaces: "all namespaces",
};

const or = (value, field, effect) => (value ? value : missing(field, effect));

/** What the pages show of a CSV. */
function described({ csv, annotations, crds }) {
  const root = map(csv);
  const spec = map(root.spec);
  const notes = map(map(root.metadata).annotations);
  const first = map(list(spec.icon)[0]);
  const name = text(map(root.metadata).name);
  const channels = text(annotations["operators.operatorframework.io.bundle.channels.v1"]).split(",").map((one) => one.trim()).filter(Boolean);
  const modes = list(spec.installModes).map(map);
  const owned = list(map(spec.customresourcedefinitions).owned).map(map);
  return {
    spec, notes, name, channels, modes, owned, crds,
    defaultChannel: text(annotations["operators.operatorframework.io.bundle.channel.default.v1"]) || channels[0] || "",
    title: text(spec.displayName),
    version: text(spec.version),
    provider: text(map(spec.provider).name),
    hasIcon: text(first.base64data) !== "",
    icon: iconAddress(text(first.mediatype), text(first.base64data)),
    short: text(notes.description),
    long: text(spec.description),
    level: LEVELS.indexOf(text(notes.capabilities)),
    capabilities: text(notes.capabilities),
    categories: text(notes.categories).split(",").map((one) => one.trim()).filter(Boolean),
  };
}

function icon(one, size) {
  const broken = () => h("span", { class: "icon none", "data-size": size, role: "img", "aria-label": "spec.icon cannot be shown as an image" }, "!");
  if (!one.icon && one.hasIcon) return broken();
  if (!one.icon) return h("span", { class: "icon none", "data-size": size, role: "img", "aria-label": "default icon: spec.icon is not set" }, "?");
  const image = h("img", { class: "icon", "data-size": size, src: one.icon, alt: "" });
  image.onerror = () => image.replaceWith(broken());
  return image;
}

const tile = (one, provided) =>
  h("article", { class: "tile", "aria-label": "Tile" },
    icon(one, "small"),
    h("h4", {}, or(one.title, "spec.displayName", one.name || "no name")),
    h("p", { class: "muted" }, "provided by ", or(one.provider, "spec.provider.name", provided)),
    h("p", {}, or(one.short, "metadata.annotations.description", "no short description")));

const links = (one) => list(one.spec.links).map(map).map((item) => h("li", {}, link(text(item.url), text(item.name) || text(item.url))));
const people = (one) => list(one.spec.maintainers).map(map).map((item) => h("li", {}, text(item.name), " ", text(item.email) && link(`mailto:${text(item.email)}`, text(item.email))));

const levels = (one) =>
  one.level < 0
    ? one.capabilities ? missing("metadata.annotations.capabilities", one.capabilities, "is not a known level") : missing("metadata.annotations.capabilities", LEVELS[0])
    : h("ol", { class: "levels" }, LEVELS.map((name, index) => h("li", { class: index <= one.level ? "reached" : "" }, name, index <= one.level && h("span", { class: "hidden" }, " (reached)"))));

const without = () => h("p", { class: "notice", role: "alert" }, "There is no ClusterServiceVersion in manifests/, so catalogs have nothing to show.");

/** OperatorHub.io: the tile, and the page. */
export function operatorHubView(data) {
  if (!data.csv) return without();
  const one = described(data);
  const { notes, spec } = one;
  return h("div", { class: "preview hub" },
    h("section", {}, h("h3", {}, "Tile"), h("div", { class: "tiles" }, tile(one, "no provider"))),
    h("section", { class: "page" },
      h("header", {}, icon(one, "large"), h("div", {}, h("h3", {}, or(one.title, "spec.displayName", one.name || "no name")), h("p", {}, or(one.short, "metadata.annotations.description", "no short description")))),
      h("div", { class: "columns" },
        h("div", { class: "description" },
          one.long ? markdown(one.long, 4) : missing("spec.description", "an empty page"),
          h("h4", {}, "Custom Resource Definitions"),
          one.owned.length === 0 ? missing("spec.customresourcedefinitions.owned", "no custom resources")
            : h("ul", { class: "cards" }, one.owned.map((crd) => h("li", {}, h("h5", {}, or(text(crd.displayName), "displayName", text(crd.kind) || text(crd.name))), h("p", {}, or(text(crd.description), "description", "no description")))))),
        h("aside", {},
          facts([
            ["Channel", or(one.defaultChannel, "the default channel in metadata/annotations.yaml", "unknown")],
            ["Version", or(one.version, "spec.version", "unknown")],
            ["Capability level", levels(one)],
            ["Categories", or(one.categories.join(", "), "metadata.annotations.categories", "Other")],
            ["Provider", or(one.provider, "spec.provider.name", "no provider")],
            ["Links", list(spec.links).length > 0 ? h("ul", {}, links(one)) : missing("spec.links", "no links")],
            ["Repository", notes.repository ? link(text(notes.repository)) : missing("metadata.annotations.repository", "no repository")],
            ["Container image", or(text(notes.containerImage), "metadata.annotations.containerImage", "no image")],
            ["Created at", or(text(notes.createdAt), "metadata.annotations.createdAt", "no date")],
            ["Maintainers", list(spec.maintainers).length > 0 ? h("ul", {}, people(one)) : missing("spec.maintainers", "no maintainers")],
          ])))));
}

/** OpenShift's software catalog: the tile, the details and the installation form. */
export function consoleView(data) {
  if (!data.csv) return without();
  const one = described(data);
  const { notes, spec } = one;
  const features = Object.entries(FEATURES).filter(([name]) => text(notes[name]) === "true").map(([, title]) => title);
  const old = text(notes["operators.openshift.io/infrastructure-features"]);
  return h("div", { class: "preview console" },
    h("section", {}, h("h3", {}, "Tile"), h("div", { class: "tiles" }, tile(one, "an unknown provider"))),
    h("section", { class: "page" },
      h("header", {}, icon(one, "large"), h("div", {}, h("h3", {}, or(one.title, "spec.displayName", one.name || "no name")), h("p", {}, [one.version, one.provider && `provided by ${one.provider}`].filter(Boolean).join(" ")))),
      h("div", { class: "columns" },
        h("div", { class: "description" }, one.long ? markdown(one.long, 4) : missing("spec.description", "an empty page")),
        h("aside", {},
          facts([
            ["Channel", or(one.defaultChannel, "the default channel in metadata/annotations.yaml", "unknown")],
            ["Version", or(one.version, "spec.version", "unknown")],
            ["Capability level", levels(one)],
            ["Provider type", "that of the catalog"],
            ["Infrastructure features", features.length > 0 ? h("ul", {}, features.map((name) => h("li", {}, name))) : old || missing("metadata.annotations[features.operators.openshift.io/…]", "none, so filters hide the operator")],
            ["Valid subscriptions", or(listed(notes["operators.openshift.io/valid-subscription"]), "metadata.annotations[operators.openshift.io/valid-subscription]", "none")],
            ["Repository", notes.repository ? link(text(notes.repository)) : missing("metadata.annotations.repository", "N/A")],
            ["Container image", or(text(notes.containerImage), "metadata.annotations.containerImage", "N/A")],
            ["Created at", or(text(notes.createdAt), "metadata.annotations.createdAt", "N/A")],
            ["Support", or(text(notes.support), "metadata.annotations.support", "N/A")],
          ])))),
    installation(one));
}

function listed(value) {
  try {
    return list(JSON.parse(text(value))).map(text).join(", ");
  } catch {
    return text(value);
  }
}

function installation(one) {
  const supported = (type) => one.modes.some((mode) => mode.type === type && mode.supported === true);
  const namespace = text(one.notes["operatorframework.io/suggested-namespace"]);
  const isGlobal = supported("AllNamespaces");
  const isSingle = supported("SingleNamespace") || supported("OwnNamespace");
  const name = one.name.split(".")[0] || "the operator";
  const radio = (id, title, help, isPossible, isChosen) =>
    h("div", { class: "choice" }, h("input", { type: "radio", name: "mode", id, disabled: !isPossible, checked: isChosen, "aria-describedby": `${id}-help` }), h("label", { for: id }, title), h("p", { id: `${id}-help`, class: "muted" }, help, !isPossible && h("strong", {}, " Not supported by this operator.")));
  const plugins = listed(one.notes["console.openshift.io/plugins"]);
  const chosen = one.channels.includes(one.defaultChannel) ? one.defaultChannel : one.channels[0];
  return h("section", {}, h("h3", {}, "Install Operator"),
    h("div", { class: "form" },
      h("div", { class: "field" }, h("label", { for: "update-channel" }, "Update channel"),
        one.channels.length > 0 ? h("select", { id: "update-channel" }, one.channels.map((channel) => h("option", { selected: channel === chosen }, channel))) : missing("operators.operatorframework.io.bundle.channels.v1", "no channel, so nothing can be installed"),
        one.channels.length > 0 && !one.channels.includes(one.defaultChannel) && h("p", { class: "notice" }, `The default channel ${one.defaultChannel} is not one of the channels of this bundle.`)),
      h("div", { class: "field" }, h("label", { for: "version" }, "Version"), h("select", { id: "version" }, h("option", {}, one.version || "unknown"))),
      h("fieldset", { class: "field" }, h("legend", {}, "Installation mode"),
        one.modes.length === 0 && missing("spec.installModes", "no mode can be selected"),
        radio("mode-all", "All namespaces on the cluster (default)", "The operator is available in all namespaces.", isGlobal, isGlobal),
        radio("mode-one", "A specific namespace on the cluster", "The operator is available in one namespace only.", isSingle, !isGlobal && isSingle),
        h("p", { class: "muted" }, "Supported for OLM: ", Object.entries(MODES).filter(([type]) => supported(type)).map(([, title]) => title).join(", ") || "nothing", ".")),
      h("div", { class: "field" }, h("label", { for: "namespace" }, "Installed namespace"),
        h("input", { id: "namespace", readonly: true, value: namespace || (isGlobal ? "openshift-operators" : "select a namespace") }),
        !namespace && h("p", { class: "muted" }, "metadata.annotations[operatorframework.io/suggested-namespace] is not set: the console proposes this one.")),
      text(one.notes["operatorframework.io/cluster-monitoring"]) === "true" && h("div", { class: "choice" }, h("input", { type: "checkbox", id: "monitoring" }), h("label", { for: "monitoring" }, "Enable operator-recommended cluster monitoring on this namespace")),
      h("fieldset", { class: "field" }, h("legend", {}, "Update approval"),
        h("div", { class: "choice" }, h("input", { type: "radio", name: "approval", id: "automatic", checked: true }), h("label", { for: "automatic" }, "Automatic")),
        h("div", { class: "choice" }, h("input", { type: "radio", name: "approval", id: "manual" }), h("label", { for: "manual" }, "Manual"))),
      plugins && h("div", { class: "field" }, h("p", {}, "Console plugin: ", plugins)),
      h("p", {}, h("button", { type: "button", disabled: true }, "Install"), h("span", { class: "muted" }, ` This is a preview; ${name} is not installed.`))));
}

/** The console's pages of each CRD: the form that creates a custom resource, and the details of one. */
export function formsView(data) {
  if (!data.csv) return without();
  const one = described(data);
  if (one.owned.length === 0) return h("p", { class: "notice" }, "The CSV owns no CRDs (spec.customresourcedefinitions.owned), so the console shows no forms.");
  const examples = list(data.examples).map(map);
  const problem = data.examples === null && "`metadata.annotations.alm-examples` is not valid JSON, so the form has no example, and the YAML view is almost empty.";
  const internal = listed(one.notes["operators.operatorframework.io/internal-objects"]).split(", ");
  const host = h("div", {});
  const show = (index) => fill(host, pages(one, one.owned[index], examples, problem, internal));
  show(0);
  return h("div", { class: "preview forms" },
    h("p", {}, h("label", {}, "Custom resource ", h("select", { id: "crd", onchange: (event) => show(event.target.selectedIndex) },
      one.owned.map((crd) => h("option", {}, `${text(crd.kind) || text(crd.name)} ${text(crd.version)}`))))),
    host);
}

function pages(one, owned, examples, problem, internal) {
  const name = text(owned.name);
  const kind = text(owned.kind);
  const crd = map(Object.hasOwn(one.crds, name) ? one.crds[name] : undefined);
  const version = list(map(crd.spec).versions).map(map).find((version) => version.name === owned.version);
  const schema = map(map(version).schema).openAPIV3Schema;
  const group = text(map(crd.spec).group) || name.split(".").slice(1).join(".");
  const wanted = `${group}/${text(owned.version)}`;
  const example = examples.find((one) => one.kind === kind && one.apiVersion === wanted);
  const similar = examples.filter((one) => one.kind === kind).map((one) => text(one.apiVersion));
  const notices = [
    problem,
    !Object.hasOwn(one.crds, name) && `The bundle does not contain the CRD \`${name}\`.`,
    Object.hasOwn(one.crds, name) && !version && `The CRD does not have the version \`${text(owned.version)}\`.`,
    version && !schema && "The CRD has no schema.",
    !problem && !example && `\`metadata.annotations.alm-examples\` has no ${kind} of \`${wanted}\`${similar.length > 0 ? `, only of \`${similar[0]}\`` : ""}, so the form has no example, and the YAML view is almost empty.`,
    internal.includes(name) && "`operators.operatorframework.io/internal-objects` names this CRD, so the console does not list it among the provided APIs.",
  ].filter(Boolean);
  return [
    notices.map((notice) => h("p", { class: "notice" }, coded(notice))),
    form({ owned, crd, schema, example, provider: one.provider, icon: icon(one, "small") }),
    details({ owned, schema, example }),
  ];
}

// The form and the details of a custom resource, as OpenShift's console shows them.

import assert from "node:assert/strict";
import { case_, drop, dropNext, findings, screenshots, snapshot } from "./browser.mjs";

const shot = screenshots();
const ui = (...names) => names.map((name) => `urn:alm:descriptor:com.tectonic.ui:${name}`);
const string = { type: "string" };
const object = (properties, more = {}) => ({ type: "object", properties, ...more });
const affinity = object({ requiredDuringSchedulingIgnoredDuringExecution: { type: "object" } });

const spec = object({
  plain: { type: "string", description: "As the schema says." },
  titled: { type: "string", title: "Title of the schema" },
  size: { type: "integer", default: 3 },
  ratio: { type: "number" },
  enabled: { type: "boolean" },
  tls: { type: "boolean", default: true },
  token: string,
  policy: string,
  level: string,
  shore: { type: "string", enum: ["sand", "rock"], default: "rock" },
  since: { type: "string", format: "date-time" },
  secret: string,
  resources: object({ limits: { type: "object" } }),
  strategy: object({ type: string }),
  nodes: affinity, near: affinity, apart: affinity,
  hiddenOne: string,
  tuning: string,
  certificate: string,
  storage: object({ class: { type: "string", description: "Of the volume." }, size: { type: "string", default: "1Gi" } }, { required: ["class"], description: "Where it stores." }),
  ports: { type: "array", items: object({ name: string, port: { type: "integer" } }) },
  words: { type: "array", items: string },
  labels: { type: "object", additionalProperties: string },
  anything: { "x-kubernetes-preserve-unknown-fields": true },
  target: { anyOf: [{ type: "integer" }, { type: "string" }], "x-kubernetes-int-or-string": true },
  odd: { type: "object", properties: { port: string } },
}, { required: ["plain", "shore"] });

const descriptor = (path, displayName, ...names) => ({ path, displayName, ...(names.length > 0 && { "x-descriptors": names }) });
const specDescriptors = [
  descriptor("size", "Size", ...ui("podCount")),
  descriptor("ratio", "Ratio", ...ui("number")),
  descriptor("enabled", "Enabled", ...ui("checkbox")),
  descriptor("tls", "TLS", ...ui("booleanSwitch")),
  descriptor("certificate", "Certificate", ...ui("fieldDependency:tls:true", "text")),
  descriptor("token", "Token", ...ui("password")),
  descriptor("policy", "Pull policy", ...ui("imagePullPolicy")),
  descriptor("level", "Level", ...ui("select:low", "select:high")),
  descriptor("secret", "Credentials", "urn:alm:descriptor:io.kubernetes:core:v1:Secret"),
  descriptor("resources", "Resources", ...ui("resourceRequirements")),
  descriptor("strategy", "Strategy", ...ui("updateStrategy")),
  descriptor("nodes", "Nodes", ...ui("nodeAffinity")),
  descriptor("near", "Near", ...ui("podAffinity")),
  descriptor("apart", "Apart", ...ui("podAntiAffinity")),
  descriptor("hiddenOne", "Hidden", ...ui("hidden")),
  descriptor("tuning", "Tuning", ...ui("advanced")),
  { ...descriptor("storage.class", "Storage class", ...ui("fieldGroup:storage")), description: "Of the descriptor." },
  descriptor("ports[0].port", "Port", ...ui("podCount")),
  descriptor("labels", "Selector", ...ui("selector:core:v1:Pod")),
  descriptor("odd", "Odd", ...ui("number"), "urn:alm:descriptor:unknownOne"),
  descriptor("none", "None"),
];
const statusDescriptors = [
  descriptor("status", "Status", "urn:alm:descriptor:io.kubernetes.phase"),
  descriptor("members", "Members", ...ui("podStatuses")),
  descriptor("url", "URL", "urn:alm:descriptor:org.w3:link"),
  descriptor("reason", "Reason", "urn:alm:descriptor:io.kubernetes.phase:reason"),
  descriptor("service", "Service", "urn:alm:descriptor:io.kubernetes:Service"),
  descriptor("password", "Password", ...ui("password")),
  descriptor("conditions", "Conditions of the lake", "urn:alm:descriptor:io.kubernetes.conditions"),
];
const example = {
  apiVersion: "example.com/v1", kind: "Lake", metadata: { name: "sample", labels: { app: "lake" } },
  spec: {
    plain: "given", policy: "Never", secret: "login", ports: [{ name: "http", port: 80 }, { name: "dns" }], words: ["a"], labels: { app: "lake" },
    resources: { limits: { cpu: "500m", memory: "1Gi" } }, strategy: { type: "Recreate" },
    nodes: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ matchExpressions: [{ key: "disk", operator: "In", values: ["ssd"] }] }] } },
  },
  status: { status: "Running", members: { ready: ["a", "b"], failed: [] }, url: "https://lakes.example.com/a", reason: "it is full", service: "lake", conditions: [{ type: "Ready", status: "True", reason: "Full" }] },
};
const state = object({ status: string, members: { type: "object" }, url: string, reason: string, service: string, conditions: { type: "array" } });

const bundle = ({ version = "v1", examples = JSON.stringify([example]), annotations = {}, owned = {}, properties = { spec, status: state } } = {}) => ({
  "manifests/lake.clusterserviceversion.json": JSON.stringify({
    apiVersion: "operators.coreos.com/v1alpha1", kind: "ClusterServiceVersion", metadata: { name: "lake.v1.0.0", annotations: { "alm-examples": examples, ...annotations } },
    spec: { displayName: "Lakes", version: "1.0.0", provider: { name: "Example" }, customresourcedefinitions: { owned: [{ name: "lakes.example.com", kind: "Lake", version, displayName: "Lake", description: "A lake.", specDescriptors, statusDescriptors, ...owned }] } },
  }),
  "manifests/lakes.json": JSON.stringify({
    apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition", metadata: { name: "lakes.example.com" },
    spec: { group: "example.com", scope: "Namespaced", names: { kind: "Lake", plural: "lakes" }, versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: { type: "object", properties } } }] },
  }),
  "metadata/annotations.yaml": "annotations: {}\n",
});

/** Opens the view of a bundle. */
async function view(tab, files) {
  await drop(tab, files);
  await findings(tab);
  await tab.click("#tab-forms");
  await tab.waitForSelector(".page.create");
}
const unfold = async (tab) => {
  while (await tab.$$eval("details.group:not([open])", (all) => (all.forEach((one) => (one.open = true)), all.length))) await tab.waitForFunction(() => [...document.querySelectorAll("details.group .inner")].every((one) => one.childNodes.length > 0 || !one.parentNode.open));
};

/** What is shown of a form, a line for each field: its title, its control, its value and its help; what is in a group is indented. */
const outline = (tab) => tab.evaluate(() => {
  const control = (one) => (one.matches("[role=switch]") ? `switch ${one.checked}` : one.type === "checkbox" ? `checkbox ${one.checked}` : one.type === "radio" ? `${one.checked ? "●" : "○"} ${one.parentNode.textContent}` : one.tagName === "SELECT" ? `select ${[...one.options].map((option) => (option.selected ? `[${option.textContent}]` : option.textContent)).join(" ")}` : one.tagName === "BUTTON" ? `<${one.textContent}>` : `${one.type} ${JSON.stringify(one.value || (one.placeholder && `${one.placeholder}?`))}`);
  const lines = (element, indent) => [...element.children].flatMap((one) => {
    if (!one.checkVisibility()) return [];
    if (one.matches("details")) return [`${indent}▾ ${one.querySelector("summary").textContent}${one.querySelector(":scope > .help-text") ? ` — ${one.querySelector(":scope > .help-text").textContent}` : ""}`, ...lines(one.querySelector(".inner"), `${indent}  `)];
    if (one.matches("fieldset")) return [`${indent}${one.querySelector("legend").textContent}: ${[...one.querySelectorAll("input, pre, button")].filter((part) => part.checkVisibility()).map((part) => (part.matches("pre") ? part.textContent.trim().replace(/\s+/g, " ") : control(part))).join(", ")}${one.querySelector(".help-text") ? ` — ${one.querySelector(".help-text").textContent}` : ""}`];
    if (one.matches(".field")) return [`${indent}${one.querySelector("label").textContent}: ${[...one.querySelectorAll("input, select, button")].map(control).join(" ")}${one.querySelector(".help-text") ? ` — ${one.querySelector(".help-text").textContent}` : ""}`];
    if (one.matches("button")) return [`${indent}${control(one)}`];
    return lines(one, indent);
  });
  return lines(document.querySelector(".page.create .form"), "");
});
const texts = (tab, selector) => tab.$$eval(selector, (all) => all.map((one) => one.textContent));

case_("a form has the fields, widgets, groups and order of the console", { viewport: { width: 1280, height: 1400 } }, async (tab) => {
  await view(tab, bundle());
  // Groups are closed at first.
  assert.equal(await tab.$$eval("details.group[open]", (all) => all.length), 0);
  await shot(tab, "form");
  await unfold(tab);
  await shot(tab, "form-open");
  snapshot("form", [...(await outline(tab)), "", ...(await texts(tab, ".page.create .notices li"))]);
});

case_("what is filled in changes the YAML, and shows the fields that depend on it", {}, async (tab) => {
  await view(tab, bundle());
  const shown = (title) => tab.$$eval(".field label", (all, title) => all.find((one) => one.textContent === title)?.checkVisibility(), title);
  const field = (title) => tab.evaluateHandle((title) => document.getElementById([...document.querySelectorAll(".field label")].find((one) => one.textContent === title).htmlFor), title);
  assert.equal(await shown("Certificate"), true);
  await (await field("TLS")).click();
  assert.equal(await shown("Certificate"), false);
  await (await field("Ratio")).type("0.5");
  await tab.click("[aria-label='Increment Size']");
  await tab.select(`#${await (await field("Level")).evaluate((one) => one.id)}`, "high");
  // Items are added and removed, with the focus on what is next.
  await tab.$$eval("summary", (all) => all.find((one) => one.textContent === "words").click());
  await tab.waitForSelector(".items .add");
  await tab.focus(".items .add");
  await tab.keyboard.press("Enter");
  assert.equal(await tab.$$eval(".items .item", (all) => all.length), 2);
  assert.equal(await tab.evaluate(() => document.activeElement.textContent), "Add words");
  await tab.type(".items .item:last-of-type input", "new");
  await tab.click(".items .item .remove");
  assert.equal(await tab.$eval(".items .item input", (input) => input.value), "new");
  await tab.click("#yaml-view");
  snapshot("form-yaml", (await tab.$eval(".yaml", (yaml) => yaml.textContent)).trimEnd().split("\n"));
  assert.equal(await tab.$eval(".form", (form) => form.checkVisibility()), false);
});

case_("details show the status and the spec as the console does", { viewport: { width: 1280, height: 1400 } }, async (tab) => {
  await view(tab, bundle());
  const facts = await tab.$$eval(".page.details .halves > .facts > dt", (all) => all.map((one) => `${one.textContent}: ${one.nextElementSibling.innerText.replace(/\s+/g, " ")}`));
  snapshot("details", [...facts, "", ...(await texts(tab, ".page.details .notices li"))]);
  assert.deepEqual(await texts(tab, ".page.details h3, .page.details h4"), ["Lake overview", "Conditions of the lake", "Ignored or not shown by the console"]);
  assert.deepEqual(await texts(tab, ".page.details tbody td"), ["Ready", "True", "-", "Full", "-"]);
  await tab.$eval(".page.details", (page) => page.scrollIntoView());
  await shot(tab, "details");
});

case_("what users miss in a form is named", {}, async (tab) => {
  const notices = async (options) => {
    if (await tab.$("#tab-validate")) await tab.click("#tab-validate");
    await dropNext(tab, bundle(options));
    await tab.click("#tab-forms");
    await tab.waitForSelector(".page.create");
    return [...(await texts(tab, ".preview.forms .notice")), ...(await texts(tab, ".page.create .form .missing")), await tab.$eval("#form-name", (input) => input.value).catch(() => "no form")];
  };
  assert.deepEqual(await notices({ examples: "[" }), ["metadata.annotations.alm-examples is not valid JSON, so the form has no example, and the YAML view is almost empty.", "example"]);
  assert.deepEqual(await notices({ examples: JSON.stringify([{ ...example, apiVersion: "example.com/v1beta1" }]) }), ["metadata.annotations.alm-examples has no Lake of example.com/v1, only of example.com/v1beta1, so the form has no example, and the YAML view is almost empty.", "example"]);
  assert.deepEqual(await notices({ annotations: { "operators.operatorframework.io/internal-objects": '["lakes.example.com"]' } }), ["operators.operatorframework.io/internal-objects names this CRD, so the console does not list it among the provided APIs.", "sample"]);
  assert.deepEqual(await notices({ version: "v2", examples: "[]" }), ["The CRD does not have the version v2.", "metadata.annotations.alm-examples has no Lake of example.com/v2, so the form has no example, and the YAML view is almost empty.", "A form is not available for this resource. Use the YAML view.spec: its schema is empty", "no form"]);
  assert.deepEqual(await notices({ properties: { spec: { type: "object", "x-kubernetes-preserve-unknown-fields": true } } }), ["A form is not available for this resource. Use the YAML view.spec: its schema declares no properties", "no form"]);
  assert.deepEqual(await notices({ owned: { name: "ponds.example.com" } }), ["The bundle does not contain the CRD ponds.example.com.", "A form is not available for this resource. Use the YAML view.spec: its schema is empty", "no form"]);
});

case_("names of a schema change nothing but the form", {}, async (tab) => {
  const properties = JSON.parse('{"__proto__": {"type": "object", "properties": {"polluted": {"type": "string"}}}, "constructor": {"type": "object", "properties": {"prototype": {"type": "object", "properties": {"polluted": {"type": "string"}}}}}}');
  await view(tab, bundle({ properties: { spec: { type: "object", properties } }, owned: { specDescriptors: [descriptor("__proto__.polluted", "First"), descriptor("constructor.prototype.polluted", "Second")] } }));
  await unfold(tab);
  for (const input of await tab.$$(".form .group input")) await input.type("evil");
  assert.deepEqual(await tab.evaluate(() => "polluted" in {} || "polluted" in (() => {})), false);
  await tab.click("#yaml-view");
  assert.match(await tab.$eval(".yaml", (yaml) => yaml.textContent), /__proto__:\n {4}polluted: evil\n {2}constructor:\n {4}prototype:\n {6}polluted: evil/);
});

case_("nothing in a schema, a descriptor or an example becomes markup or a script", {}, async (tab) => {
  const evil = `"><img src=x onerror=alert(1)>`;
  const named = { type: "string", title: evil, description: evil, enum: [evil], default: evil };
  await view(tab, bundle({
    properties: { spec: object({ a: named, [evil]: object({ [evil]: named }), odd: { type: "constructor" } }, { required: [evil] }), status: object({ url: string }) },
    examples: JSON.stringify([{ apiVersion: "example.com/v1", kind: "Lake", metadata: { name: evil, labels: { [evil]: evil } }, spec: { a: evil }, status: { url: "javascript:alert(2)", conditions: [{ type: evil }] } }]),
    owned: {
      displayName: evil, description: evil,
      specDescriptors: [{ ...descriptor("a", evil, `urn:alm:descriptor:io.kubernetes:${evil}`), description: evil }, descriptor("odd", "Odd", ...ui("text"))],
      statusDescriptors: [descriptor("url", evil, "urn:alm:descriptor:org.w3:link")],
    },
  }));
  await unfold(tab);
  await tab.click("#yaml-view");
  assert.equal(await tab.$$eval("#panel script, #panel [onerror], #panel img, #panel a", (all) => all.length), 0);
});

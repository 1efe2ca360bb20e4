//! What a bundle asks for besides its CRDs: permissions, install modes, webhooks, images, APIs.

use std::collections::BTreeSet;
use std::fmt;

use olm_model::Bundle;
use olm_model::version::{Range, strict};
use serde::Serialize;
use serde_json::Value;

/// How many single permissions a rule may stand for; one that stands for more is compared as a whole.
const MAX_PERMISSIONS: usize = 10_000;

/// What only one of two bundles has, sorted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Lists<T> {
    /// What only the new bundle has.
    pub added: Vec<T>,
    /// What only the old bundle has.
    pub removed: Vec<T>,
}

impl<T: Ord + Clone> Lists<T> {
    /// What differs between two sets.
    pub(crate) fn compare(old: &BTreeSet<T>, new: &BTreeSet<T>) -> Self {
        Self {
            added: new.difference(old).cloned().collect(),
            removed: old.difference(new).cloned().collect(),
        }
    }

    /// Whether nothing differs.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.added.is_empty() && self.removed.is_empty()
    }
}

/// One thing that a service account may do.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Permission {
    /// The service account.
    pub service_account: String,
    /// Whether it holds in the whole cluster, or in the namespaces that the operator watches.
    pub cluster_wide: bool,
    /// The verb: `get`, `*`.
    pub verb: String,
    /// The resource and its API group, or a URL: `deployments.apps`, `/metrics`.
    pub resource: String,
}

impl fmt::Display for Permission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scope = if self.cluster_wide { "cluster-wide" } else { "in watched namespaces" };
        write!(f, "`{}` may {} {} {scope}", self.service_account, self.verb, self.resource)
    }
}

/// What a CSV asks for.
#[derive(Debug, Default)]
pub(crate) struct Summary {
    pub(crate) name: String,
    pub(crate) permissions: BTreeSet<Permission>,
    pub(crate) install_modes: BTreeSet<String>,
    pub(crate) webhooks: BTreeSet<String>,
    /// The webhooks, as the CSV defines them.
    pub(crate) webhook_definitions: Vec<Value>,
    /// The APIs that the operator serves itself.
    pub(crate) owned_apis: BTreeSet<String>,
    pub(crate) images: BTreeSet<String>,
    pub(crate) required_apis: BTreeSet<String>,
    pub(crate) min_kube_version: String,
    pub(crate) descriptors: BTreeSet<String>,
    pub(crate) service_accounts: BTreeSet<String>,
    /// The Deployments of the install strategy, as objects.
    pub(crate) deployments: Vec<Value>,
    /// How the CSV upgrades others.
    pub(crate) edges: Edges,
}

/// Which CSVs a CSV can be installed over.
#[derive(Debug, Default)]
pub(crate) struct Edges {
    version: String,
    replaces: String,
    skips: Vec<String>,
    skip_range: String,
}

impl Edges {
    /// Returns why there is no edge from the CSV `old` to this one, if this one names others.
    pub(crate) fn missing_from(&self, old: &Summary) -> Option<String> {
        if self.replaces.is_empty() && self.skips.is_empty() && self.skip_range.is_empty() {
            return None;
        }
        let is_skipped = || {
            let (Ok(range), Ok(version)) = (Range::parse(&self.skip_range), strict(&old.edges.version))
            else {
                return false;
            };
            range.contains(&version)
        };
        if self.replaces == old.name || self.skips.contains(&old.name) || is_skipped() {
            return None;
        }
        let mut named = Vec::new();
        if !self.replaces.is_empty() {
            named.push(format!("spec.replaces is `{}`", self.replaces));
        }
        if !self.skips.is_empty() {
            named.push(format!("spec.skips is `{}`", self.skips.join(", ")));
        }
        if !self.skip_range.is_empty() {
            named.push(format!("olm.skipRange is `{}`", self.skip_range));
        }
        Some(format!(
            "the new CSV does not upgrade `{}`: {} (OLM does not upgrade directly, unless the catalog has other edges)",
            old.name,
            named.join(", ")
        ))
    }
}

/// The dependencies of a bundle, each as one line.
#[derive(Debug, Default)]
pub(crate) struct Dependencies(pub(crate) BTreeSet<String>);

impl Dependencies {
    /// Reads `dependencies.yaml`, `properties.yaml` and the CSV's annotation `operatorframework.io/properties`.
    pub(crate) fn new(bundle: &Bundle) -> Self {
        let mut found = BTreeSet::new();
        if let Some((_, entries)) = bundle.metadata_list("dependencies") {
            found.extend(list(&entries.to_json()).filter_map(|entry| requirement(entry, true)));
        }
        found.extend(properties(bundle).iter().filter_map(|entry| requirement(entry, false)));
        Self(found)
    }
}

/// Returns the properties in `properties.yaml` and in the CSV's annotations `operatorframework.io/properties` and `olm.properties`.
fn properties(bundle: &Bundle) -> Vec<Value> {
    let annotation = |name: &str| {
        let csv = bundle.csv()?;
        let text = csv.root.dig(&["metadata", "annotations", name]).and_then(kube_yaml::Value::as_str)?;
        kube_yaml::json::from_str::<Value>(text).ok()
    };
    let file = bundle.metadata_list("properties").map(|(_, entries)| entries.to_json()).unwrap_or_default();
    let stored = annotation("operatorframework.io/properties").unwrap_or_default();
    let older = annotation("olm.properties").unwrap_or_default();
    list(&file).chain(list(&stored["properties"])).chain(list(&older)).cloned().collect()
}

/// Returns the properties that limit where a bundle is installed, each as one line.
pub(crate) fn limits(bundle: &Bundle) -> impl Iterator<Item = String> {
    properties(bundle).into_iter().filter_map(|property| {
        let is_limit = property["type"] == "olm.maxOpenShiftVersion";
        let version = &property["value"];
        let text = || version.as_str().map_or_else(|| version.to_string(), str::to_owned);
        is_limit.then(|| format!("maximum OpenShift version {}", text()))
    })
}

/// Returns what an entry of `dependencies.yaml` or `properties.yaml` requires. As properties, `olm.package`, `olm.gvk` and
/// `olm.label` say what the bundle provides.
fn requirement(entry: &Value, is_dependency: bool) -> Option<String> {
    let value = &entry["value"];
    let kind =
        || format!("{}/{} {}", string(&value["group"]), string(&value["version"]), string(&value["kind"]));
    match entry["type"].as_str()? {
        "olm.package" if is_dependency => {
            Some(format!("package `{}` {}", string(&value["packageName"]), string(&value["version"])))
        }
        "olm.package.required" => {
            Some(format!("package `{}` {}", string(&value["packageName"]), string(&value["versionRange"])))
        }
        "olm.gvk" if is_dependency => Some(format!("API {}", kind())),
        "olm.gvk.required" => Some(format!("API {}", kind())),
        "olm.label" if is_dependency => Some(format!("label `{}`", string(&value["label"]))),
        "olm.constraint" => Some(match value["failureMessage"].as_str() {
            Some(message) => format!("constraint `{message}`"),
            None => format!("constraint {value}"),
        }),
        _ => None,
    }
}

impl Summary {
    /// Reads a `ClusterServiceVersion`.
    pub(crate) fn new(csv: kube_yaml::Value<'_>) -> Self {
        let spec = csv.get("spec").map(kube_yaml::Value::to_json).unwrap_or_default();
        let install = &spec["install"]["spec"];
        let mut permissions = BTreeSet::new();
        for (field, cluster_wide) in [("clusterPermissions", true), ("permissions", false)] {
            for granted in list(&install[field]) {
                let account = string(&granted["serviceAccountName"]);
                list(&granted["rules"])
                    .for_each(|rule| grant(&account, cluster_wide, rule, &mut permissions));
            }
        }
        let mut images: BTreeSet<String> =
            list(&spec["relatedImages"]).map(|image| string(&image["image"])).collect();
        for deployment in list(&install["deployments"]) {
            let pod = &deployment["spec"]["template"]["spec"];
            let containers = list(&pod["containers"]).chain(list(&pod["initContainers"]));
            images.extend(containers.map(|container| string(&container["image"])));
        }
        images.remove("");
        let required = list(&spec["customresourcedefinitions"]["required"])
            .map(|api| format!("{} {}", string(&api["name"]), string(&api["version"])));
        let services = |field: &str| -> BTreeSet<String> {
            let apis = list(&spec["apiservicedefinitions"][field]);
            apis.map(|api| api_name(&api["kind"], &api["group"], &api["version"])).collect()
        };
        let deployments = list(&install["deployments"]).map(|deployment| {
            serde_json::json!({
                "apiVersion": "apps/v1",
                "kind": "Deployment",
                "metadata": {"name": deployment["name"], "labels": deployment["label"]},
                "spec": deployment["spec"],
            })
        });
        let annotation = |name: &str| {
            let value = csv.dig(&["metadata", "annotations", name]);
            value.map(kube_yaml::Value::text).unwrap_or_default().to_owned()
        };
        let service_accounts = ["clusterPermissions", "permissions"]
            .iter()
            .flat_map(|field| list(&install[*field]))
            .map(|granted| string(&granted["serviceAccountName"]));
        Self {
            service_accounts: service_accounts.collect(),
            deployments: deployments.collect(),
            edges: Edges {
                version: string(&spec["version"]),
                replaces: string(&spec["replaces"]),
                skips: list(&spec["skips"]).map(string).collect(),
                skip_range: annotation("olm.skipRange"),
            },
            name: csv.dig(&["metadata", "name"]).map(kube_yaml::Value::text).unwrap_or_default().to_owned(),
            permissions,
            install_modes: list(&spec["installModes"])
                .filter(|mode| mode["supported"] == true)
                .map(|mode| string(&mode["type"]))
                .collect(),
            webhooks: list(&spec["webhookdefinitions"]).map(webhook_name).collect(),
            webhook_definitions: list(&spec["webhookdefinitions"]).cloned().collect(),
            owned_apis: services("owned"),
            images,
            required_apis: required.chain(services("required")).collect(),
            min_kube_version: string(&spec["minKubeVersion"]),
            descriptors: list(&spec["customresourcedefinitions"]["owned"]).flat_map(descriptors).collect(),
        }
    }
}

/// Returns the name of an API: `Gizmo.gadgets.example.com v1`.
pub(crate) fn api_name(kind: &Value, group: &Value, version: &Value) -> String {
    format!("{}.{} {}", string(kind), string(group), string(version))
}

/// Returns the name of a webhook: `ValidatingAdmissionWebhook vgizmo.example.com`.
pub(crate) fn webhook_name(webhook: &Value) -> String {
    format!("{} {}", string(&webhook["type"]), string(&webhook["generateName"]))
}

/// Returns the descriptors of an owned CRD, from which consoles generate forms and detail pages.
fn descriptors(owned: &Value) -> Vec<String> {
    let (name, version) = (string(&owned["name"]), string(&owned["version"]));
    let of = |kind: &str, field: &str| -> Vec<String> {
        let paths = list(&owned[field]).map(|descriptor| string(&descriptor["path"]));
        paths.map(|path| format!("{name} {version}: {kind} `{path}`")).collect()
    };
    let kinds =
        [("spec", "specDescriptors"), ("status", "statusDescriptors"), ("action", "actionDescriptors")];
    kinds.into_iter().flat_map(|(kind, field)| of(kind, field)).collect()
}

/// Returns the names of the CRDs that the conversion webhooks of a CSV convert.
pub(crate) fn converted_crds(csv: kube_yaml::Value<'_>) -> Vec<String> {
    let webhooks =
        csv.dig(&["spec", "webhookdefinitions"]).map(kube_yaml::Value::to_json).unwrap_or_default();
    list(&webhooks)
        .filter(|webhook| webhook["type"] == "ConversionWebhook")
        .flat_map(|webhook| list(&webhook["conversionCRDs"]).map(string).collect::<Vec<_>>())
        .collect()
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn string(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// Adds each single permission of an RBAC rule: every verb on every resource of every group.
fn grant(account: &str, cluster_wide: bool, rule: &Value, permissions: &mut BTreeSet<Permission>) {
    let strings = |field: &str| -> Vec<String> { list(&rule[field]).map(string).collect() };
    let (verbs, groups, names) = (strings("verbs"), strings("apiGroups"), strings("resourceNames"));
    let mut resources = strings("nonResourceURLs");
    let plain = strings("resources");
    if verbs.len().saturating_mul(groups.len()).saturating_mul(plain.len().max(names.len())) > MAX_PERMISSIONS
    {
        resources.push(rule.to_string());
    } else {
        for group in &groups {
            for resource in &plain {
                let full = match group.as_str() {
                    "" => resource.clone(),
                    group => format!("{resource}.{group}"),
                };
                match names.as_slice() {
                    [] => resources.push(full),
                    names => resources.extend(names.iter().map(|name| format!("{full}/{name}"))),
                }
            }
        }
    }
    for verb in &verbs {
        for resource in &resources {
            permissions.insert(Permission {
                service_account: account.to_owned(),
                cluster_wide,
                verb: verb.clone(),
                resource: resource.clone(),
            });
        }
    }
}

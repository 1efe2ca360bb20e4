//! What a bundle asks for besides its CRDs: permissions, install modes, webhooks, images, APIs.

use std::collections::BTreeSet;
use std::fmt;

use serde::Serialize;
use serde_json::Value;

use crate::model::yaml;

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
    pub(super) fn of(old: &BTreeSet<T>, new: &BTreeSet<T>) -> Self {
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
pub(super) struct Summary {
    pub(super) name: String,
    pub(super) permissions: BTreeSet<Permission>,
    pub(super) install_modes: BTreeSet<String>,
    pub(super) webhooks: BTreeSet<String>,
    pub(super) images: BTreeSet<String>,
    pub(super) required_apis: BTreeSet<String>,
    pub(super) min_kube_version: String,
    pub(super) descriptors: BTreeSet<String>,
}

impl Summary {
    /// Reads a `ClusterServiceVersion`.
    pub(super) fn new(csv: yaml::Value<'_>) -> Self {
        let spec = csv.get("spec").map(yaml::Value::to_json).unwrap_or_default();
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
        let services = list(&spec["apiservicedefinitions"]["required"]).map(|api| {
            format!("{}.{} {}", string(&api["kind"]), string(&api["group"]), string(&api["version"]))
        });
        Self {
            name: csv.dig(&["metadata", "name"]).map(yaml::Value::text).unwrap_or_default().to_owned(),
            permissions,
            install_modes: list(&spec["installModes"])
                .filter(|mode| mode["supported"] == true)
                .map(|mode| string(&mode["type"]))
                .collect(),
            webhooks: list(&spec["webhookdefinitions"])
                .map(|webhook| format!("{} {}", string(&webhook["type"]), string(&webhook["generateName"])))
                .collect(),
            images,
            required_apis: required.chain(services).collect(),
            min_kube_version: string(&spec["minKubeVersion"]),
            descriptors: list(&spec["customresourcedefinitions"]["owned"]).flat_map(descriptors).collect(),
        }
    }
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
pub(super) fn converted_crds(csv: yaml::Value<'_>) -> Vec<String> {
    let webhooks = csv.dig(&["spec", "webhookdefinitions"]).map(yaml::Value::to_json).unwrap_or_default();
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

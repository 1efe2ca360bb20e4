//! Permissions for resources that have a removed version, which operator-sdk warns of.
//!
//! A permission names no version, so bundle-tool's own rules report only objects. Scripts look for the words of the warning.
//!
//! Source: `pkg/validation/internal/removed_apis.go` of operator-framework/api.

use std::collections::{BTreeMap, BTreeSet};

use olm_model::Bundle;
use olm_model::report::Severity;
use olm_report::SdkOutput;

/// Groups and resources of which Kubernetes 1.25 removed a version.
const RESOURCES: [(&str, &str); 7] = [
    ("autoscaling", "horizontalpodautoscalers"),
    ("batch", "cronjobs"),
    ("discovery.k8s.io", "endpointslices"),
    ("events.k8s.io", "events"),
    ("node.k8s.io", "runtimeclasses"),
    ("policy", "poddisruptionbudgets"),
    ("policy", "podsecuritypolicies"),
];

/// Returns the warning about the permissions of a bundle's CSV, if one is for such a resource that the CSV does not list among those
/// of its CRDs.
pub(crate) fn permissions(bundle: &Bundle) -> Option<SdkOutput> {
    let root = bundle.csv()?.root.to_json();
    // operator-sdk reads the CSV of this version only.
    if root["apiVersion"] != "operators.coreos.com/v1alpha1" {
        return None;
    }
    let list = |value: &serde_json::Value, key: &str| value[key].as_array().cloned().unwrap_or_default();
    let definitions = &root["spec"]["customresourcedefinitions"];
    let listed: BTreeSet<String> = ["owned", "required"]
        .into_iter()
        .flat_map(|field| list(definitions, field))
        .flat_map(|crd| list(&crd, "resources"))
        .filter_map(|resource| Some(format!("{}s", resource["kind"].as_str()?.to_lowercase())))
        .collect();
    let mut found: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (field, name) in [("clusterPermissions", "ClusterPermissions"), ("permissions", "Permissions")] {
        for (at, entry) in list(&root["spec"]["install"]["spec"], field).iter().enumerate() {
            for (index, rule) in list(entry, "rules").iter().enumerate() {
                let (groups, resources) = (list(rule, "apiGroups"), list(rule, "resources"));
                for (group, resource) in RESOURCES {
                    if groups.iter().any(|other| *other == group)
                        && resources.iter().any(|other| *other == resource)
                        && !listed.contains(resource)
                    {
                        let place = format!(
                            "\"ClusterServiceVersion.Spec.InstallStrategy.StrategySpec.{name}[{at}].Rules[{index}]\""
                        );
                        found.entry(resource).or_default().push(place);
                    }
                }
            }
        }
    }
    if found.is_empty() {
        return None;
    }
    let found: Vec<String> =
        found.iter().map(|(resource, places)| format!("{resource}: ([{}])", places.join(" "))).collect();
    Some(SdkOutput {
        r#type: Severity::Warning,
        message: format!(
            "this bundle is using APIs which were deprecated and removed in v1.25. More info: \
             https://kubernetes.io/docs/reference/using-api/deprecation-guide/#v1-25. Migrate the API(s) for {}",
            found.join(",")
        ),
    })
}

//! The architectures that a CSV declares, and those on which its Deployments can be scheduled.

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::NodeSelectorTerm;

use crate::prelude::*;

/// The prefix of labels for architectures.
pub(crate) const ARCHITECTURE: &str = "operatorframework.io/arch.";
/// The prefix of labels for operating systems.
pub(crate) const SYSTEM: &str = "operatorframework.io/os.";

/// Returns the architectures that labels declare.
pub(crate) fn declared(csv: &Csv<'_>) -> BTreeSet<String> {
    supported(csv, ARCHITECTURE)
}

/// Returns the platforms that labels declare, operating system and architecture: every architecture on every system. Without
/// labels, an operator is for `amd64` and for `linux`.
pub(crate) fn declared_with_systems(csv: &Csv<'_>) -> BTreeSet<(String, String)> {
    let or = |mut names: BTreeSet<String>, default: &str| {
        if names.is_empty() {
            names.insert(default.to_owned());
        }
        names
    };
    let architectures = or(declared(csv), "amd64");
    let systems = or(supported(csv, SYSTEM), "linux");
    let pairs =
        systems.iter().flat_map(|system| architectures.iter().map(|name| (system.clone(), name.clone())));
    pairs.collect()
}

/// Returns the ends of the labels with a prefix whose value is `supported`.
fn supported(csv: &Csv<'_>, prefix: &str) -> BTreeSet<String> {
    let labels = csv.typed.metadata.labels.iter().flatten().filter(|(_, value)| *value == "supported");
    labels.filter_map(|(key, _)| key.strip_prefix(prefix)).map(str::to_owned).collect()
}

/// Returns the architectures that the node affinity of a Deployment names; empty if one of them can run anywhere.
pub(crate) fn admitted(csv: &Csv<'_>) -> BTreeSet<String> {
    let mut admitted = BTreeSet::new();
    let mut anywhere = false;
    csv.each_pod_template(|pod| {
        let affinity = pod.spec.affinity.as_ref().and_then(|affinity| affinity.node_affinity.as_ref());
        let required =
            affinity.and_then(|node| node.required_during_scheduling_ignored_during_execution.as_ref());
        let terms = required.map(|required| required.node_selector_terms.as_slice()).unwrap_or_default();
        // One of the terms must match.
        anywhere |= terms.is_empty();
        for term in terms {
            match architectures(term) {
                Some(names) => admitted.extend(names.iter().cloned()),
                None => anywhere = true,
            }
        }
    });
    if anywhere { BTreeSet::new() } else { admitted }
}

fn architectures(term: &NodeSelectorTerm) -> Option<&Vec<String>> {
    let mut expressions = term.match_expressions.iter().flatten();
    let of = expressions.find(|one| one.key == "kubernetes.io/arch" && one.operator == "In");
    of.and_then(|one| one.values.as_ref())
}

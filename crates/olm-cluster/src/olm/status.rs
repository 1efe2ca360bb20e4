//! Whether OLM runs, from observed objects.

use serde::Serialize;
use serde_json::Value;

use super::prepare::{CRDS, DEPLOYMENTS};
use crate::kinds;
use crate::snapshot::{Snapshot, condition, name_of, namespace_of, number, string};
use kube_yaml::text::null_if_empty;

/// A part of OLM.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Component {
    /// What it is.
    pub object: String,
    /// Whether it is as it should be.
    pub ready: bool,
    /// Its state.
    pub state: String,
}

/// The state of OLM.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Status {
    /// Whether there is anything of OLM.
    pub installed: bool,
    /// The version, empty if it is not known.
    #[serde(rename = "olmVersion", serialize_with = "null_if_empty")]
    pub version: String,
    /// The namespace of OLM's deployments and package server; empty if there are none.
    #[serde(serialize_with = "null_if_empty")]
    pub namespace: String,
    /// The parts.
    pub components: Vec<Component>,
}

impl Status {
    /// Returns whether all parts are ready.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.installed && self.components.iter().all(|component| component.ready)
    }
}

/// Returns the state of OLM.
#[must_use]
pub fn status(snapshot: &Snapshot) -> Status {
    let mut status =
        Status { installed: false, version: String::new(), namespace: String::new(), components: Vec::new() };
    let crds: Vec<&str> = snapshot.objects(kinds::CRD).iter().map(name_of).collect();
    let missing: Vec<&str> = CRDS.iter().copied().filter(|name| !crds.contains(name)).collect();
    status.installed = missing.len() < CRDS.len();
    let state = if missing.is_empty() {
        format!("{} of {} exist", CRDS.len(), CRDS.len())
    } else {
        format!("missing: {}", missing.join(", "))
    };
    let mut push = |object: String, ready: bool, state: String| {
        status.components.push(Component { object, ready, state });
    };
    push("CustomResourceDefinitions".into(), missing.is_empty(), state);
    for name in DEPLOYMENTS {
        let found = snapshot.objects(kinds::DEPLOYMENT).iter().find(|one| name_of(one) == *name);
        match found {
            None => push(format!("Deployment `{name}`"), false, "does not exist".into()),
            Some(one) => {
                namespace_of(one).clone_into(&mut status.namespace);
                let (available, wanted) =
                    (number(one, "/status/availableReplicas"), number(one, "/spec/replicas").max(1));
                let state = format!("{available} of {wanted} replicas are available");
                push(format!("Deployment `{}/{name}`", namespace_of(one)), available >= wanted, state);
            }
        }
    }
    let packageserver = snapshot.objects(kinds::CSV).iter().find(|one| name_of(one) == "packageserver");
    match packageserver {
        None => push("ClusterServiceVersion `packageserver`".into(), false, "does not exist".into()),
        Some(one) => {
            string(one, "/spec/version").clone_into(&mut status.version);
            if status.namespace.is_empty() {
                namespace_of(one).clone_into(&mut status.namespace);
            }
            let phase = string(one, "/status/phase");
            let state = if phase.is_empty() { "has no phase".to_owned() } else { phase.to_owned() };
            let object = format!("ClusterServiceVersion `{}/packageserver`", namespace_of(one));
            push(object, phase == "Succeeded", state);
        }
    }
    for one in snapshot.objects(kinds::API_SERVICE).iter().filter(|one| is_packages(one)) {
        let available = condition(one, "Available", "True").is_some();
        let state = if available { "is available" } else { "is not available" };
        push(format!("APIService `{}`", name_of(one)), available, state.into());
    }
    for one in snapshot.objects(kinds::CATALOG_SOURCE) {
        let state = match string(one, "/status/connectionState/lastObservedState") {
            "" => "was not connected yet",
            state => state,
        };
        push(
            format!("CatalogSource `{}/{}`", namespace_of(one), name_of(one)),
            state == "READY",
            state.to_owned(),
        );
    }
    status
}

/// Returns whether an `APIService` is that of OLM's package server.
pub(crate) fn is_packages(object: &Value) -> bool {
    string(object, "/spec/group") == "packages.operators.coreos.com"
        || name_of(object).ends_with(".packages.operators.coreos.com")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_parts_are_named_with_their_state() {
        let mut snapshot = Snapshot::default();
        let none = status(&snapshot);
        assert!(!none.installed && !none.is_ready());
        snapshot.extend(kinds::CRD, CRDS.iter().map(|name| json!({"metadata": {"name": name}})));
        let deployment = |name: &str, available: i64| {
            json!({"metadata": {"name": name, "namespace": "olm"}, "spec": {"replicas": 1},
                "status": {"availableReplicas": available}})
        };
        snapshot
            .extend(kinds::DEPLOYMENT, [deployment("catalog-operator", 1), deployment("olm-operator", 0)]);
        let csv = json!({"metadata": {"name": "packageserver", "namespace": "olm"}, "spec": {"version": "0.46.0"},
            "status": {"phase": "Succeeded"}});
        snapshot.extend(kinds::CSV, [csv]);
        let found = status(&snapshot);
        assert_eq!((found.version.as_str(), found.namespace.as_str()), ("0.46.0", "olm"));
        let failed: Vec<_> = found.components.iter().filter(|part| !part.ready).collect();
        assert_eq!(failed.len(), 1);
        assert_eq!(failed[0].object, "Deployment `olm/olm-operator`");
        assert_eq!(failed[0].state, "0 of 1 replicas are available");
    }
}

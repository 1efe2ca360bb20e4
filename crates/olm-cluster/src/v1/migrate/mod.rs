//! The plan of a move from OLM v0 to OLM v1: what blocks it, what is applied, and what of OLM v0 is deleted, in order.
//!
//! A pure function of a bundle and observed objects: `observe` reads the objects, `Operator::plan` writes the steps.
//! Nothing that the plan deletes takes CRDs or their objects with it: OLM v0 does not make a CSV the owner of its CRDs.
//!
//! Sources: `api/v1` of operator-controller 1.11, `internal/operator-controller/applier/helm.go`, and Helm's
//! `pkg/action/validate.go`, which adopts an existing object only with the release's label and annotations.

mod observe;
mod plan;
mod steps;

use std::collections::HashSet;

pub use self::observe::{bundle_of, observe, properties};
pub use self::plan::{Blocker, Installed, NotFound, Operator, Plan, Step};

/// Returns the manifests of plans, each once, as YAML documents.
#[must_use]
pub fn yaml(plans: &[Plan]) -> String {
    let mut seen = HashSet::new();
    let all = plans.iter().flat_map(|plan| &plan.steps).flat_map(|step| &step.manifests);
    let texts = all.map(kube_yaml::emit).filter(|text| seen.insert(text.clone()));
    texts.map(|text| format!("---\n{text}")).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::snapshot::Snapshot;

    fn snapshot(change: impl Fn(&mut Value)) -> Snapshot {
        let mut all = json!({"items": [
            {"apiVersion": "operators.coreos.com/v1alpha1", "kind": "Subscription",
             "metadata": {"name": "gizmo", "namespace": "gizmos"},
             "spec": {"name": "gizmo", "channel": "stable", "source": "cat", "sourceNamespace": "gizmos",
                      "config": {"env": [{"name": "A", "value": "b"}], "selector": {}}},
             "status": {"installedCSV": "gizmo.v1.2.0", "currentCSV": "gizmo.v1.2.0"}},
            {"apiVersion": "operators.coreos.com/v1alpha1", "kind": "ClusterServiceVersion",
             "metadata": {"name": "gizmo.v1.2.0", "namespace": "gizmos"},
             "spec": {"version": "1.2.0", "cleanup": {"enabled": true},
                      "customresourcedefinitions": {"owned": [{"name": "gizmos.example.com"}]},
                      "installModes": [{"type": "AllNamespaces", "supported": true},
                                       {"type": "SingleNamespace", "supported": true}]},
             "status": {"phase": "Succeeded"}},
            {"apiVersion": "operators.coreos.com/v1", "kind": "OperatorGroup",
             "metadata": {"name": "group", "namespace": "gizmos"},
             "spec": {"serviceAccountName": "installer"}, "status": {"namespaces": ["team-a"]}},
            {"apiVersion": "operators.coreos.com/v1alpha1", "kind": "CatalogSource",
             "metadata": {"name": "cat", "namespace": "gizmos"},
             "spec": {"image": "quay.io/example/catalog:v1", "priority": 5, "secrets": ["pull"],
                      "updateStrategy": {"registryPoll": {"interval": "1h30m"}}}},
        ]});
        change(&mut all);
        let mut snapshot = Snapshot::default();
        snapshot.add(all);
        snapshot
    }

    fn add(all: &mut Value, object: Value) {
        all["items"].as_array_mut().unwrap().push(object);
    }

    fn reasons(plan: &Plan) -> Vec<&str> {
        plan.blockers.iter().map(|blocker| blocker.reason.as_str()).collect()
    }

    #[test]
    fn nothing_that_is_deleted_takes_objects_with_it() {
        let plan = observe(&snapshot(|_| {}), "gizmo", None).unwrap().plan();
        assert_eq!(reasons(&plan), Vec::<&str>::new());
        insta::assert_snapshot!("migrate-plan", serde_json::to_string_pretty(&plan).unwrap());
        // What deletes the objects is switched off before, and no command deletes a CRD.
        let commands: Vec<&String> = plan.steps.iter().flat_map(|step| &step.commands).collect();
        let at = |text: &str| commands.iter().position(|command| command.contains(text)).unwrap();
        assert!(at("\"cleanup\"") < at("delete -n gizmos clusterserviceversions"));
        assert!(at("delete -n gizmos subscriptions") < at("delete -n gizmos clusterserviceversions"));
        assert!(!commands.iter().any(|command| command.contains("delete crd")));
    }

    #[test]
    fn what_others_need_is_kept() {
        let other = json!({"apiVersion": "operators.coreos.com/v1alpha1", "kind": "Subscription",
            "metadata": {"name": "other", "namespace": "gizmos"},
            "spec": {"name": "other", "source": "cat", "sourceNamespace": "gizmos"}});
        let snapshot = snapshot(|all| add(all, other.clone()));
        let plan = observe(&snapshot, "gizmo", Some("gizmos")).unwrap().plan();
        let commands: Vec<&String> = plan.steps.iter().flat_map(|step| &step.commands).collect();
        assert!(!commands.iter().any(|one| one.contains("delete") && one.contains("operatorgroups")));
        assert!(!commands.iter().any(|one| one.contains("delete") && one.contains("catalogsources")));
    }

    #[test]
    fn the_state_of_the_installation_blocks() {
        let blocked = |change: &dyn Fn(&mut Value)| {
            let plan = observe(&snapshot(change), "gizmo", None).unwrap().plan();
            assert!(plan.steps.is_empty() && !plan.movable);
            reasons(&plan).join(",")
        };
        assert_eq!(blocked(&|all| all["items"][1]["status"]["phase"] = "Failed".into()), "csv-not-succeeded");
        assert_eq!(
            blocked(&|all| all["items"][2]["status"]["namespaces"] = json!(["a", "b"])),
            "namespaces-several"
        );
        assert_eq!(blocked(&|all| all["items"][2]["kind"] = "Other".into()), "operator-groups-conflict");
        assert_eq!(blocked(&|all| all["items"][3]["spec"]["image"] = "".into()), "catalog-image-unknown");
        let plan = |phase: &str| {
            json!({"apiVersion": "operators.coreos.com/v1alpha1", "kind": "InstallPlan",
                "metadata": {"name": "install-a", "namespace": "gizmos"},
                "spec": {"clusterServiceVersionNames": ["gizmo.v1.2.0"]}, "status": {"phase": phase}})
        };
        assert_eq!(blocked(&|all| add(all, plan("Installing"))), "install-plan-running");
        let waiting = snapshot(|all| add(all, plan("RequiresApproval")));
        assert!(observe(&waiting, "gizmo", None).unwrap().plan().movable);
    }

    #[test]
    fn an_installation_is_found_or_not() {
        let error = |change: &dyn Fn(&mut Value), name: &str| {
            observe(&snapshot(change), name, None).unwrap_err().to_string()
        };
        assert!(error(&|_| {}, "other").contains("no Subscription names it"));
        assert!(
            error(&|all| all["items"][0]["status"] = json!({}), "gizmo").contains("installed nothing yet")
        );
        let twice = |all: &mut Value| {
            let mut other = all["items"][0].clone();
            other["metadata"]["namespace"] = "other".into();
            add(all, other);
        };
        assert!(error(&twice, "gizmo").contains("`gizmos`, `other`; choose one with --namespace"));
        let plan = observe(&snapshot(twice), "gizmo", Some("gizmos")).unwrap().plan();
        assert_eq!(reasons(&plan), ["installed-several-times"]);
    }
}

//! Problems of the namespace, its operator groups and of OLM itself.

use serde_json::Value;

use super::problem::{Diagnosis, Scope, object, shortened};
use crate::kinds;
use crate::snapshot::{Snapshot, condition, label, list, name_of, namespace_of, number, string, strings};

/// Reports namespaces that are being deleted.
pub(crate) fn namespaces(snapshot: &Snapshot, scope: &Scope, found: &mut Vec<Diagnosis>) {
    for namespace in snapshot.objects(kinds::NAMESPACE) {
        let name = name_of(namespace);
        if scope.namespace.as_deref().is_some_and(|wanted| wanted != name)
            || string(namespace, "/metadata/deletionTimestamp").is_empty()
        {
            continue;
        }
        let mut problem = Diagnosis::new(
            "namespace-terminating",
            object(kinds::NAMESPACE, namespace),
            format!("namespace `{name}` is being deleted"),
        );
        for kind in [
            "NamespaceContentRemaining",
            "NamespaceFinalizersRemaining",
            "NamespaceDeletionContentFailure",
            "NamespaceDeletionDiscoveryFailure",
        ] {
            if let Some(condition) = condition(namespace, kind, "True") {
                problem = problem.condition(condition);
            }
        }
        let blocked = problem.evidence.iter().any(|line| line.contains("Finalizers"));
        found.push(problem.help(if blocked {
            "remove what the finalizers wait for: the operator that handles them must run until its objects are gone, \
             or remove the finalizers with kubectl patch … --type=merge -p '{\"metadata\":{\"finalizers\":null}}'"
        } else {
            "wait until it is gone, or use another namespace"
        }));
    }
}

/// Reports namespaces with more than one operator group, and groups without their service account.
pub(crate) fn operator_groups(snapshot: &Snapshot, scope: &Scope, found: &mut Vec<Diagnosis>) {
    let groups = snapshot.objects(kinds::OPERATOR_GROUP);
    let mut reported: Vec<&str> = Vec::new();
    for group in groups.iter().filter(|group| scope.covers(group)) {
        let namespace = namespace_of(group);
        let account = string(group, "/spec/serviceAccountName");
        if let Some(condition) = list(group, "/status/conditions").iter().find(|condition| {
            condition["type"] == "OperatorGroupServiceAccountNotFound" && condition["status"] == "True"
        }) {
            found.push(
                Diagnosis::new(
                    "operator-group-service-account-missing",
                    object(kinds::OPERATOR_GROUP, group),
                    format!("the service account `{account}` that OLM installs with does not exist"),
                )
                .condition(condition)
                .help(format!("create it: kubectl create serviceaccount {account} -n {namespace}"))
                .patience(5),
            );
        }
        if reported.contains(&namespace) {
            continue;
        }
        let names: Vec<_> =
            groups.iter().filter(|other| namespace_of(other) == namespace).map(name_of).collect();
        if names.len() > 1 {
            reported.push(namespace);
            let quoted: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
            found.push(
                Diagnosis::new(
                    "operator-groups-conflict",
                    object(kinds::OPERATOR_GROUP, group),
                    format!(
                        "namespace `{namespace}` has {} OperatorGroups: {}; OLM installs nothing in it",
                        names.len(),
                        quoted.join(", ")
                    ),
                )
                .help(format!("delete all but one: kubectl delete operatorgroup NAME -n {namespace}")),
            );
        }
    }
    // Without a group, OLM does nothing; the CSV says so only once it exists.
    for subscription in
        snapshot.objects(kinds::SUBSCRIPTION).iter().filter(|one| scope.covers_subscription(one))
    {
        let namespace = namespace_of(subscription);
        if snapshot.unreadable.contains_key(kinds::OPERATOR_GROUP.kind)
            || groups.iter().any(|group| namespace_of(group) == namespace)
        {
            continue;
        }
        found.push(
            Diagnosis::new(
                "operator-group-missing",
                object(kinds::SUBSCRIPTION, subscription),
                format!("namespace `{namespace}` has no OperatorGroup; OLM installs nothing in it"),
            )
            .help(format!("create an OperatorGroup in namespace `{namespace}`"))
            .patience(3),
        );
    }
}

/// For how many seconds OLM may not run: its programs end when they lose the API server, and are started again after a back-off.
const OLM_RESTART: u64 = 120;

/// Reports that OLM itself does not run.
pub fn olm(snapshot: &Snapshot, found: &mut Vec<Diagnosis>) {
    let deployments = snapshot.objects(kinds::DEPLOYMENT).iter().filter(|deployment| {
        matches!(name_of(deployment), "olm-operator" | "catalog-operator")
            && (label(deployment, "app") == name_of(deployment)
                || string(deployment, "/spec/selector/matchLabels/app") == name_of(deployment))
    });
    for deployment in deployments {
        if number(deployment, "/status/availableReplicas") > 0 {
            continue;
        }
        let (name, namespace) = (name_of(deployment), namespace_of(deployment));
        let stopped = deployment.pointer("/spec/replicas").and_then(Value::as_i64) == Some(0);
        let why = if stopped { ": it is scaled to 0" } else { "" };
        let mut problem = Diagnosis::new(
            "olm-not-running",
            object(kinds::DEPLOYMENT, deployment),
            format!("OLM's deployment `{name}` has no available replica{why}"),
        );
        if let Some(condition) = condition(deployment, "Available", "False") {
            problem = problem.condition(condition);
        }
        found.push(
            problem
                .help(if stopped {
                    format!("start it: kubectl scale deployment {name} -n {namespace} --replicas=1")
                } else {
                    format!("see why: kubectl describe pods -n {namespace} -l app={name}")
                })
                .patience(if stopped { 2 } else { OLM_RESTART }),
        );
    }
}

/// Returns the target namespaces of a group, in words.
pub(crate) fn targets(group: &Value) -> String {
    let names: Vec<_> = strings(group, "/spec/targetNamespaces").map(|name| format!("`{name}`")).collect();
    if names.is_empty() { "all namespaces".to_owned() } else { shortened(&names.join(", ")) }
}

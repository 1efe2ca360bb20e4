//! How far an installation is.

use std::fmt;
use std::time::Duration;

use serde_json::Value;

use super::kinds;
use super::manifests::CATALOG_LABEL;
use super::snapshot::{Snapshot, label, list, name_of, number, string, strings};

/// How long a container without a readiness probe has to run. Without the probe, Kubernetes calls it ready as soon as it starts,
/// and OLM the CSV Succeeded, even if it exits at once; the kubelet notices that within a second or two, later on a busy node.
pub(crate) const STABLE: Duration = Duration::from_secs(5);

/// What is installed, by the names of its objects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// The namespace of all objects.
    pub namespace: String,
    /// The `CatalogSource`.
    pub catalog: String,
    /// The `Subscription`.
    pub subscription: String,
    /// The CSV that is to be installed.
    pub csv: String,
}

/// A step of an installation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// The catalog starts.
    Catalog,
    /// OLM resolves the subscription.
    Resolution,
    /// OLM unpacks the bundle's image.
    Unpacking,
    /// The plan waits for approval.
    Approval,
    /// OLM creates what the plan lists.
    Plan,
    /// The CSV waits for its requirements.
    Requirements,
    /// The operator's deployments start.
    Deployments,
    /// The CSV is Succeeded, and containers without a readiness probe have to stay up for `STABLE`.
    Stability,
    /// OLM v1 installs the bundle.
    Extension,
    /// The CSV is Succeeded.
    Done,
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Catalog => "catalog",
            Self::Resolution => "resolution",
            Self::Unpacking => "unpacking",
            Self::Approval => "approval",
            Self::Plan => "install plan",
            Self::Requirements => "requirements",
            Self::Deployments => "deployments",
            Self::Stability => "stability",
            Self::Extension => "cluster extension",
            Self::Done => "done",
        })
    }
}

/// A step, with what it waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Progress {
    /// The step.
    pub stage: Stage,
    /// What is observed.
    pub text: String,
}

/// Returns how far an installation is.
#[must_use]
pub fn progress(snapshot: &Snapshot, target: &Target) -> Progress {
    let is = |stage, text: String| Progress { stage, text };
    if let Some(csv) = snapshot.get(kinds::CSV, &target.namespace, &target.csv) {
        return csv_progress(snapshot, target, csv);
    }
    let subscription = snapshot.get(kinds::SUBSCRIPTION, &target.namespace, &target.subscription);
    if let Some(plan) = plan_of(snapshot, target) {
        let name = name_of(plan);
        return match string(plan, "/status/phase") {
            "RequiresApproval" => is(Stage::Approval, format!("InstallPlan `{name}` requires approval")),
            "" | "Planning" => is(Stage::Plan, format!("InstallPlan `{name}` is being planned")),
            phase => {
                let steps = list(plan, "/status/plan");
                let done = steps
                    .iter()
                    .filter(|step| matches!(step["status"].as_str(), Some("Created" | "Present")))
                    .count();
                is(Stage::Plan, format!("InstallPlan `{name}` is {phase}: {done} of {} objects", steps.len()))
            }
        };
    }
    let Some(subscription) = subscription else {
        return is(Stage::Catalog, catalog_text(snapshot, target));
    };
    if let Some(text) = unpack_text(snapshot, target) {
        return is(Stage::Unpacking, text);
    }
    if super::snapshot::condition(subscription, "BundleUnpacking", "True").is_some() {
        return is(Stage::Unpacking, "OLM reads the unpacked bundle".to_owned());
    }
    if is_catalog_ready(snapshot, target) {
        is(Stage::Resolution, format!("OLM resolves Subscription `{}`", target.subscription))
    } else {
        is(Stage::Catalog, catalog_text(snapshot, target))
    }
}

/// Returns the plan that installs the CSV: the latest one that lists it.
#[must_use]
pub(crate) fn plan_of<'s>(snapshot: &'s Snapshot, target: &Target) -> Option<&'s Value> {
    snapshot
        .within(kinds::INSTALL_PLAN, &target.namespace)
        .filter(|plan| strings(plan, "/spec/clusterServiceVersionNames").any(|name| name == target.csv))
        .max_by_key(|plan| {
            (string(plan, "/metadata/creationTimestamp").to_owned(), number(plan, "/spec/generation"))
        })
}

/// Returns whether OLM is connected to the catalog.
#[must_use]
pub(crate) fn is_catalog_ready(snapshot: &Snapshot, target: &Target) -> bool {
    snapshot
        .get(kinds::CATALOG_SOURCE, &target.namespace, &target.catalog)
        .is_some_and(|catalog| string(catalog, "/status/connectionState/lastObservedState") == "READY")
}

fn catalog_text(snapshot: &Snapshot, target: &Target) -> String {
    let pod = snapshot
        .within(kinds::POD, &target.namespace)
        .filter(|pod| label(pod, CATALOG_LABEL) == target.catalog)
        .max_by_key(|pod| string(pod, "/metadata/creationTimestamp").to_owned());
    match (pod, snapshot.get(kinds::CATALOG_SOURCE, &target.namespace, &target.catalog)) {
        (Some(pod), _) if !is_ready(pod) => format!("the catalog's pod is {}", pod_text(pod)),
        (_, Some(catalog)) => match string(catalog, "/status/connectionState/lastObservedState") {
            "" => format!("OLM has not connected to CatalogSource `{}` yet", target.catalog),
            state => format!("the connection to CatalogSource `{}` is {state}", target.catalog),
        },
        (Some(_), None) => "the catalog's pod is ready".to_owned(),
        (None, None) => "the catalog's pod does not exist yet".to_owned(),
    }
}

fn unpack_text(snapshot: &Snapshot, target: &Target) -> Option<String> {
    snapshot
        .within(kinds::POD, &target.namespace)
        .filter(|pod| !label(pod, super::diagnose::UNPACK_LABEL).is_empty())
        .filter(|pod| matches!(string(pod, "/status/phase"), "Pending" | "Running"))
        .map(|pod| format!("the pod that unpacks the bundle is {}", pod_text(pod)))
        .next()
}

fn csv_progress(snapshot: &Snapshot, target: &Target, csv: &Value) -> Progress {
    let phase = string(csv, "/status/phase");
    let stage = match phase {
        "Succeeded" => return stability(snapshot, target, csv),
        "" | "Pending" => Stage::Requirements,
        _ => Stage::Deployments,
    };
    let waiting: Vec<String> = list(csv, "/spec/install/spec/deployments")
        .iter()
        .map(|deployment| string(deployment, "/name"))
        .filter_map(|name| deployment_text(snapshot, target, name))
        .collect();
    let phase = if phase.is_empty() { "new" } else { phase };
    let text = if stage == Stage::Deployments && !waiting.is_empty() {
        format!("CSV `{}` is {phase}: {}", target.csv, waiting.join("; "))
    } else {
        let message = one_line(string(csv, "/status/message"));
        let separator = if message.is_empty() { "" } else { ": " };
        format!("CSV `{}` is {phase}{separator}{message}", target.csv)
    };
    Progress { stage, text }
}

/// Returns how far an operator is whose CSV is Succeeded. The text changes with every restart of a container.
fn stability(snapshot: &Snapshot, target: &Target, csv: &Value) -> Progress {
    let is = |stage, rest: &str| Progress { stage, text: format!("CSV `{}` is Succeeded{rest}", target.csv) };
    let (mut unprobed, mut restarts) = (false, 0);
    for deployment in list(csv, "/spec/install/spec/deployments") {
        let name = string(deployment, "/name");
        let pods = snapshot
            .within(kinds::POD, &target.namespace)
            .filter(|pod| super::diagnose::deployment_of(pod) == Some(name))
            .filter(|pod| string(pod, "/metadata/deletionTimestamp").is_empty())
            // Pods that are over, such as evicted ones, are kept; others replace them.
            .filter(|pod| !matches!(string(pod, "/status/phase"), "Failed" | "Succeeded"));
        for pod in pods {
            unprobed |= list(pod, "/spec/containers").iter().any(|one| one["readinessProbe"].is_null());
            for status in list(pod, "/status/containerStatuses") {
                restarts += number(status, "/restartCount");
                if !status["state"]["terminated"].is_null() || !status["state"]["waiting"].is_null() {
                    let container = string(status, "/name");
                    let rest = format!(", but container `{container}` of deployment `{name}` does not run");
                    return is(Stage::Deployments, &rest);
                }
            }
        }
    }
    if !unprobed {
        return is(Stage::Done, "");
    }
    let seconds = STABLE.as_secs();
    let restarts = if restarts == 0 { String::new() } else { format!(" (restart count {restarts})") };
    let rest = format!("; a container without a readiness probe has to stay up for {seconds} s{restarts}");
    is(Stage::Stability, &rest)
}

/// Returns what a deployment waits for; `None` if it is available.
fn deployment_text(snapshot: &Snapshot, target: &Target, name: &str) -> Option<String> {
    let deployment = snapshot.get(kinds::DEPLOYMENT, &target.namespace, name)?;
    let wanted = deployment.pointer("/spec/replicas").and_then(Value::as_i64).unwrap_or(1);
    let available = number(deployment, "/status/availableReplicas");
    if available >= wanted {
        return None;
    }
    let pod = snapshot
        .within(kinds::POD, &target.namespace)
        .filter(|pod| super::diagnose::deployment_of(pod) == Some(name) && !is_ready(pod))
        .max_by_key(|pod| string(pod, "/metadata/creationTimestamp").to_owned());
    let pod = pod.map_or_else(String::new, |pod| format!(", a pod is {}", pod_text(pod)));
    Some(format!("deployment `{name}` has {available} of {wanted} replicas available{pod}"))
}

/// Returns whether a pod is ready.
#[must_use]
pub fn is_ready(pod: &Value) -> bool {
    super::snapshot::condition(pod, "Ready", "True").is_some()
}

/// Returns the state of a pod in a few words, such as `Pending (ContainerCreating)`.
fn pod_text(pod: &Value) -> String {
    let phase = string(pod, "/status/phase");
    let reason = ["/status/initContainerStatuses", "/status/containerStatuses"]
        .iter()
        .flat_map(|pointer| list(pod, pointer))
        .map(|status| string(status, "/state/waiting/reason"))
        .find(|reason| !reason.is_empty() && *reason != "PodInitializing");
    match reason {
        Some(reason) => format!("{phase} ({reason})"),
        None if phase == "Running" => "Running, but not ready".to_owned(),
        None => phase.to_owned(),
    }
}

/// Returns the first line of a message.
#[must_use]
pub(crate) fn one_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn target() -> Target {
        Target {
            namespace: "ns".into(),
            catalog: "gizmo-catalog".into(),
            subscription: "gizmo".into(),
            csv: "gizmo.v1".into(),
        }
    }

    fn object(kind: kinds::Kind, name: &str, rest: &Value) -> Value {
        let mut object = json!({
            "apiVersion": kind.api_version, "kind": kind.kind, "metadata": {"name": name, "namespace": "ns"},
        });
        object.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
        object
    }

    #[test]
    fn the_stages_of_an_installation_in_order() {
        let mut snapshot = Snapshot::default();
        let mut texts = Vec::new();
        let mut look = |snapshot: &Snapshot| {
            let now = progress(snapshot, &target());
            texts.push(format!("{}: {}", now.stage, now.text));
        };
        look(&snapshot);
        snapshot.add(json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": "gizmo-catalog-1", "namespace": "ns", "labels": {CATALOG_LABEL: "gizmo-catalog"}},
            "status": {
                "phase": "Pending",
                "containerStatuses": [{"state": {"waiting": {"reason": "ContainerCreating"}}}],
            },
        }));
        look(&snapshot);
        let mut snapshot = Snapshot::default();
        snapshot.add(object(
            kinds::CATALOG_SOURCE,
            "gizmo-catalog",
            &json!({"status": {"connectionState": {"lastObservedState": "READY"}}}),
        ));
        snapshot.add(object(kinds::SUBSCRIPTION, "gizmo", &json!({"spec": {"name": "gizmo"}})));
        look(&snapshot);
        for (phase, plan) in [
            ("Planning", json!([])),
            ("RequiresApproval", json!([])),
            ("Installing", json!([{"status": "Created"}, {"status": "Unknown"}])),
        ] {
            let mut with_plan = snapshot.clone();
            with_plan.add(object(
                kinds::INSTALL_PLAN,
                "install-1",
                &json!({
                    "spec": {"clusterServiceVersionNames": ["gizmo.v1"]}, "status": {"phase": phase, "plan": plan},
                }),
            ));
            look(&with_plan);
        }
        for (phase, message) in
            [("Pending", "requirements not met"), ("Installing", "waiting"), ("Succeeded", "done")]
        {
            let mut with_csv = snapshot.clone();
            with_csv.add(object(
                kinds::CSV,
                "gizmo.v1",
                &json!({
                    "spec": {"install": {"spec": {"deployments": [{"name": "operator"}]}}},
                    "status": {"phase": phase, "message": message},
                }),
            ));
            with_csv.add(object(
                kinds::DEPLOYMENT,
                "operator",
                &json!({"spec": {"replicas": 1}, "status": {}}),
            ));
            look(&with_csv);
        }
        insta::assert_snapshot!(texts.join("\n"));
    }

    #[test]
    fn containers_without_a_readiness_probe_have_to_stay_up() {
        let look = |phase: &str, container: Value, status: Value| {
            let mut snapshot = Snapshot::default();
            snapshot.add(object(
                kinds::CSV,
                "gizmo.v1",
                &json!({
                    "spec": {"install": {"spec": {"deployments": [{"name": "operator"}]}}},
                    "status": {"phase": "Succeeded"},
                }),
            ));
            snapshot.add(json!({
                "apiVersion": "v1", "kind": "Pod",
                "metadata": {
                    "name": "operator-1-a", "namespace": "ns", "labels": {"pod-template-hash": "1"},
                    "ownerReferences": [{"kind": "ReplicaSet", "name": "operator-1"}],
                },
                "spec": {"containers": [container]}, "status": {"phase": phase, "containerStatuses": [status]},
            }));
            progress(&snapshot, &target())
        };
        let probed = json!({"name": "manager", "readinessProbe": {"httpGet": {"port": 8081}}});
        let unprobed = json!({"name": "manager"});
        let running = json!({"name": "manager", "restartCount": 0, "state": {"running": {}}});
        let restarted = json!({"name": "manager", "restartCount": 2, "state": {"running": {}}});
        let ended = json!({"name": "manager", "restartCount": 0, "state": {"terminated": {"exitCode": 3}}});
        assert_eq!(look("Running", probed.clone(), running.clone()).stage, Stage::Done);
        let (first, later) =
            (look("Running", unprobed.clone(), running), look("Running", unprobed.clone(), restarted));
        assert_eq!((first.stage, later.stage), (Stage::Stability, Stage::Stability));
        assert_ne!(first.text, later.text);
        let evicted = look("Failed", unprobed.clone(), ended.clone());
        assert_eq!(evicted.stage, Stage::Done, "a pod that is over is kept");
        for container in [probed, unprobed] {
            let found = look("Running", container, ended.clone());
            assert_eq!(found.stage, Stage::Deployments);
            assert!(found.text.contains("container `manager` of deployment `operator` does not run"));
        }
    }
}

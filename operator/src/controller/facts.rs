//! What the controller uses of a live object besides the fields that it applies.

use super::live::{Live, Parts, Skipped};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{Pod, Service};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use serde::Deserialize;
use serde_json::value::RawValue;

impl Parts for Deployment {
    type Spec = Box<RawValue>;
    type Status = DeploymentStatus;
}

impl Parts for Service {
    type Spec = Box<RawValue>;
    type Status = Skipped;
}

impl Parts for PodDisruptionBudget {
    type Spec = Box<RawValue>;
    type Status = Skipped;
}

impl Parts for Pod {
    type Spec = Skipped;
    type Status = PodStatus;
}

/// What is parsed of a Deployment's status.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct DeploymentStatus {
    observed_generation: Option<i64>,
    replicas: i32,
    updated_replicas: i32,
    ready_replicas: i32,
    available_replicas: i32,
    conditions: Vec<StatusCondition>,
}

/// What is parsed of a pod's status.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct PodStatus {
    phase: String,
    conditions: Vec<StatusCondition>,
    container_statuses: Vec<ContainerStatus>,
}

/// A condition of a Deployment or a pod.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
struct StatusCondition {
    #[serde(rename = "type")]
    kind: String,
    status: String,
    reason: String,
    message: String,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct ContainerStatus {
    state: ContainerState,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct ContainerState {
    waiting: Option<Waiting>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct Waiting {
    reason: String,
    message: String,
}

/// The progress of a Deployment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Rollout {
    /// The Deployment controller has observed the newest spec.
    pub(crate) current: bool,
    /// Replicas that its spec asks for.
    pub(crate) wanted: i32,
    /// Replicas that exist.
    pub(crate) replicas: i32,
    /// Replicas created from the newest template.
    pub(crate) updated: i32,
    /// Replicas that are ready.
    pub(crate) ready: i32,
    /// Replicas that have been ready for long enough.
    pub(crate) available: i32,
    /// Why replicas cannot be created, or why the rollout has stalled: reason and message.
    pub(crate) trouble: Option<(String, String)>,
}

/// Returns the progress of a Deployment.
pub(crate) fn rollout(live: &Live<Deployment>) -> Rollout {
    #[derive(Default, Deserialize)]
    struct Scale {
        replicas: Option<i32>,
    }
    // A value that is not a number is drift, and reverted as such.
    let scale: Scale = serde_json::from_str(live.spec.get()).unwrap_or_default();
    let status = &live.status;
    Rollout {
        current: status.observed_generation >= live.metadata.generation,
        wanted: scale.replicas.unwrap_or_default(),
        replicas: status.replicas,
        updated: status.updated_replicas,
        ready: status.ready_replicas,
        available: status.available_replicas,
        trouble: deployment_trouble(&status.conditions),
    }
}

fn deployment_trouble(conditions: &[StatusCondition]) -> Option<(String, String)> {
    let find = |kind: &str, status: &str| {
        conditions.iter().find(|condition| condition.kind == kind && condition.status == status)
    };
    let condition = find("ReplicaFailure", "True").or_else(|| find("Progressing", "False"))?;
    trouble(&condition.reason, &condition.message)
}

/// What is used of a pod.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct PodFacts {
    /// It is neither being deleted nor finished.
    pub(crate) lives: bool,
    /// Why it is not running: reason and message.
    pub(crate) trouble: Option<(String, String)>,
}

/// Returns the Memcached that a pod belongs to, by its label, and what is used of the pod.
pub(crate) fn pod(live: &Live<Pod>) -> (String, PodFacts) {
    let labels = live.metadata.labels.as_ref();
    let finished = matches!(live.status.phase.as_str(), "Failed" | "Succeeded");
    let instance = labels.and_then(|labels| labels.get(super::build::INSTANCE)).cloned().unwrap_or_default();
    let lives = live.metadata.deletion_timestamp.is_none() && !finished;
    (instance, PodFacts { lives, trouble: pod_trouble(&live.status) })
}

/// Waiting reasons that are part of every container's start.
const STARTING: [&str; 2] = ["ContainerCreating", "PodInitializing"];

fn pod_trouble(status: &PodStatus) -> Option<(String, String)> {
    let unscheduled = status
        .conditions
        .iter()
        .find(|condition| condition.kind == "PodScheduled" && condition.status == "False");
    if let Some(condition) = unscheduled {
        return trouble(&condition.reason, &condition.message);
    }
    let waiting =
        status
            .container_statuses
            .iter()
            .filter_map(|container| container.state.waiting.as_ref())
            .find(|waiting| !waiting.reason.is_empty() && !STARTING.contains(&waiting.reason.as_str()))?;
    // The kubelet alternates between these two for the same cause.
    let reason = if waiting.reason == "ErrImagePull" { "ImagePullBackOff" } else { &waiting.reason };
    trouble(reason, &waiting.message)
}

fn trouble(reason: &str, message: &str) -> Option<(String, String)> {
    (!reason.is_empty()).then(|| (reason.to_owned(), message.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_exhausted_quota_is_reported() {
        let live: Live<Deployment> = serde_json::from_value(json!({
            "metadata": {"generation": 2},
            "status": {"observedGeneration": 1, "replicas": 1, "conditions": [
                {"type": "Progressing", "status": "True", "reason": "NewReplicaSetCreated"},
                {"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate", "message": "exceeded quota"},
            ]},
        }))
        .unwrap();
        let rollout = rollout(&live);
        assert!(!rollout.current);
        assert_eq!(rollout.trouble, Some(("FailedCreate".into(), "exceeded quota".into())));
    }

    #[test]
    fn an_unknown_image_and_an_impossible_node_selector_are_reported() {
        let trouble = |status| pod_trouble(&serde_json::from_value(status).unwrap());
        let waiting = |reason: &str| json!({"containerStatuses": [{"state": {"waiting": {"reason": reason, "message": "m"}}}]});
        assert_eq!(trouble(waiting("ErrImagePull")), trouble(waiting("ImagePullBackOff")));
        assert_eq!(trouble(waiting("ContainerCreating")), None);
        let unscheduled = json!({"conditions": [
            {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/1 nodes"}]});
        assert_eq!(trouble(unscheduled), Some(("Unschedulable".into(), "0/1 nodes".into())));
    }
}

//! Ready-made views of what most operators look at: the rollout of a Deployment or `StatefulSet`, the state of a pod, the data of
//! a Secret, and the conditions of any object.

use k8s_openapi::ByteString;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;

/// The data of a Secret.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct SecretData {
    /// The values by their keys, decoded.
    pub data: BTreeMap<String, ByteString>,
    /// The type, such as `kubernetes.io/tls`.
    #[serde(rename = "type")]
    pub kind: String,
}

impl SecretData {
    /// Returns a value as a string; `None` if there is none, or it is not UTF-8.
    #[must_use]
    pub fn string(&self, key: &str) -> Option<&str> {
        std::str::from_utf8(&self.data.get(key)?.0).ok()
    }
}

/// The data of a `ConfigMap`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ConfigMapData {
    /// The values by their keys.
    pub data: BTreeMap<String, String>,
    /// The values that are not text, decoded.
    pub binary_data: BTreeMap<String, ByteString>,
}

/// The labels of an object, such as a Namespace or a Node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(from = "LabelledObject")]
pub struct Labels(pub BTreeMap<String, String>);

#[derive(Default, Deserialize)]
#[serde(default)]
struct LabelledObject {
    metadata: LabelledMetadata,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct LabelledMetadata {
    labels: BTreeMap<String, String>,
}

impl From<LabelledObject> for Labels {
    fn from(object: LabelledObject) -> Self {
        Self(object.metadata.labels)
    }
}

/// The conditions of an object of any kind, without their messages: whether it is available, for example.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(from = "ConditionedObject")]
pub struct Conditions {
    /// The statuses (`True`, `False` or `Unknown`) by the conditions' types.
    pub statuses: BTreeMap<String, String>,
}

impl Conditions {
    /// Whether a condition is true.
    #[must_use]
    pub fn is_true(&self, kind: &str) -> bool {
        self.statuses.get(kind).is_some_and(|status| status == "True")
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ConditionedObject {
    status: ConditionedStatus,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ConditionedStatus {
    conditions: Vec<StatusCondition>,
}

impl From<ConditionedObject> for Conditions {
    fn from(object: ConditionedObject) -> Self {
        let conditions = object.status.conditions.into_iter();
        Self { statuses: conditions.map(|condition| (condition.kind, condition.status)).collect() }
    }
}

/// Why a rollout or a pod is not making progress.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailureReason {
    /// The reason, in one word.
    pub reason: String,
    /// The details.
    pub message: String,
}

impl FailureReason {
    fn new(reason: &str, message: &str) -> Option<Self> {
        (!reason.is_empty()).then(|| Self { reason: reason.to_owned(), message: message.to_owned() })
    }
}

/// The progress of a Deployment or a `StatefulSet`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(from = "Workload")]
pub struct Rollout {
    /// The newest spec has been observed by its controller.
    pub current: bool,
    /// Replicas that its spec asks for.
    pub wanted: i32,
    /// Replicas that exist.
    pub replicas: i32,
    /// Replicas created from the newest template.
    pub updated: i32,
    /// Replicas that are ready.
    pub ready: i32,
    /// Replicas that have been ready for long enough.
    pub available: i32,
    /// Why replicas cannot be created, or why the rollout has stalled.
    pub failure: Option<FailureReason>,
}

impl Rollout {
    /// Whether exactly this number of replicas runs the newest template and is available.
    #[must_use]
    pub fn is_complete(&self, replicas: i32) -> bool {
        self.current
            && [self.wanted, self.replicas, self.updated, self.available]
                .iter()
                .all(|number| *number == replicas)
    }
}

/// What is parsed of a Deployment or a `StatefulSet`.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Workload {
    metadata: Generation,
    spec: Scale,
    status: WorkloadStatus,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Generation {
    generation: Option<i64>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Scale {
    replicas: Value,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct WorkloadStatus {
    observed_generation: Option<i64>,
    replicas: i32,
    updated_replicas: i32,
    ready_replicas: i32,
    available_replicas: i32,
    conditions: Vec<StatusCondition>,
}

impl From<Workload> for Rollout {
    fn from(Workload { metadata, spec, status }: Workload) -> Self {
        Self {
            current: status.observed_generation >= metadata.generation,
            // A value that is not a number is drift, and reverted as such.
            wanted: spec.replicas.as_i64().and_then(|number| number.try_into().ok()).unwrap_or_default(),
            replicas: status.replicas,
            updated: status.updated_replicas,
            ready: status.ready_replicas,
            available: status.available_replicas,
            failure: workload_failure(&status.conditions),
        }
    }
}

fn workload_failure(conditions: &[StatusCondition]) -> Option<FailureReason> {
    let find = |kind: &str, status: &str| {
        conditions.iter().find(|condition| condition.kind == kind && condition.status == status)
    };
    let condition = find("ReplicaFailure", "True").or_else(|| find("Progressing", "False"))?;
    FailureReason::new(&condition.reason, &condition.message)
}

/// What is used of a pod.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(from = "Pod")]
pub struct PodState {
    /// It is neither being deleted nor finished.
    pub lives: bool,
    /// Why it is not running.
    pub failure: Option<FailureReason>,
}

/// What is parsed of a pod.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Pod {
    metadata: Deletion,
    status: PodStatus,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Deletion {
    deletion_timestamp: Option<Time>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct PodStatus {
    phase: String,
    conditions: Vec<StatusCondition>,
    container_statuses: Vec<ContainerStatus>,
}

/// A condition of a workload or a pod.
#[derive(Default, Deserialize)]
#[serde(default)]
struct StatusCondition {
    #[serde(rename = "type")]
    kind: String,
    status: String,
    reason: String,
    message: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ContainerStatus {
    state: ContainerState,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ContainerState {
    waiting: Option<Waiting>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Waiting {
    reason: String,
    message: String,
}

impl From<Pod> for PodState {
    fn from(pod: Pod) -> Self {
        let finished = matches!(pod.status.phase.as_str(), "Failed" | "Succeeded");
        Self {
            lives: pod.metadata.deletion_timestamp.is_none() && !finished,
            failure: pod_failure(&pod.status),
        }
    }
}

/// Waiting reasons that are part of every container's start.
const STARTING: [&str; 2] = ["ContainerCreating", "PodInitializing"];

fn pod_failure(status: &PodStatus) -> Option<FailureReason> {
    let unscheduled = status
        .conditions
        .iter()
        .find(|condition| condition.kind == "PodScheduled" && condition.status == "False");
    if let Some(condition) = unscheduled {
        return FailureReason::new(&condition.reason, &condition.message);
    }
    let waiting =
        status
            .container_statuses
            .iter()
            .filter_map(|container| container.state.waiting.as_ref())
            .find(|waiting| !waiting.reason.is_empty() && !STARTING.contains(&waiting.reason.as_str()))?;
    // The kubelet alternates between these two for the same cause.
    let reason = if waiting.reason == "ErrImagePull" { "ImagePullBackOff" } else { &waiting.reason };
    FailureReason::new(reason, &waiting.message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn exhausted_quota_is_reported() {
        let rollout: Rollout = serde_json::from_value(json!({
            "metadata": {"generation": 2},
            "status": {"observedGeneration": 1, "replicas": 1, "conditions": [
                {"type": "Progressing", "status": "True", "reason": "NewReplicaSetCreated"},
                {"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate", "message": "exceeded quota"},
            ]},
        }))
        .unwrap();
        assert!(!rollout.current && !rollout.is_complete(1));
        assert_eq!(rollout.failure, FailureReason::new("FailedCreate", "exceeded quota"));
    }

    #[test]
    fn unknown_image_and_an_impossible_node_selector_are_reported() {
        let failure = |status| pod_failure(&serde_json::from_value(status).unwrap());
        let waiting = |reason: &str| json!({"containerStatuses": [{"state": {"waiting": {"reason": reason, "message": "m"}}}]});
        assert_eq!(failure(waiting("ErrImagePull")), failure(waiting("ImagePullBackOff")));
        assert_eq!(failure(waiting("ContainerCreating")), None);
        let unscheduled = json!({"conditions": [
            {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/1 nodes"}]});
        assert_eq!(failure(unscheduled), FailureReason::new("Unschedulable", "0/1 nodes"));
    }
}

//! What the controller wants to know of a live object besides the fields it applies.

use super::live::Live;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Pod;
use serde_json::Value;

/// How far a Deployment is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Rollout {
    /// The Deployment controller has seen the newest spec.
    pub(crate) current: bool,
    /// Replicas that its spec asks for.
    pub(crate) wanted: i32,
    /// Replicas that exist.
    pub(crate) replicas: i32,
    /// Replicas made from the newest template.
    pub(crate) updated: i32,
    /// Replicas that have been ready for long enough.
    pub(crate) available: i32,
    /// Why replicas cannot be made, or why the roll-out has stalled: reason and message.
    pub(crate) trouble: Option<(String, String)>,
}

/// Reads a Deployment's status.
pub(crate) fn rollout(live: &Live<Deployment>) -> Rollout {
    let count = |field: &str| {
        live.status[field].as_i64().and_then(|count| i32::try_from(count).ok()).unwrap_or_default()
    };
    Rollout {
        current: live.status["observedGeneration"].as_i64() >= live.metadata.generation,
        wanted: live.spec["replicas"]
            .as_i64()
            .and_then(|count| i32::try_from(count).ok())
            .unwrap_or_default(),
        replicas: count("replicas"),
        updated: count("updatedReplicas"),
        available: count("availableReplicas"),
        trouble: deployment_trouble(&live.status["conditions"]),
    }
}

fn deployment_trouble(conditions: &Value) -> Option<(String, String)> {
    let conditions = conditions.as_array()?;
    let told = |kind: &str, status: &str| {
        conditions.iter().find(|condition| condition["type"] == kind && condition["status"] == status)
    };
    let condition = told("ReplicaFailure", "True").or_else(|| told("Progressing", "False"))?;
    Some((text(&condition["reason"])?, text(&condition["message"]).unwrap_or_default()))
}

/// What matters of a pod.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct PodFacts {
    /// It is part of the cluster: not being deleted and not finished.
    pub(crate) lives: bool,
    /// Why it does not run: reason and message.
    pub(crate) trouble: Option<(String, String)>,
}

/// Reads the Memcached that a pod belongs to, by its label, and the pod's status.
pub(crate) fn pod(live: &Live<Pod>) -> (String, PodFacts) {
    let labels = live.metadata.labels.as_ref();
    let finished = matches!(live.status["phase"].as_str(), Some("Failed" | "Succeeded"));
    let instance = labels.and_then(|labels| labels.get(super::build::INSTANCE)).cloned().unwrap_or_default();
    let lives = live.metadata.deletion_timestamp.is_none() && !finished;
    (instance, PodFacts { lives, trouble: pod_trouble(&live.status) })
}

/// Waiting reasons that are no trouble, only the way a container starts.
const STARTING: [&str; 2] = ["ContainerCreating", "PodInitializing"];

fn pod_trouble(status: &Value) -> Option<(String, String)> {
    let list = |field: &str| status[field].as_array().map(Vec::as_slice).unwrap_or_default();
    let unscheduled = list("conditions")
        .iter()
        .find(|condition| condition["type"] == "PodScheduled" && condition["status"] == "False");
    if let Some(condition) = unscheduled {
        return Some((text(&condition["reason"])?, text(&condition["message"]).unwrap_or_default()));
    }
    let waiting = list("containerStatuses")
        .iter()
        .map(|container| &container["state"]["waiting"])
        .find(|waiting| waiting["reason"].as_str().is_some_and(|reason| !STARTING.contains(&reason)))?;
    let reason = text(&waiting["reason"])?;
    // The kubelet goes to and fro between these two for one and the same cause.
    let reason = if reason == "ErrImagePull" { "ImagePullBackOff".to_owned() } else { reason };
    Some((reason, text(&waiting["message"]).unwrap_or_default()))
}

fn text(value: &Value) -> Option<String> {
    value.as_str().filter(|text| !text.is_empty()).map(ToOwned::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_quota_shows_as_trouble() {
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
    fn an_unknown_image_and_a_bad_node_selector_show_as_trouble() {
        let waiting = |reason: &str| json!({"containerStatuses": [{"state": {"waiting": {"reason": reason, "message": "m"}}}]});
        assert_eq!(pod_trouble(&waiting("ErrImagePull")), pod_trouble(&waiting("ImagePullBackOff")));
        assert_eq!(pod_trouble(&waiting("ContainerCreating")), None);
        let unscheduled = json!({"conditions": [
            {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/1 nodes"}]});
        assert_eq!(pod_trouble(&unscheduled), Some(("Unschedulable".into(), "0/1 nodes".into())));
    }
}

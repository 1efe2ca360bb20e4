//! Problems of pods that cannot be scheduled, and for how long they may pass by themselves.

use std::collections::BTreeMap;

use serde_json::Value;

use super::problem::{Diagnosis, object, shortened};
use crate::kinds;
use crate::snapshot::{Snapshot, condition, list, name_of, string};

/// The reasons of events that say that a node is being added for a pod: of the Cluster Autoscaler, and of Karpenter.
const SCALE_UP: [&str; 2] = ["TriggeredScaleUp", "Nominated"];
/// The reason of the event that says that the Cluster Autoscaler adds none.
const NO_SCALE_UP: &str = "NotTriggerScaleUp";
/// The reasons of all events of autoscalers that are looked at.
pub(crate) const AUTOSCALERS: [&str; 3] = [SCALE_UP[0], SCALE_UP[1], NO_SCALE_UP];

/// For how many seconds a node may be added: the Cluster Autoscaler's `--max-node-provision-time` is 15 minutes.
const NODE_PROVISIONING: u64 = 900;
/// For how many seconds a node may be not ready: it reports every 10 s, and a control plane that was away takes 50 s to look again.
const NODE_RECOVERY: u64 = 90;
/// For how many seconds other pods may need to leave a node, and an autoscaler to say what it does.
const ROOM: u64 = 30;
/// The same, where an autoscaler has said that it adds no node.
const ROOM_WITHOUT_NODE: u64 = 12;

/// The maximum number of lines about nodes that are quoted as evidence.
const MAX_QUOTED: usize = 3;

/// The taints of nodes that are about to be ready, by
/// <https://kubernetes.io/docs/reference/labels-annotations-taints/>.
const TEMPORARY: [&str; 4] = [
    "node.kubernetes.io/not-ready",
    "node.kubernetes.io/unreachable",
    "node.kubernetes.io/network-unavailable",
    "node.cloudprovider.kubernetes.io/uninitialized",
];

/// Returns whether the scheduler has found no node for a pod.
#[must_use]
pub(crate) fn is_unschedulable(pod: &Value) -> bool {
    condition(pod, "PodScheduled", "False").is_some_and(|one| one["reason"] == "Unschedulable")
}

/// Reports a pod that the scheduler finds no node for, or that a scheduling gate holds back; `name` describes the pod.
pub(crate) fn unscheduled(snapshot: &Snapshot, pod: &Value, name: &str) -> Option<Diagnosis> {
    let scheduled = condition(pod, "PodScheduled", "False")?;
    let text = shortened(string(scheduled, "/message"));
    let problem = Diagnosis::new(
        "pod-unschedulable",
        object(kinds::POD, pod),
        format!("{name} cannot be scheduled: {text}"),
    )
    .condition(scheduled);
    if string(scheduled, "/reason") == "SchedulingGated" {
        let help = "see which controller is to remove the pod's scheduling gates";
        return Some(problem.help(help).patience(ROOM).events(snapshot, kinds::POD, pod));
    }
    if !is_unschedulable(pod) {
        return None;
    }
    // Kubernetes 1.34 and later do not name the taints.
    let (unready, taints) = if text.contains("taint") {
        (unready_nodes(snapshot), taints(snapshot, pod))
    } else {
        Default::default()
    };
    let (help, patience) = match autoscaler(snapshot, pod) {
        Some(reason) if SCALE_UP.contains(&reason) => {
            ("wait for the node that the cluster is adding, or see its autoscaler's log", NODE_PROVISIONING)
        }
        _ if !unready.is_empty() => ("see why the node is not ready: kubectl describe node", NODE_RECOVERY),
        reason => (
            "add a node that fits, or change the requests, node selector, affinity or tolerations of the pod",
            if reason.is_some() { ROOM_WITHOUT_NODE } else { ROOM },
        ),
    };
    let problem = unready.into_iter().chain(taints).take(MAX_QUOTED).fold(problem, Diagnosis::evidence);
    Some(problem.help(help).patience(patience).events(snapshot, kinds::POD, pod))
}

/// Returns the reason of the latest event of an autoscaler about a pod.
fn autoscaler<'s>(snapshot: &'s Snapshot, pod: &Value) -> Option<&'s str> {
    snapshot
        .events(kinds::POD, pod)
        .filter(|event| AUTOSCALERS.contains(&string(event, "/reason")))
        .max_by_key(|event| string(event, "/lastTimestamp").to_owned())
        .map(|event| string(event, "/reason"))
}

/// Returns which nodes have a temporary taint, and why.
fn unready_nodes(snapshot: &Snapshot) -> Vec<String> {
    let temporary = |node: &'_ Value| {
        let mut taints = list(node, "/spec/taints").iter().map(|taint| string(taint, "/key").to_owned());
        taints.find(|key| TEMPORARY.contains(&key.as_str()))
    };
    let nodes = snapshot.objects(kinds::NODE).iter();
    nodes
        .filter_map(|node| {
            let taint = temporary(node)?;
            let conditions = list(node, "/status/conditions");
            let ready = conditions.iter().find(|one| one["type"] == "Ready" && one["status"] != "True");
            Some(match ready {
                Some(ready) => format!(
                    "node `{}` is not ready: {}: {}",
                    name_of(node),
                    string(ready, "/reason"),
                    shortened(string(ready, "/message"))
                ),
                None => format!("node `{}` has taint `{taint}`", name_of(node)),
            })
        })
        .collect()
}

/// Returns the taints of nodes that do not pass by themselves and that a pod does not tolerate.
fn taints(snapshot: &Snapshot, pod: &Value) -> Vec<String> {
    let mut nodes: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for node in snapshot.objects(kinds::NODE) {
        for taint in list(node, "/spec/taints") {
            let (key, effect) = (string(taint, "/key"), string(taint, "/effect"));
            if TEMPORARY.contains(&key) || effect == "PreferNoSchedule" || tolerates(pod, taint) {
                continue;
            }
            let value = string(taint, "/value");
            let equals = if value.is_empty() { "" } else { "=" };
            nodes.entry(format!("{key}{equals}{value}:{effect}")).or_default().push(name_of(node));
        }
    }
    let line = |(taint, nodes): (String, Vec<&str>)| match nodes.as_slice() {
        [node] => format!("node `{node}` has taint `{taint}`"),
        nodes => format!("{} nodes have taint `{taint}`", nodes.len()),
    };
    nodes.into_iter().map(line).collect()
}

/// Returns whether a pod tolerates a taint, by
/// <https://kubernetes.io/docs/concepts/scheduling-eviction/taint-and-toleration/>.
fn tolerates(pod: &Value, taint: &Value) -> bool {
    list(pod, "/spec/tolerations").iter().any(|toleration| {
        let same = |key: &str| string(toleration, key) == string(taint, key);
        let exists = string(toleration, "/operator") == "Exists";
        let is_key = same("/key") || (exists && string(toleration, "/key").is_empty());
        let is_effect = same("/effect") || string(toleration, "/effect").is_empty();
        is_key && is_effect && (exists || same("/value"))
    })
}

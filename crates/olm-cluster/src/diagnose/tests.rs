//! The reasons for observed objects. Those in `tests/fixtures/cluster` were recorded on a cluster with OLM 0.46.

use serde_json::{Value, json};
use test_support::{LINEAR, growth};

use super::*;
use crate::kinds;

fn snapshot(objects: Value) -> Snapshot {
    let mut snapshot = Snapshot::default();
    let Value::Array(objects) = objects else { panic!("expected a list") };
    for object in objects {
        assert_eq!(snapshot.add(object), 1);
    }
    snapshot
}

/// A subscription, its CSV and the deployment's pod, whose only container has a state.
fn with_pod(state: &Value) -> Snapshot {
    snapshot(json!([
        {
            "apiVersion": "operators.coreos.com/v1alpha1", "kind": "Subscription",
            "metadata": {"name": "gizmo", "namespace": "ns"}, "spec": {"name": "gizmo"},
            "status": {"currentCSV": "gizmo.v1"},
        },
        {
            "apiVersion": "operators.coreos.com/v1", "kind": "OperatorGroup",
            "metadata": {"name": "group", "namespace": "ns"}, "spec": {},
        },
        {
            "apiVersion": "operators.coreos.com/v1alpha1", "kind": "ClusterServiceVersion",
            "metadata": {"name": "gizmo.v1", "namespace": "ns"},
            "spec": {"install": {"spec": {"deployments": [{"name": "gizmo-operator"}]}}},
            "status": {"phase": "Installing"},
        },
        {
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {
                "name": "gizmo-operator-5f-abc", "namespace": "ns", "labels": {"pod-template-hash": "5f"},
                "ownerReferences": [{"kind": "ReplicaSet", "name": "gizmo-operator-5f"}],
            },
            "status": {"phase": "Running", "containerStatuses": [state]},
        },
    ]))
}

fn scope() -> Scope {
    Scope { namespace: Some("ns".into()), package: Some("gizmo".into()), csv: None }
}

fn first(snapshot: &Snapshot) -> Diagnosis {
    problems(snapshot, &scope()).into_iter().next().expect("a problem")
}

fn waiting(reason: &str, message: &str) -> Value {
    json!({
        "name": "manager", "image": "quay.io/example/gizmo:v1", "ready": false, "restartCount": 0,
        "state": {"waiting": {"reason": reason, "message": message}},
    })
}

#[test]
fn the_reason_why_an_image_cannot_be_pulled() {
    for (reason, message, what, help, patience) in [
        (
            "ImagePullBackOff",
            "Back-off pulling image",
            "cannot pull image `quay.io/example/gizmo:v1`",
            "push",
            15,
        ),
        ("ErrImagePull", "failed to resolve: not found", "it does not exist", "check the name", 0),
        ("ErrImagePull", "401 Unauthorized", "requires credentials", "add a pull secret", 0),
        (
            "ErrImagePull",
            "x509: certificate signed by unknown authority",
            "does not trust",
            "on the nodes",
            0,
        ),
        (
            "ErrImagePull",
            "no match for platform in manifest",
            "platform of the node",
            "platform of the nodes",
            0,
        ),
        ("ErrImagePull", "dial tcp: i/o timeout", "does not respond", "check the name", 15),
        ("InvalidImageName", "couldn't parse image name", "cannot pull", "fix the image name", 0),
    ] {
        let problem = first(&with_pod(&waiting(reason, message)));
        assert_eq!(problem.reason, "image-pull-failed");
        assert!(problem.message.contains(what), "{}", problem.message);
        assert!(problem.help.contains(help), "{}", problem.help);
        assert_eq!(problem.patience, patience, "{message}");
    }
}

/// The problem of a pod whose only event is a warning.
fn with_event(reason: &str, message: &str) -> Diagnosis {
    let mut snapshot = Snapshot::default();
    let pod = with_pod(&json!({}));
    for kind in [kinds::SUBSCRIPTION, kinds::CSV, kinds::OPERATOR_GROUP] {
        snapshot.extend(kind, pod.objects(kind).iter().cloned());
    }
    let mut pod = pod.objects(kinds::POD)[0].clone();
    pod["status"] = json!({"phase": "Pending"});
    snapshot.add(json!({
        "apiVersion": "v1", "kind": "Event", "metadata": {"name": "one", "namespace": "ns"},
        "involvedObject": {"kind": "Pod", "name": pod["metadata"]["name"], "namespace": "ns"},
        "type": "Warning", "reason": reason, "message": message,
    }));
    snapshot.extend(kinds::POD, [pod]);
    first(&snapshot)
}

#[test]
fn what_kubernetes_creates_in_each_namespace_may_come_later_than_a_pod() {
    let mount = r#"MountVolume.SetUp failed for volume "kube-api-access-nl2g2" : configmap "kube-root-ca.crt" not found"#;
    let problem = with_event("FailedMount", mount);
    assert_eq!((problem.reason, problem.patience), ("pod-not-started", 60));
    assert!(problem.help.contains("kubectl describe pod"), "{}", problem.help);
    let cache = r#"MountVolume.SetUp failed for volume "cert" : failed to sync secret cache: timed out waiting for the condition"#;
    assert_eq!(with_event("FailedMount", cache).patience, 60);
    let missing = r#"MountVolume.SetUp failed for volume "token" : secret "token" not found"#;
    let problem = with_event("FailedMount", missing);
    assert_eq!(problem.patience, 15);
    assert!(problem.help.contains("create what the volume refers to"), "{}", problem.help);
}

#[test]
fn the_reason_why_a_container_does_not_stay_up() {
    let mut status = waiting("CrashLoopBackOff", "back-off 10s restarting failed container");
    status["restartCount"] = json!(2);
    status["lastState"] =
        json!({"terminated": {"exitCode": 3, "reason": "Error", "message": "no such flag"}});
    let problem = first(&with_pod(&status));
    assert_eq!(problem.reason, "container-crashes");
    assert!(problem.message.ends_with("exits with status 3"), "{}", problem.message);
    assert!(problem.evidence[0].contains("no such flag"), "{:?}", problem.evidence);
    assert_eq!(problem.log.unwrap().container, "manager");
    status["lastState"] = json!({"terminated": {"exitCode": 137, "reason": "OOMKilled"}});
    let problem = first(&with_pod(&status));
    assert!(problem.help.contains("limits.memory"), "{}", problem.help);
    let problem = first(&with_pod(&waiting("CreateContainerConfigError", "secret \"token\" not found")));
    assert_eq!(problem.reason, "container-not-created");
    assert!(problem.help.contains("create the missing object"), "{}", problem.help);
}

/// A pod that no node fits, beside a node.
fn unschedulable(node: Value) -> Snapshot {
    let mut snapshot = Snapshot::default();
    let pod = with_pod(&json!({}));
    for kind in [kinds::SUBSCRIPTION, kinds::CSV, kinds::OPERATOR_GROUP] {
        snapshot.extend(kind, pod.objects(kind).iter().cloned());
    }
    let mut pod = pod.objects(kinds::POD)[0].clone();
    pod["status"] = json!({"phase": "Pending", "conditions": [{
        "type": "PodScheduled", "status": "False", "reason": "Unschedulable",
        "message": "0/1 nodes are available: 1 node(s) had untolerated taint(s).",
    }]});
    snapshot.extend(kinds::POD, [pod]);
    snapshot.extend(kinds::NODE, [node]);
    snapshot
}

#[test]
fn a_pod_that_no_node_fits_waits_for_nodes_that_come() {
    let node = |taint: Value| {
        json!({
            "apiVersion": "v1", "kind": "Node", "metadata": {"name": "one"}, "spec": {"taints": [taint]},
            "status": {"conditions": [{
                "type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown", "message": "Kubelet stopped posting node status.",
            }]},
        })
    };
    let dedicated = unschedulable(node(json!({"key": "dedicated", "value": "gpu", "effect": "NoSchedule"})));
    let problem = first(&dedicated);
    assert_eq!((problem.reason, problem.patience), ("pod-unschedulable", 30));
    assert_eq!(problem.evidence[1], "node `one` has taint `dedicated=gpu:NoSchedule`");
    assert!(problem.help.contains("tolerations"), "{}", problem.help);

    let away = unschedulable(node(json!({"key": "node.kubernetes.io/unreachable", "effect": "NoSchedule"})));
    let problem = first(&away);
    assert_eq!(problem.patience, 90);
    assert_eq!(
        problem.evidence[1],
        "node `one` is not ready: NodeStatusUnknown: Kubelet stopped posting node status."
    );
    assert!(problem.help.contains("kubectl describe node"), "{}", problem.help);

    // The latest word of the autoscaler counts.
    let event = |time: u32, reason: &str, message: &str| {
        json!({
            "involvedObject": {"kind": "Pod", "name": "gizmo-operator-5f-abc", "namespace": "ns"},
            "lastTimestamp": format!("2026-01-01T00:00:0{time}Z"), "reason": reason, "message": message,
        })
    };
    let mut scaled = dedicated;
    scaled.extend(kinds::EVENT, [event(1, "NotTriggerScaleUp", "no group fits")]);
    assert_eq!(first(&scaled).patience, 12);
    scaled.extend(kinds::EVENT, [event(2, "TriggeredScaleUp", "group 1->2 (max: 3)")]);
    let problem = first(&scaled);
    assert_eq!(problem.patience, 900);
    assert!(problem.help.contains("autoscaler"), "{}", problem.help);
    assert_eq!(problem.evidence[3], "event TriggeredScaleUp: group 1->2 (max: 3)");
}

#[test]
fn nodes_that_have_nothing_to_do_with_a_pod_are_not_named() {
    let tainted = |key: &str| {
        unschedulable(json!({
            "apiVersion": "v1", "kind": "Node", "metadata": {"name": "one"},
            "spec": {"taints": [{"key": key, "effect": "NoSchedule"}]},
        }))
    };
    let changed = |snapshot: &Snapshot, change: &dyn Fn(&mut Value)| {
        let mut pod = snapshot.objects(kinds::POD)[0].clone();
        change(&mut pod);
        let mut other = Snapshot::default();
        for kind in [kinds::SUBSCRIPTION, kinds::CSV, kinds::OPERATOR_GROUP, kinds::NODE] {
            other.extend(kind, snapshot.objects(kind).iter().cloned());
        }
        other.extend(kinds::POD, [pod]);
        first(&other)
    };
    let away = tainted("node.kubernetes.io/unreachable");
    let problem = changed(&away, &|pod| {
        pod["status"]["conditions"][0]["message"] = "1 node(s) didn't match Pod's node affinity".into();
    });
    assert_eq!((problem.patience, problem.evidence.len()), (30, 1));
    // The scheduler does not look for a node for a gated pod.
    let problem = changed(&away, &|pod| pod["status"]["conditions"][0]["reason"] = "SchedulingGated".into());
    assert!(problem.help.contains("scheduling gates") && problem.evidence.len() == 1, "{problem:?}");
    let problem = changed(&tainted("dedicated"), &|pod| {
        pod["spec"] = json!({"tolerations": [{"key": "dedicated", "operator": "Exists"}]});
    });
    assert_eq!(problem.evidence.len(), 1, "{problem:?}");
}

#[test]
fn a_ready_container_and_a_foreign_pod_are_no_problem() {
    let ready = json!({"name": "manager", "ready": true, "restartCount": 3, "state": {"running": {}}});
    assert_eq!(problems(&with_pod(&ready), &scope()), []);
    let mut foreign = with_pod(&waiting("ErrImagePull", "not found"));
    let pod = foreign.objects(kinds::POD)[0].clone();
    let mut other = Snapshot::default();
    for kind in [kinds::SUBSCRIPTION, kinds::CSV, kinds::OPERATOR_GROUP] {
        other.extend(kind, foreign.objects(kind).iter().cloned());
    }
    let mut pod = pod;
    pod["metadata"]["ownerReferences"][0]["name"] = "another-5f".into();
    other.extend(kinds::POD, [pod]);
    assert_eq!(problems(&other, &scope()), []);
    foreign.deduplicate();
    assert_eq!(problems(&foreign, &Scope { package: Some("other".into()), ..scope() }), []);
}

#[test]
fn an_evicted_pod_is_a_problem_only_if_no_other_replaces_it() {
    let killed = json!({
        "name": "manager", "ready": false, "restartCount": 1,
        "state": {"terminated": {"exitCode": 137, "reason": "Error"}},
    });
    let mut objects = with_pod(&killed);
    let mut pod = objects.objects(kinds::POD)[0].clone();
    pod["status"]["phase"] = "Failed".into();
    pod["status"]["reason"] = "Evicted".into();
    pod["status"]["message"] = "The node was low on resource: memory.".into();
    pod["metadata"]["creationTimestamp"] = "2026-01-01T00:00:00Z".into();
    let mut evicted = Snapshot::default();
    for kind in [kinds::SUBSCRIPTION, kinds::CSV, kinds::OPERATOR_GROUP] {
        evicted.extend(kind, objects.objects(kind).iter().cloned());
    }
    objects = evicted.clone();
    evicted.extend(kinds::POD, [pod.clone()]);
    let problem = first(&evicted);
    assert_eq!(problem.reason, "pod-evicted");
    assert_eq!(
        problem.message,
        "the pod of deployment `gizmo-operator` was evicted, and no other pod replaces it: The node was low on resource: memory."
    );
    let mut next = pod.clone();
    next["metadata"]["name"] = "gizmo-operator-5f-def".into();
    next["metadata"]["creationTimestamp"] = "2026-01-01T01:00:00Z".into();
    // Of two evicted pods, the later one.
    evicted.extend(kinds::POD, [next.clone()]);
    let found = problems(&evicted, &scope());
    assert_eq!(found.len(), 1);
    assert!(found[0].object.contains("gizmo-operator-5f-def"), "{found:?}");
    next["status"] = json!({"phase": "Running", "containerStatuses": [{"name": "manager", "ready": true}]});
    objects.extend(kinds::POD, [pod.clone(), next]);
    assert_eq!(problems(&objects, &scope()), []);
    // A node without room can leave thousands of them.
    let many = |count: usize| {
        let many = (0..count).map(|number| {
            let mut one = pod.clone();
            one["metadata"]["name"] = format!("gizmo-operator-5f-{number}").into();
            one["metadata"]["creationTimestamp"] = format!("2026-01-01T00:00:00.{number:06}Z").into();
            one
        });
        let mut evicted = Snapshot::default();
        for kind in [kinds::SUBSCRIPTION, kinds::CSV, kinds::OPERATOR_GROUP] {
            evicted.extend(kind, objects.objects(kind).iter().cloned());
        }
        evicted.extend(kinds::POD, many);
        evicted
    };
    let growth = growth(1_000, many, |evicted| {
        let found = problems(&evicted, &scope());
        assert_eq!(found.len(), 1);
        assert!(found[0].object.contains("999"), "{found:?}");
    });
    assert!(growth < LINEAR, "{growth}");
}

#[test]
fn messages_of_the_api_server_have_a_reason_and_help() {
    for (message, reason) in [
        (
            "pods \"x\" is forbidden: exceeded quota: q, requested: pods=1, used: pods=0, limited: pods=0",
            "quota-exceeded",
        ),
        (
            "pods \"x\" is forbidden: violates PodSecurity \"restricted:latest\": privileged",
            "pod-security-violation",
        ),
        (
            "Internal error occurred: failed calling webhook \"w\": x509: certificate is invalid",
            "webhook-failed",
        ),
        ("admission webhook \"w\" denied the request: no", "admission-denied"),
        (
            "roles is forbidden: User \"system:serviceaccount:a:b\" cannot create resource \"roles\"",
            "permission-denied",
        ),
        (
            "risk of data loss updating \"x\": new CRD removes version v1 that is listed as a stored version",
            "crd-stored-version-lost",
        ),
        ("error validating existing CRs against new CRD's schema for \"x\"", "crd-breaks-objects"),
    ] {
        let (found, help) = message::explain_message(message, "ns").expect(message);
        assert_eq!(found, reason, "{message}");
        assert!(!help.is_empty());
    }
    assert!(message::explain_message("something else", "ns").is_none());
}

#[test]
fn an_unready_deployment_of_olm_and_a_second_group_are_reported() {
    let mut objects = with_pod(&json!({"name": "manager", "ready": true}));
    objects.add(json!({
        "apiVersion": "operators.coreos.com/v1", "kind": "OperatorGroup",
        "metadata": {"name": "second", "namespace": "ns"}, "spec": {},
    }));
    objects.add(json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "catalog-operator", "namespace": "olm", "labels": {"app": "catalog-operator"}},
        "spec": {"replicas": 0}, "status": {},
    }));
    let found: Vec<_> = problems(&objects, &scope()).iter().map(|problem| problem.reason).collect();
    assert_eq!(found, ["operator-groups-conflict", "olm-not-running"]);
}

/// The cases of `e2e/tests/run_bundle.rs`, recorded when `run bundle` ended.
#[test]
fn the_problems_of_recorded_objects() {
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/cluster");
    let mut files: Vec<_> =
        std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(!files.is_empty());
    let mut lines = Vec::new();
    for file in files {
        let mut snapshot = Snapshot::default();
        snapshot.add(serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap());
        lines.push(format!("# {}", file.file_stem().unwrap().to_string_lossy()));
        for problem in problems(&snapshot, &Scope::default()) {
            lines.push(format!("{} ({} s): {}", problem.reason, problem.patience, problem.message));
            lines.push(format!("  --> {}", problem.object));
            lines.extend(problem.evidence.iter().map(|line| format!("  = {line}")));
            lines.push(format!("  help: {}", problem.help));
        }
    }
    insta::assert_snapshot!(lines.join("\n"));
}

//! The status that follows from what was observed.

use super::{controller, memcached};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use memcached_operator::api::memcached::{Memcached, MemcachedStatus};
use memcached_operator::controller::memcached::{MemcachedController, Owned};
use operator_runtime::conditions::{AVAILABLE, DEGRADED, PROGRESSING, find};
use operator_runtime::controller::{Observed, ReconcileProblem, Reconciler};
use operator_runtime::testing::TestController;
use serde_json::{Value, json};

fn at(second: i64) -> Timestamp {
    Timestamp::UNIX_EPOCH + SignedDuration::from_secs(second)
}

thread_local! {
    /// One controller: what is observed belongs to it.
    static RECONCILER: &'static TestController<MemcachedController> = Box::leak(Box::new(controller(Owned::All)));
}

fn reconciler() -> &'static TestController<MemcachedController> {
    RECONCILER.with(|reconciler| *reconciler)
}

/// A Deployment with replicas that its spec asks for, that exist and that are available.
fn deployment(wanted: i32, replicas: i32, available: i32) -> Value {
    json!({"spec": {"replicas": wanted}, "status": {
        "replicas": replicas, "updatedReplicas": replicas, "readyReplicas": replicas, "availableReplicas": available,
    }})
}

fn observed(memcached: &Memcached, deployment: Option<Value>) -> Observed<MemcachedController> {
    let mut observed = reconciler().observed(memcached);
    for name in ["b", "a"] {
        observed = observed.with_related(reconciler().pods, name, &json!({}));
    }
    match deployment {
        Some(deployment) => observed.with_child(reconciler().deployment, "cache", &deployment),
        None => observed,
    }
}

/// Returns the status at a time, as it is written.
fn next(memcached: &Memcached, observed: Observed<MemcachedController>, second: i64) -> MemcachedStatus {
    let mut next = reconciler().status(memcached, &observed.at(at(second)));
    reconciler().complete_status(&memcached.metadata, &mut next);
    next
}

fn then(size: i32, status: MemcachedStatus) -> Memcached {
    Memcached { status: Some(status), ..memcached(size) }
}

fn condition<'a>(status: &'a MemcachedStatus, kind: &str) -> Option<&'a Condition> {
    find(&status.conditions, kind)
}

fn reported(status: &MemcachedStatus, kind: &str) -> (String, String) {
    let condition = condition(status, kind).unwrap();
    (condition.status.clone(), condition.reason.clone())
}

#[test]
fn new_memcached_is_unknown_and_reconciling() {
    let mut memcached = memcached(3);
    let initial = |memcached: &Memcached| reconciler().initial_status(memcached, &observed(memcached, None));
    let status = initial(&memcached).unwrap();
    assert_eq!(reported(&status, AVAILABLE), ("Unknown".into(), "Reconciling".into()));
    memcached.status = Some(status);
    assert_eq!(initial(&memcached), None);
}

#[test]
fn memcached_is_available_once_every_server_is() {
    let memcached = memcached(3);
    let status = next(&memcached, observed(&memcached, Some(deployment(3, 3, 2))), 0);
    assert_eq!(reported(&status, AVAILABLE), ("False".into(), "ReplicasUnavailable".into()));
    assert_eq!(reported(&status, PROGRESSING), ("True".into(), "RollingOut".into()));
    let status = next(&memcached, observed(&memcached, Some(deployment(3, 3, 3))), 0);
    assert_eq!(reported(&status, AVAILABLE), ("True".into(), "ReplicasAvailable".into()));
    assert_eq!(reported(&status, PROGRESSING), ("False".into(), "Complete".into()));
    assert_eq!(status.phase.as_deref(), Some("Available"));
    assert_eq!(status.nodes, ["a", "b"], "sorted");
}

#[test]
fn change_of_size_is_resizing_until_it_is_done() {
    let three = memcached(3);
    let complete = next(&three, observed(&three, Some(deployment(3, 3, 3))), 0);
    let grown = then(5, complete);
    let status = next(&grown, observed(&grown, Some(deployment(5, 3, 3))), 1);
    assert_eq!(reported(&status, PROGRESSING), ("True".into(), "Resizing".into()));
    assert_eq!(reported(&status, AVAILABLE), ("False".into(), "ReplicasUnavailable".into()));
    let grown = then(5, status);
    let status = next(&grown, observed(&grown, Some(deployment(5, 5, 3))), 2);
    assert_eq!(reported(&status, PROGRESSING), ("True".into(), "Resizing".into()));
}

#[test]
fn transition_time_moves_only_when_the_status_does() {
    let new = memcached(3);
    let one = next(&new, observed(&new, Some(deployment(3, 3, 1))), 0);
    let again = then(3, one.clone());
    assert_eq!(next(&again, observed(&again, Some(deployment(3, 3, 2))), 50), one, "readiness alone");
    let done = next(&again, observed(&again, Some(deployment(3, 3, 3))), 60);
    assert_eq!(condition(&done, AVAILABLE).unwrap().last_transition_time.0, at(60));
}

#[test]
fn rejected_write_degrades_with_the_api_servers_message() {
    let problem = ReconcileProblem { retry: true, ..ReconcileProblem::new("Forbidden", "exceeded quota") };
    let memcached = memcached(3);
    let status = next(&memcached, observed(&memcached, None).with_problem(problem), 0);
    assert_eq!(reported(&status, DEGRADED), ("True".into(), "Forbidden".into()));
    assert_eq!(condition(&status, DEGRADED).unwrap().message, "exceeded quota");
    assert_eq!(status.phase.as_deref(), Some("Degraded"));
}

#[test]
fn pod_that_cannot_start_degrades_and_another_wording_is_not_a_change() {
    let broken = |memcached: &Memcached, message: &str| {
        let waiting = json!({"reason": "ImagePullBackOff", "message": message});
        let pod = json!({"status": {"containerStatuses": [{"state": {"waiting": waiting}}]}});
        observed(memcached, Some(deployment(2, 2, 0))).with_related(reconciler().pods, "a", &pod)
    };
    let memcached = memcached(2);
    let status = next(&memcached, broken(&memcached, "first words"), 0);
    assert_eq!(reported(&status, DEGRADED), ("True".into(), "ImagePullBackOff".into()));
    let again = then(2, status.clone());
    assert_eq!(next(&again, broken(&again, "other words"), 9), status);
}

#[test]
fn deletion_shows_as_finalizing() {
    let memcached = memcached(1);
    let mut status = reconciler().finalizing_status(&memcached, &observed(&memcached, None)).unwrap();
    reconciler().complete_status(&memcached.metadata, &mut status);
    assert_eq!(reported(&status, DEGRADED), ("True".into(), "Finalizing".into()));
    assert_eq!(status.phase.as_deref(), Some("Finalizing"));
}

#[test]
fn conditions_of_other_managers_are_kept() {
    let foreign = Condition {
        type_: "Audited".into(),
        status: "True".into(),
        reason: "Yes".into(),
        message: String::new(),
        observed_generation: None,
        last_transition_time: Time(at(0)),
    };
    let memcached = then(1, MemcachedStatus { conditions: vec![foreign], ..MemcachedStatus::default() });
    let status = reconciler().initial_status(&memcached, &observed(&memcached, None)).unwrap();
    assert!(condition(&status, "Audited").is_some());
}

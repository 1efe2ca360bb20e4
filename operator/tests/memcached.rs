//! Tests of Memcached that need no cluster: pure ones, and the controller against a mock API server.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

#[path = "memcached/schema.rs"]
mod schema;
#[path = "memcached/status.rs"]
mod status;
#[path = "memcached/webhook.rs"]
mod webhook;

use memcached_operator::api::memcached::{Memcached, MemcachedSpec};
use memcached_operator::controller::memcached::{MemcachedController, Owned};
use memcached_operator::{Args, IDENTITY, operator};
use operator_runtime::context::Platform;
use operator_runtime::testing::{Scenario, TestController};
use serde_json::{Value, json};

const IMAGE: &str = "registry.example.com/memcached:1.6";

fn memcached(size: i32) -> Memcached {
    let mut memcached =
        Memcached::new("cache", MemcachedSpec { size, container_port: 11211, ..MemcachedSpec::default() });
    memcached.metadata.namespace = Some("ns".into());
    memcached.metadata.uid = Some("u-1".into());
    memcached.metadata.generation = Some(1);
    memcached.metadata.resource_version = Some("100".into());
    memcached
}

fn controller(owned: Owned) -> TestController<MemcachedController> {
    TestController::new(|watches| MemcachedController::new(watches, IMAGE, owned))
}

fn children(owned: Owned, memcached: &Memcached) -> Vec<Value> {
    controller(owned).applied(memcached, &IDENTITY).unwrap()
}

fn arguments(change: impl FnOnce(&mut MemcachedSpec)) -> Vec<Value> {
    let mut memcached = memcached(1);
    change(&mut memcached.spec);
    let container = &children(Owned::Deployment, &memcached)[0]["spec"]["template"]["spec"]["containers"][0];
    container["args"].as_array().unwrap().clone()
}

#[test]
fn objects_are_applied_as_in_the_snapshots() {
    let new = |watches: &mut _| MemcachedController::new(watches, "r.io/memcached:1.6", Owned::All);
    let objects = TestController::new(new).applied(&memcached(3), &IDENTITY).unwrap();
    for (name, object) in ["deployment", "service", "disruption_budget"].iter().zip(objects) {
        insta::assert_yaml_snapshot!(*name, object);
    }
}

#[test]
fn single_server_has_no_disruption_budget_and_the_tutorials_set_is_the_deployment() {
    let kinds = |owned, size| -> Vec<_> {
        children(owned, &memcached(size)).iter().map(|child| child["kind"].clone()).collect()
    };
    assert_eq!(kinds(Owned::All, 1), ["Deployment", "Service"]);
    assert_eq!(kinds(Owned::Deployment, 3), ["Deployment"]);
}

#[test]
fn spec_values_all_change_the_deployment_and_are_covered_by_digests() {
    let base = memcached(3);
    let changes: [fn(&mut MemcachedSpec); 5] = [
        |spec| spec.size = 2,
        |spec| spec.container_port = 2000,
        |spec| spec.image = Some("m:2".into()),
        |spec| spec.memory_limit = Some("192Mi".into()),
        |spec| drop(spec.node_selector.insert("a".into(), "b".into())),
    ];
    assert!(controller(Owned::All).is_covered(&base, &IDENTITY));
    for (index, change) in changes.into_iter().enumerate() {
        let mut other = base.clone();
        change(&mut other.spec);
        assert_ne!(children(Owned::All, &base)[0], children(Owned::All, &other)[0], "change {index}");
        assert!(controller(Owned::All).is_covered(&other, &IDENTITY), "change {index}");
    }
}

#[test]
fn cluster_may_assign_the_user_id() {
    let context = |openshift| {
        let platform = Platform::openshift(openshift);
        let controller = controller(Owned::Deployment);
        let objects = controller.applied_on(&memcached(3), &IDENTITY, platform).unwrap();
        let pod = &objects[0]["spec"]["template"]["spec"];
        (pod["securityContext"].clone(), pod["containers"][0]["securityContext"].clone())
    };
    let assigned = context(true);
    assert!(assigned.1.get("runAsUser").is_none() && assigned.0.get("runAsUser").is_none());
    assert_eq!(assigned.1["runAsNonRoot"], true);
    assert_eq!(context(false).1["runAsUser"], 1001);
}

#[test]
fn memory_for_items_follows_the_containers_limit() {
    assert_eq!(arguments(|_| {}), ["--memory-limit=64", "-o", "modern", "-v"]);
    assert_eq!(arguments(|spec| spec.memory_limit = Some("3Gi".into()))[0], "--memory-limit=2048");
    // Nothing overflows, whatever an older schema allowed.
    assert_eq!(
        arguments(|spec| spec.memory_limit = Some("4194303Gi".into()))[0],
        "--memory-limit=2863310848"
    );
}

#[test]
fn port_other_than_the_default_is_passed_to_memcached() {
    assert_eq!(arguments(|spec| spec.container_port = 12000).last().unwrap(), "--port=12000");
}

#[test]
fn invalid_spec_that_the_schema_accepts_names_the_field() {
    let invalid = |change: fn(&mut MemcachedSpec)| {
        let mut memcached = memcached(1);
        change(&mut memcached.spec);
        controller(Owned::All).applied(&memcached, &IDENTITY).unwrap_err().to_string()
    };
    let key = invalid(|spec| drop(spec.node_selector.insert("a b".into(), String::new())));
    assert!(key.contains("spec.nodeSelector: invalid label key `a b`"), "{key}");
    let memory = invalid(|spec| spec.memory_limit = Some("1 GB".into()));
    assert!(memory.contains("spec.memoryLimit: invalid quantity `1 GB`"), "{memory}");
}

#[tokio::test]
async fn new_object_becomes_available() {
    let scenario = Scenario::start(operator(&Args::default()));
    scenario.api.put("memcacheds", json!(memcached_operator::api::memcached::sample()));
    let deployed = "it has a Deployment";
    scenario.until(deployed, |api| api.get("deployments", "memcached-sample").is_some()).await;
    scenario.roll_out("deployments", "memcached-sample");
    scenario
        .until("it is available", |api| {
            api.condition("memcacheds", "memcached-sample", "Available")["status"] == "True"
        })
        .await;
    scenario.quiet().await;
    scenario.end().await;
}

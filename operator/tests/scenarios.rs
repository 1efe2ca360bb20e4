//! The controller against a mock API server that behaves and misbehaves: one scenario per test, each with a timeout.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use memcached_operator::controller::memcached::Owned;
use memcached_operator::{Args, operator};
use operator_runtime::metrics::Metrics;
use operator_runtime::testing::{Call, Fault, MockApi, MockOptions, MockStore, Scenario, ScenarioSettings};
use serde_json::{Value, json};
use std::time::Duration;
use tokio::time::sleep;

fn args(owned: Owned) -> Args {
    Args { memcached_image: "registry.example.com/memcached:1.6".to_owned(), owned }
}

fn start(owned: Owned) -> Scenario {
    Scenario::start(operator(&args(owned)))
}

fn on(api: MockApi, client: kube::Client, owned: Owned) -> Scenario {
    Scenario::on(api, client, operator(&args(owned)), ScenarioSettings::default())
}

fn with(api: MockApi, client: kube::Client, change: impl FnOnce(&mut ScenarioSettings)) -> Scenario {
    let mut settings = ScenarioSettings::default();
    change(&mut settings);
    Scenario::on(api, client, operator(&args(Owned::All)), settings)
}

fn impatient() -> (MockApi, kube::Client) {
    MockApi::start_with(MockOptions { timeout: Duration::from_millis(300), ..MockOptions::default() })
}

/// What users do.
trait User {
    fn memcached(&self, name: &str, size: i32);
    /// Creates a Memcached and rolls it out.
    async fn available(&self, name: &str, size: i32);
}

impl User for Scenario {
    fn memcached(&self, name: &str, size: i32) {
        let object = json!({
            "apiVersion": "cache.example.com/v1", "kind": "Memcached",
            "metadata": {"name": name}, "spec": {"size": size, "containerPort": 11211},
        });
        self.api.put("memcacheds", object);
    }

    async fn available(&self, name: &str, size: i32) {
        self.memcached(name, size);
        self.until("it has a Deployment", |api| api.get("deployments", name).is_some()).await;
        self.roll_out("deployments", name);
        self.until("it is available", |api| phase(api, name) == "Available").await;
    }
}

fn phase(api: &MockApi, name: &str) -> String {
    let memcached = api.get("memcacheds", name).unwrap_or_default();
    memcached["status"]["phase"].as_str().unwrap_or_default().to_owned()
}

fn condition(api: &MockApi, name: &str, kind: &str) -> Value {
    api.condition("memcacheds", name, kind)
}

fn events(api: &MockApi) -> Vec<String> {
    api.events()
}

/// The messages of the events with a reason.
fn notes(api: &MockApi, reason: &str) -> Vec<String> {
    let store = api.store();
    let events = store.all("events").filter(|event| event["reason"] == reason);
    events.map(|event| event["note"].as_str().unwrap_or_default().to_owned()).collect()
}

fn count(calls: &[Call], verb: &str, resource: &str) -> usize {
    calls.iter().filter(|call| call.verb == verb && call.resource == resource).count()
}

#[tokio::test(start_paused = true)]
async fn new_memcached_takes_at_most_eight_writes_and_then_no_further_request() {
    let scenario = start(Owned::All);
    scenario.available("cache", 3).await;
    scenario.quiet().await;
    let api = &scenario.api;
    for resource in ["deployments", "services", "poddisruptionbudgets"] {
        assert!(api.get(resource, "cache").is_some(), "{resource}");
    }
    let writes = api.writes();
    assert!(writes.len() <= 8, "{writes:#?}");
    assert_eq!(writes[0], "patch memcacheds", "the finalizer comes before anything that is owned");
    assert_eq!(events(api), ["Created"]);
    let before = api.calls().len();
    scenario.quiet().await;
    assert_eq!(api.calls().len(), before, "no request at rest");
    scenario.end().await;
}

#[tokio::test(start_paused = true)]
async fn deployment_is_the_only_child_if_configured() {
    let scenario = start(Owned::Deployment);
    scenario.available("cache", 3).await;
    scenario.quiet().await;
    let calls = scenario.api.calls();
    for resource in ["services", "poddisruptionbudgets"] {
        assert!(!calls.iter().any(|call| call.resource == resource), "{resource} is not even watched");
    }
    scenario.end().await;
}

#[tokio::test(start_paused = true)]
async fn new_size_is_one_apply_and_is_reported_as_resizing() {
    let scenario = start(Owned::All);
    scenario.available("cache", 3).await;
    scenario.quiet().await;
    let before = count(&scenario.api.calls(), "patch", "deployments");
    scenario.api.change("memcacheds", "cache", |memcached| memcached["spec"]["size"] = json!(5));
    scenario
        .until("it is resizing", |api| condition(api, "cache", "Progressing")["reason"] == "Resizing")
        .await;
    assert_eq!(scenario.api.get("deployments", "cache").unwrap()["spec"]["replicas"], 5);
    scenario.roll_out("deployments", "cache");
    scenario.until("it is available", |api| phase(api, "cache") == "Available").await;
    scenario.quiet().await;
    assert_eq!(count(&scenario.api.calls(), "patch", "deployments"), before + 1);
    assert!(events(&scenario.api).contains(&"Scaled".to_owned()));
    scenario.end().await;
}

#[tokio::test(start_paused = true)]
async fn scaling_to_one_server_deletes_the_disruption_budget() {
    let scenario = start(Owned::All);
    scenario.available("cache", 2).await;
    scenario.api.change("memcacheds", "cache", |memcached| memcached["spec"]["size"] = json!(1));
    scenario.until("the budget is gone", |api| api.get("poddisruptionbudgets", "cache").is_none()).await;
    scenario.end().await;
}

#[tokio::test(start_paused = true)]
async fn drift_is_reverted_and_foreign_fields_are_kept() {
    let scenario = start(Owned::All);
    scenario.available("cache", 3).await;
    scenario.quiet().await;
    let writes = |api: &MockApi| count(&api.calls(), "patch", "deployments");
    let before = writes(&scenario.api);
    scenario.api.change("deployments", "cache", |deployment| {
        deployment["metadata"]["annotations"] = json!({"team": "x"});
        let containers = deployment["spec"]["template"]["spec"]["containers"].as_array_mut().unwrap();
        containers.push(json!({"name": "sidecar", "image": "s:1"}));
    });
    scenario.quiet().await;
    assert_eq!(writes(&scenario.api), before, "what is not ours is not touched");

    scenario.api.change("deployments", "cache", |deployment| {
        deployment["spec"]["replicas"] = json!(1);
        deployment["spec"]["template"]["spec"]["containers"][0]["image"] = json!("other:1");
    });
    scenario.api.delete("services", "cache");
    let image = "registry.example.com/memcached:1.6";
    scenario
        .until("everything is back", |api| {
            let deployment = api.get("deployments", "cache").unwrap();
            let containers = &deployment["spec"]["template"]["spec"]["containers"];
            deployment["spec"]["replicas"] == 3
                && containers[0]["image"] == image
                && containers[1]["name"] == "sidecar"
                && api.get("services", "cache").is_some()
        })
        .await;
    scenario.end().await;
}

#[tokio::test(start_paused = true)]
async fn removed_label_is_restored_and_recorded_as_an_update() {
    let scenario = start(Owned::All);
    scenario.available("cache", 3).await;
    scenario.quiet().await;
    scenario.api.change("deployments", "cache", |deployment| {
        deployment["metadata"]["labels"].as_object_mut().unwrap().remove("app.kubernetes.io/managed-by");
    });
    scenario
        .until("the label is back", |api| {
            let deployment = api.get("deployments", "cache").unwrap();
            deployment["metadata"]["labels"]["app.kubernetes.io/managed-by"] == "memcached-operator"
        })
        .await;
    scenario.quiet().await;
    assert_eq!(events(&scenario.api), ["Created", "Updated"]);
    assert_eq!(notes(&scenario.api, "Updated"), ["Reverted external changes to Deployment cache"]);
    // What the user changes is not reverted.
    scenario.api.change("memcacheds", "cache", |memcached| memcached["spec"]["image"] = json!("other:1"));
    scenario.until("it is recorded", |api| notes(api, "Updated").len() == 2).await;
    assert!(notes(&scenario.api, "Updated").contains(&"Updated Deployment cache".to_owned()));
    scenario.end().await;
}

#[tokio::test(start_paused = true)]
async fn conflict_409_is_retried_with_what_the_other_one_wrote() {
    let (api, client) = MockApi::start();
    api.fault(Fault {
        first: Some(|store: &mut MockStore| {
            store.edit("memcacheds", "cache", |memcached| {
                memcached["metadata"]["finalizers"] = json!(["other.example.com/finalizer"]);
            });
        }),
        ..Fault::new("patch", "memcacheds", 409, "Conflict")
    });
    let scenario = on(api, client, Owned::All);
    scenario.available("cache", 1).await;
    let finalizers = scenario.api.get("memcacheds", "cache").unwrap()["metadata"]["finalizers"].clone();
    assert_eq!(finalizers, json!(["other.example.com/finalizer", "cache.example.com/finalizer"]));
    scenario.end().await;
}

#[tokio::test(start_paused = true)]
async fn foreign_deployment_is_unchanged_and_reported() {
    let scenario = start(Owned::All);
    let foreign = json!({
        "metadata": {"name": "cache", "uid": "foreign", "ownerReferences": [{
            "apiVersion": "v1", "kind": "X", "name": "x", "uid": "other", "controller": true}]},
        "spec": {"replicas": 7},
    });
    scenario.api.put("deployments", foreign);
    scenario.memcached("cache", 3);
    let reported = |api: &MockApi| condition(api, "cache", "Degraded")["reason"] == "DeploymentBlocked";
    scenario.until("it is reported", reported).await;
    assert_eq!(scenario.api.get("deployments", "cache").unwrap()["spec"]["replicas"], 7);
    scenario.api.delete("deployments", "cache");
    scenario
        .until("ours is made once the other is gone", |api| {
            api.get("deployments", "cache").is_some_and(|deployment| deployment["spec"]["replicas"] == 3)
        })
        .await;
    scenario.end().await;
}

#[tokio::test(start_paused = true)]
async fn status_403_is_reported_with_its_message_blocks_no_other_memcached_and_is_retried() {
    let (api, client) = MockApi::start();
    api.fault(Fault {
        name: Some("poor"),
        times: 4,
        message: "exceeded quota: count/deployments.apps",
        ..Fault::new("patch", "deployments", 403, "Forbidden")
    });
    let scenario = on(api, client, Owned::All);
    scenario.memcached("poor", 1);
    let degraded = |api: &MockApi| condition(api, "poor", "Degraded")["reason"] == "Forbidden";
    scenario.until("the failure is reported", degraded).await;
    let message = condition(&scenario.api, "poor", "Degraded")["message"].as_str().unwrap().to_owned();
    assert!(message.contains("exceeded quota"), "{message}");
    scenario.available("rich", 1).await;
    scenario.until("the quota is raised", |api| api.get("deployments", "poor").is_some()).await;
    scenario.roll_out("deployments", "poor");
    scenario.until("all is well", |api| phase(api, "poor") == "Available").await;
    assert_eq!(condition(&scenario.api, "poor", "Degraded")["status"], "False");
    let refused = events(&scenario.api).iter().filter(|reason| *reason == "Forbidden").count();
    assert_eq!(refused, 1, "one event, however often it was tried");
    scenario.end().await;
}

#[tokio::test(start_paused = true)]
async fn status_404_ends_the_reconcile() {
    let (api, client) = MockApi::start();
    api.fault(Fault {
        first: Some(|store: &mut MockStore| store.drop_object("memcacheds", "cache")),
        ..Fault::new("patch", "memcacheds/status", 404, "NotFound")
    });
    let scenario = on(api, client, Owned::All);
    scenario.memcached("cache", 1);
    scenario.until("it is gone", |api| api.get("memcacheds", "cache").is_none()).await;
    scenario.quiet().await;
    let page = scenario.metrics.page();
    assert!(page.contains("controller_runtime_reconcile_errors_total{controller=\"memcached\"} 0"), "{page}");
    scenario.end().await;
}

#[tokio::test(start_paused = true)]
async fn status_429_is_retried_after_the_time_that_the_server_asks_for() {
    let (api, client) = MockApi::start();
    api.fault(Fault { retry_after: Some(1), ..Fault::new("patch", "deployments", 429, "TooManyRequests") });
    let scenario = on(api, client, Owned::All);
    let start = tokio::time::Instant::now();
    scenario.available("cache", 1).await;
    assert!(start.elapsed() >= Duration::from_secs(1));
    assert_eq!(
        condition(&scenario.api, "cache", "Degraded")["status"],
        "False",
        "a user need not hear of it"
    );
    scenario.end().await;
}

#[tokio::test(start_paused = true)]
async fn expired_watch_410_restarts_and_misses_nothing() {
    let scenario = start(Owned::All);
    scenario.available("cache", 3).await;
    scenario.quiet().await;
    scenario.api.expire_watches(|store| {
        store.drop_object("deployments", "cache");
        store.edit("memcacheds", "cache", |memcached| {
            memcached["spec"]["size"] = json!(2);
            memcached["metadata"]["generation"] = json!(2);
        });
    });
    scenario
        .until("unreported changes are reverted", |api| {
            api.get("deployments", "cache").is_some_and(|deployment| deployment["spec"]["replicas"] == 2)
        })
        .await;
    scenario.end().await;
}

#[tokio::test(start_paused = true)]
async fn outage_of_the_api_server_loses_nothing_and_writes_nothing_twice() {
    let scenario = start(Owned::All);
    scenario.available("one", 3).await;
    scenario.quiet().await;
    scenario.api.down(true);
    scenario.memcached("two", 2);
    scenario.api.change("memcacheds", "one", |memcached| memcached["spec"]["size"] = json!(4));
    sleep(Duration::from_secs(2)).await;
    let before = scenario.api.writes().len();
    scenario.api.down(false);
    scenario
        .until("both are as they should be", |api| {
            let replicas =
                |name| api.get("deployments", name).map(|deployment| deployment["spec"]["replicas"].clone());
            replicas("one") == Some(json!(4)) && replicas("two") == Some(json!(2))
        })
        .await;
    scenario.roll_out("deployments", "one");
    scenario.roll_out("deployments", "two");
    scenario
        .until("both are available", |api| {
            phase(api, "one") == "Available" && phase(api, "two") == "Available"
        })
        .await;
    scenario.quiet().await;
    let since = scenario.api.writes().split_off(before);
    assert_eq!(since.iter().filter(|write| *write == "patch deployments").count(), 2, "{since:#?}");
    scenario.end().await;
}

#[tokio::test(start_paused = true)]
async fn malformed_response_is_retried_with_backoff() {
    let (api, client) = MockApi::start();
    api.fault(Fault { times: 3, code: 200, ..Fault::new("patch", "deployments", 200, "Rubbish") });
    let scenario = on(api, client, Owned::All);
    scenario.memcached("cache", 1);
    scenario.until("it is made in the end", |api| api.get("deployments", "cache").is_some()).await;
    scenario.end().await;
}

#[tokio::test(start_paused = true)]
async fn deletion_is_reported_once_and_survives_a_failing_finalizer_write() {
    let scenario = start(Owned::All);
    scenario.available("cache", 1).await;
    scenario.quiet().await;
    scenario.api.fault(Fault { times: 3, ..Fault::new("patch", "memcacheds", 500, "InternalError") });
    scenario.api.delete("memcacheds", "cache");
    scenario
        .until("it is finalizing", |api| {
            phase(api, "cache") == "Finalizing" || api.get("memcacheds", "cache").is_none()
        })
        .await;
    scenario.until("it is gone", |api| api.get("memcacheds", "cache").is_none()).await;
    scenario.quiet().await;
    let finalizing = events(&scenario.api).iter().filter(|reason| *reason == "Finalizing").count();
    assert_eq!(finalizing, 1);
    scenario.end().await;
}

#[tokio::test(start_paused = true)]
async fn deleted_memcached_is_not_queued() {
    let scenario = start(Owned::All);
    scenario.available("cache", 1).await;
    scenario.api.delete("memcacheds", "cache");
    scenario.until("it is gone", |api| api.get("memcacheds", "cache").is_none()).await;
    scenario.quiet().await;
    // The garbage collector comes later, and its deletions name the Memcached once more.
    scenario.api.delete("deployments", "cache");
    scenario.api.delete("services", "cache");
    scenario.quiet().await;
    assert!(
        scenario
            .metrics
            .page()
            .lines()
            .any(|line| line.starts_with("workqueue_depth") && line.ends_with(" 0"))
    );
    scenario.end().await;
}

#[tokio::test(start_paused = true)]
async fn invalid_spec_is_reported_and_blocks_no_other_memcached() {
    let scenario = start(Owned::All);
    scenario.memcached("odd", 1);
    scenario
        .api
        .change("memcacheds", "odd", |memcached| memcached["spec"]["nodeSelector"] = json!({"a b": "c"}));
    let reported = |api: &MockApi| condition(api, "odd", "Degraded")["reason"] == "InvalidSpec";
    scenario.until("it is reported", reported).await;
    scenario.available("even", 1).await;
    scenario.end().await;
}

#[tokio::test(start_paused = true)]
async fn requests_are_all_allowed_by_a_rule_and_rules_are_all_used() {
    // The server asserts the first half on every request of every scenario; this one asks for everything there is.
    let (api, client) = MockApi::start();
    for resource in ["deployments", "services", "poddisruptionbudgets"] {
        api.fault(Fault { name: Some("cache"), ..Fault::new("patch", resource, 409, "Conflict") });
    }
    let scenario = on(api, client, Owned::All);
    scenario.memcached("cache", 2);
    let made = |api: &MockApi| {
        ["deployments", "services", "poddisruptionbudgets"].iter().all(|r| api.get(r, "cache").is_some())
    };
    scenario.until("everything is made", made).await;
    scenario.api.change("memcacheds", "cache", |memcached| memcached["spec"]["size"] = json!(1));
    scenario.until("the budget is gone", |api| api.get("poddisruptionbudgets", "cache").is_none()).await;
    scenario.quiet().await;
    let mut left = scenario.unused(&scenario.api.calls());
    // A repeated event is patched no sooner than ten seconds after the first.
    left.remove("patch events");
    assert!(left.is_empty(), "rules that nothing uses: {left:?}");
    scenario.end().await;
}

#[tokio::test(start_paused = true)]
async fn shutdown_completes_running_reconciles() {
    let scenario = start(Owned::All);
    scenario.memcached("cache", 3);
    scenario.until("work has begun", |api| !api.writes().is_empty()).await;
    let api = scenario.api.clone();
    scenario.end().await;
    let calls = api.calls().len();
    sleep(Duration::from_millis(300)).await;
    assert_eq!(api.calls().len(), calls, "nothing after the end");
}

#[tokio::test(start_paused = true)]
async fn request_without_a_response_delays_its_memcached_only_until_the_timeout() {
    let (api, client) = impatient();
    api.fault(Fault { swallow: true, name: Some("cache"), ..Fault::new("patch", "deployments", 0, "") });
    // The only permit is held as long as the request is pending.
    let scenario = with(api, client, |settings| settings.max_concurrent_reconciles = 1);
    scenario.memcached("cache", 1);
    scenario
        .until("the request is made", |api| {
            api.calls().iter().any(|call| call.resource == "deployments" && call.code == 0)
        })
        .await;
    scenario.available("other", 1).await;
    scenario.until("it is retried", |api| api.get("deployments", "cache").is_some()).await;
    scenario.roll_out("deployments", "cache");
    scenario.until("it is available", |api| phase(api, "cache") == "Available").await;
    scenario.end().await;
}

#[tokio::test(start_paused = true)]
async fn watch_or_list_without_a_response_is_retried() {
    let (api, client) = impatient();
    for (verb, resource) in [("list", "memcacheds"), ("watch", "memcacheds"), ("watch", "deployments")] {
        api.fault(Fault { swallow: true, ..Fault::new(verb, resource, 0, "") });
    }
    let scenario = on(api, client, Owned::All);
    scenario.available("cache", 1).await;
    scenario.end().await;
}

#[tokio::test(start_paused = true)]
async fn status_write_keeps_foreign_conditions() {
    let scenario = start(Owned::All);
    scenario.available("cache", 3).await;
    scenario.quiet().await;
    let foreign = json!({"type": "Audited", "status": "True", "reason": "Yes", "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z"});
    // The controller does not know of it when it writes.
    scenario.api.change_unnoticed("memcacheds", "cache", |memcached| {
        memcached["status"]["conditions"].as_array_mut().unwrap().push(foreign.clone());
    });
    scenario
        .api
        .change("deployments", "cache", |deployment| deployment["status"]["availableReplicas"] = json!(2));
    scenario
        .until("the status is written", |api| condition(api, "cache", "Available")["status"] == "False")
        .await;
    assert_eq!(condition(&scenario.api, "cache", "Audited"), foreign);
    scenario.roll_out("deployments", "cache");
    scenario.until("it is available", |api| phase(api, "cache") == "Available").await;
    assert_eq!(condition(&scenario.api, "cache", "Audited"), foreign);
    scenario.end().await;
}

#[tokio::test(start_paused = true)]
async fn failing_status_write_does_not_block_a_deletion() {
    let scenario = start(Owned::All);
    scenario.available("cache", 1).await;
    scenario.quiet().await;
    let fault = Fault::new("patch", "memcacheds/status", 422, "Invalid");
    scenario.api.fault(Fault { times: usize::MAX, ..fault });
    scenario.api.delete("memcacheds", "cache");
    scenario.until("it is gone", |api| api.get("memcacheds", "cache").is_none()).await;
    scenario.end().await;
}

fn queue_depth(metrics: &Metrics) -> String {
    let page = metrics.page();
    let line = page.lines().find(|line| line.starts_with("workqueue_depth")).unwrap();
    line.rsplit_once(' ').unwrap().1.to_owned()
}

#[tokio::test(start_paused = true)]
async fn standby_queues_nothing_and_reconciles_everything_once_it_leads() {
    let (api, client) = MockApi::start();
    let mut scenario =
        Scenario::standby(api, client, operator(&args(Owned::All)), ScenarioSettings::default());
    for name in ["one", "two"] {
        scenario.memcached(name, 1);
    }
    scenario.synced().await;
    scenario.memcached("three", 1);
    scenario.quiet().await;
    assert_eq!(queue_depth(&scenario.metrics), "0");
    assert_eq!(scenario.api.writes(), Vec::<String>::new());
    scenario.lead();
    for name in ["one", "two", "three"] {
        scenario.until(name, |api| api.get("deployments", name).is_some()).await;
    }
    scenario.end().await;
}

#[tokio::test(start_paused = true)]
async fn change_that_no_watch_reports_is_reverted_after_the_sync_period() {
    let (api, client) = MockApi::start();
    let scenario = with(api, client, |settings| settings.sync_period = Duration::from_millis(500));
    scenario.available("cache", 3).await;
    let drift = |deployment: &mut Value| deployment["spec"]["replicas"] = json!(1);
    scenario.api.change_unnoticed("deployments", "cache", drift);
    let reverted = |api: &MockApi| api.get("deployments", "cache").unwrap()["spec"]["replicas"] == 3;
    assert!(!reverted(&scenario.api));
    scenario.until("the drift is reverted", reverted).await;
    scenario.end().await;
}

#[tokio::test(start_paused = true)]
async fn older_versions_count_again_after_a_restore_of_etcd() {
    let scenario = start(Owned::All);
    scenario.available("cache", 3).await;
    scenario.quiet().await;
    let backup = scenario.api.backup();
    for size in [4, 5] {
        scenario.api.change("memcacheds", "cache", |memcached| memcached["spec"]["size"] = json!(size));
        scenario
            .until("it is scaled", |api| api.get("deployments", "cache").unwrap()["spec"]["replicas"] == size)
            .await;
        scenario.roll_out("deployments", "cache");
        scenario.until("it is available", |api| phase(api, "cache") == "Available").await;
    }
    scenario.quiet().await;
    scenario.api.restore(backup);
    scenario.quiet().await;
    // The generation that stood for four servers before stands for two now.
    scenario.api.change("memcacheds", "cache", |memcached| memcached["spec"]["size"] = json!(2));
    let replicas = |api: &MockApi| api.get("deployments", "cache").unwrap()["spec"]["replicas"].clone();
    scenario.until("the new size is applied", |api| replicas(api) == 2).await;
    scenario.api.change("deployments", "cache", |deployment| deployment["spec"]["replicas"] = json!(7));
    scenario.until("drift is reverted", |api| replicas(api) == 2).await;
    scenario.end().await;
}

#[tokio::test(start_paused = true)]
async fn malformed_memcached_is_reported_blocks_no_other_and_can_be_deleted_or_fixed() {
    let (api, client) = MockApi::start();
    let malformed = |name: &str| {
        json!({
            "apiVersion": "cache.example.com/v1", "kind": "Memcached",
            "metadata": {"name": name}, "spec": {"size": "three", "containerPort": 11211},
        })
    };
    // Once in the list, once in the watch.
    api.put("memcacheds", malformed("listed"));
    let scenario = on(api, client, Owned::All);
    scenario.available("fine", 1).await;
    scenario.api.put("memcacheds", malformed("watched"));
    for name in ["listed", "watched"] {
        scenario
            .until("it is reported", |api| condition(api, name, "Degraded")["reason"] == "InvalidSpec")
            .await;
        let message = condition(&scenario.api, name, "Degraded")["message"].as_str().unwrap().to_owned();
        assert!(message.starts_with("spec: invalid type: string \"three\""), "{message}");
        assert!(scenario.api.get("deployments", name).is_none());
    }
    assert_eq!(events(&scenario.api).iter().filter(|reason| *reason == "InvalidSpec").count(), 2);
    scenario.api.delete("memcacheds", "listed");
    scenario.until("it is gone", |api| api.get("memcacheds", "listed").is_none()).await;
    scenario.api.change("memcacheds", "watched", |memcached| memcached["spec"]["size"] = json!(1));
    scenario.until("it is fixed", |api| api.get("deployments", "watched").is_some()).await;
    scenario.roll_out("deployments", "watched");
    scenario.until("it is available", |api| phase(api, "watched") == "Available").await;
    scenario.end().await;
}

/// Names created and deleted by the churn test, unless `CHURN_NAMES` sets another number, such as 100000.
const CHURN_NAMES: usize = 600;
/// Names that exist at the same time.
const BATCH: usize = 200;

#[tokio::test(start_paused = true)]
async fn names_that_are_created_and_deleted_leave_nothing_in_memory() {
    let churn = std::env::var("CHURN_NAMES").map_or(CHURN_NAMES, |number| number.parse().unwrap());
    let (api, client) = MockApi::start();
    let settings = ScenarioSettings { max_concurrent_reconciles: 64, ..ScenarioSettings::default() };
    let scenario = Scenario::on(api, client, operator(&args(Owned::Deployment)), settings);
    for batch in 0..churn / BATCH {
        let names: Vec<_> = (0..BATCH).map(|index| format!("cache-{batch}-{index}")).collect();
        for (index, name) in names.iter().enumerate() {
            scenario.memcached(name, 1);
            // Most of them are invalid, which takes fewer requests.
            if index % 10 != 0 {
                scenario.api.change("memcacheds", name, |memcached| {
                    memcached["spec"]["nodeSelector"] = json!({"a b": "c"});
                });
            }
        }
        let reconciled = |api: &MockApi| {
            api.store().all("memcacheds").all(|memcached| memcached["status"]["conditions"].is_array())
        };
        scenario.until("all are reconciled", reconciled).await;
        for name in &names {
            scenario.api.delete("memcacheds", name);
        }
        scenario.until("all are gone", |api| api.store().all("memcacheds").next().is_none()).await;
        for name in &names {
            scenario.api.delete("deployments", name);
        }
        scenario.api.store().drop_all("events");
        scenario.api.truncate();
        let remembered = scenario.kept("memory");
        assert!(remembered <= BATCH, "{remembered} Memcacheds are remembered after batch {batch}");
    }
    scenario.quiet().await;
    for what in ["memory", "queued", "objects", "responses", "malformed", "children", "related"] {
        assert_eq!(scenario.kept(what), 0, "{what}");
    }
    assert!(scenario.remembered_events() <= 512);
    scenario.end().await;
}

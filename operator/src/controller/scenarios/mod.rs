//! The controller against an API server that behaves and misbehaves: one scenario a test, each under a timeout.

mod api;

use super::{Owned, Settings, Shared, run};
use crate::metrics::Metrics;
use api::{Api, Call, Fault, Store, unused};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

const PATIENCE: Duration = Duration::from_secs(40);

struct Scenario {
    api: Api,
    stop: watch::Sender<bool>,
    controller: JoinHandle<()>,
    metrics: Arc<Metrics>,
}

impl Scenario {
    fn start(owned: Owned) -> Self {
        let (api, client) = Api::start();
        Self::on(api, client, owned)
    }

    fn on(api: Api, client: kube::Client, owned: Owned) -> Self {
        let settings = Settings {
            operand_image: "registry.example.com/memcached:1.6".into(),
            owned,
            max_concurrent_reconciles: 4,
            namespaces: Vec::new(),
            instance: "test".into(),
        };
        let metrics = Arc::new(Metrics::new(4));
        let shared = Arc::new(Shared::new(client, settings, Arc::clone(&metrics)).unwrap());
        let (synced, _) = watch::channel(false);
        let (_, leads) = watch::channel(true);
        let (stop, stopped) = watch::channel(false);
        let controller = tokio::spawn(run(shared, synced, leads, stopped));
        Self { api, stop, controller, metrics }
    }

    fn memcached(&self, name: &str, size: i32) {
        let object = json!({
            "apiVersion": "cache.example.com/v1", "kind": "Memcached",
            "metadata": {"name": name}, "spec": {"size": size, "containerPort": 11211},
        });
        self.api.put("memcacheds", object);
    }

    /// Plays the Deployment controller: all replicas are available.
    fn roll_out(&self, name: &str) {
        self.api.change("deployments", name, |deployment| {
            let size = deployment["spec"]["replicas"].clone();
            deployment["status"] = json!({
                "observedGeneration": deployment["metadata"]["generation"], "replicas": size,
                "updatedReplicas": size, "readyReplicas": size, "availableReplicas": size,
            });
        });
    }

    /// A new Memcached, brought up.
    async fn available(&self, name: &str, size: i32) {
        self.memcached(name, size);
        self.until("it has a Deployment", |api| api.get("deployments", name).is_some()).await;
        self.roll_out(name);
        self.until("it is available", |api| phase(api, name) == "Available").await;
    }

    async fn until(&self, what: &str, condition: impl Fn(&Api) -> bool) {
        let waited = timeout(PATIENCE, async {
            while !condition(&self.api) {
                sleep(Duration::from_millis(5)).await;
            }
        })
        .await;
        assert!(waited.is_ok(), "{what}: not so after {PATIENCE:?}; calls: {:#?}", self.api.calls());
    }

    /// Waits until no call has been made for longer than any pause of the controller's.
    async fn quiet(&self) {
        let mut calls = self.api.calls().len();
        loop {
            sleep(Duration::from_millis(1300)).await;
            let now = self.api.calls().len();
            if now == calls {
                return;
            }
            calls = now;
        }
    }

    async fn end(self) {
        self.stop.send_replace(true);
        timeout(Duration::from_secs(5), self.controller)
            .await
            .expect("it stops in time")
            .expect("without a panic");
    }
}

fn phase(api: &Api, name: &str) -> String {
    let memcached = api.get("memcacheds", name).unwrap_or_default();
    memcached["status"]["phase"].as_str().unwrap_or_default().to_owned()
}

fn condition(api: &Api, name: &str, kind: &str) -> Value {
    let memcached = api.get("memcacheds", name).unwrap_or_default();
    let conditions = memcached["status"]["conditions"].as_array().cloned().unwrap_or_default();
    conditions.into_iter().find(|condition| condition["type"] == kind).unwrap_or_default()
}

fn events(api: &Api) -> Vec<String> {
    let store = api.store();
    store.all("events").map(|event| event["reason"].as_str().unwrap().to_owned()).collect()
}

fn count(calls: &[Call], verb: &str, resource: &str) -> usize {
    calls.iter().filter(|call| call.verb == verb && call.resource == resource).count()
}

#[tokio::test]
async fn a_new_memcached_gets_everything_with_at_most_eight_writes_and_then_there_is_silence() {
    let scenario = Scenario::start(Owned::All);
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

#[tokio::test]
async fn only_the_deployment_is_owned_where_that_is_asked_for() {
    let scenario = Scenario::start(Owned::Deployment);
    scenario.available("cache", 3).await;
    scenario.quiet().await;
    let calls = scenario.api.calls();
    for resource in ["services", "poddisruptionbudgets"] {
        assert!(!calls.iter().any(|call| call.resource == resource), "{resource} is not even watched");
    }
    scenario.end().await;
}

#[tokio::test]
async fn a_new_size_is_one_apply_and_shows_as_resizing() {
    let scenario = Scenario::start(Owned::All);
    scenario.available("cache", 3).await;
    scenario.quiet().await;
    let before = count(&scenario.api.calls(), "patch", "deployments");
    scenario.api.change("memcacheds", "cache", |memcached| memcached["spec"]["size"] = json!(5));
    scenario
        .until("it is resizing", |api| condition(api, "cache", "Progressing")["reason"] == "Resizing")
        .await;
    assert_eq!(scenario.api.get("deployments", "cache").unwrap()["spec"]["replicas"], 5);
    scenario.roll_out("cache");
    scenario.until("it is available", |api| phase(api, "cache") == "Available").await;
    scenario.quiet().await;
    assert_eq!(count(&scenario.api.calls(), "patch", "deployments"), before + 1);
    assert!(events(&scenario.api).contains(&"Scaled".to_owned()));
    scenario.end().await;
}

#[tokio::test]
async fn the_last_server_but_one_takes_the_disruption_budget_with_it() {
    let scenario = Scenario::start(Owned::All);
    scenario.available("cache", 2).await;
    scenario.api.change("memcacheds", "cache", |memcached| memcached["spec"]["size"] = json!(1));
    scenario.until("the budget is gone", |api| api.get("poddisruptionbudgets", "cache").is_none()).await;
    scenario.end().await;
}

#[tokio::test]
async fn drift_is_put_right_and_what_others_add_stays() {
    let scenario = Scenario::start(Owned::All);
    scenario.available("cache", 3).await;
    scenario.quiet().await;
    let writes = |api: &Api| count(&api.calls(), "patch", "deployments");
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

#[tokio::test]
async fn a_lost_label_is_put_back_and_told_as_an_update() {
    let scenario = Scenario::start(Owned::All);
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
    scenario.end().await;
}

#[tokio::test]
async fn a_conflict_409_is_worked_off_with_what_the_other_one_wrote() {
    let (api, client) = Api::start();
    api.fault(Fault {
        first: Some(|store: &mut Store| {
            store.edit("memcacheds", "cache", |memcached| {
                memcached["metadata"]["finalizers"] = json!(["other.example.com/finalizer"]);
            });
        }),
        ..Fault::new("patch", "memcacheds", 409, "Conflict")
    });
    let scenario = Scenario::on(api, client, Owned::All);
    scenario.available("cache", 1).await;
    let finalizers = scenario.api.get("memcacheds", "cache").unwrap()["metadata"]["finalizers"].clone();
    assert_eq!(finalizers, json!(["other.example.com/finalizer", "cache.example.com/finalizer"]));
    scenario.end().await;
}

#[tokio::test]
async fn a_deployment_of_somebody_else_is_left_alone_and_told() {
    let scenario = Scenario::start(Owned::All);
    let foreign = json!({
        "metadata": {"name": "cache", "uid": "foreign", "ownerReferences": [{
            "apiVersion": "v1", "kind": "X", "name": "x", "uid": "other", "controller": true}]},
        "spec": {"replicas": 7},
    });
    scenario.api.put("deployments", foreign);
    scenario.memcached("cache", 3);
    let told = |api: &Api| condition(api, "cache", "Degraded")["reason"] == "DeploymentBlocked";
    scenario.until("it is told", told).await;
    assert_eq!(scenario.api.get("deployments", "cache").unwrap()["spec"]["replicas"], 7);
    scenario.api.delete("deployments", "cache");
    scenario
        .until("ours is made once the other is gone", |api| {
            api.get("deployments", "cache").is_some_and(|deployment| deployment["spec"]["replicas"] == 3)
        })
        .await;
    scenario.end().await;
}

#[tokio::test]
async fn a_refusal_403_shows_with_its_words_blocks_nobody_else_and_is_tried_again() {
    let (api, client) = Api::start();
    api.fault(Fault {
        name: Some("poor"),
        times: 4,
        message: "exceeded quota: count/deployments.apps",
        ..Fault::new("patch", "deployments", 403, "Forbidden")
    });
    let scenario = Scenario::on(api, client, Owned::All);
    scenario.memcached("poor", 1);
    let degraded = |api: &Api| condition(api, "poor", "Degraded")["reason"] == "Forbidden";
    scenario.until("the refusal is told", degraded).await;
    let message = condition(&scenario.api, "poor", "Degraded")["message"].as_str().unwrap().to_owned();
    assert!(message.contains("exceeded quota"), "{message}");
    scenario.available("rich", 1).await;
    scenario.until("the quota is raised", |api| api.get("deployments", "poor").is_some()).await;
    scenario.roll_out("poor");
    scenario.until("all is well", |api| phase(api, "poor") == "Available").await;
    assert_eq!(condition(&scenario.api, "poor", "Degraded")["status"], "False");
    let refused = events(&scenario.api).iter().filter(|reason| *reason == "Forbidden").count();
    assert_eq!(refused, 1, "one event, however often it was tried");
    scenario.end().await;
}

#[tokio::test]
async fn a_404_in_the_middle_is_the_end_of_it() {
    let (api, client) = Api::start();
    api.fault(Fault {
        first: Some(|store: &mut Store| store.drop_object("memcacheds", "cache")),
        ..Fault::new("patch", "memcacheds/status", 404, "NotFound")
    });
    let scenario = Scenario::on(api, client, Owned::All);
    scenario.memcached("cache", 1);
    scenario.until("it is gone", |api| api.get("memcacheds", "cache").is_none()).await;
    scenario.quiet().await;
    let page = scenario.metrics.page();
    assert!(page.contains("controller_runtime_reconcile_errors_total{controller=\"memcached\"} 0"), "{page}");
    scenario.end().await;
}

#[tokio::test]
async fn a_429_is_answered_after_the_time_that_the_server_asks_for() {
    let (api, client) = Api::start();
    api.fault(Fault { retry_after: Some(1), ..Fault::new("patch", "deployments", 429, "TooManyRequests") });
    let scenario = Scenario::on(api, client, Owned::All);
    let start = std::time::Instant::now();
    scenario.available("cache", 1).await;
    assert!(start.elapsed() >= Duration::from_secs(1));
    assert_eq!(
        condition(&scenario.api, "cache", "Degraded")["status"],
        "False",
        "a user need not hear of it"
    );
    scenario.end().await;
}

#[tokio::test]
async fn an_expired_watch_410_begins_again_and_misses_nothing() {
    let scenario = Scenario::start(Owned::All);
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
        .until("what nobody heard of is put right", |api| {
            api.get("deployments", "cache").is_some_and(|deployment| deployment["spec"]["replicas"] == 2)
        })
        .await;
    scenario.end().await;
}

#[tokio::test]
async fn an_api_server_that_goes_away_is_waited_for_and_nothing_is_lost_or_done_twice() {
    let scenario = Scenario::start(Owned::All);
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
    scenario.roll_out("one");
    scenario.roll_out("two");
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

#[tokio::test]
async fn rubbish_from_the_api_server_is_a_backoff() {
    let (api, client) = Api::start();
    api.fault(Fault { times: 3, code: 200, ..Fault::new("patch", "deployments", 200, "Rubbish") });
    let scenario = Scenario::on(api, client, Owned::All);
    scenario.memcached("cache", 1);
    scenario.until("it is made in the end", |api| api.get("deployments", "cache").is_some()).await;
    scenario.end().await;
}

#[tokio::test]
async fn a_deletion_is_told_once_and_survives_a_failing_finalizer() {
    let scenario = Scenario::start(Owned::All);
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

#[tokio::test]
async fn nothing_waits_for_a_memcached_that_is_gone() {
    let scenario = Scenario::start(Owned::All);
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

#[tokio::test]
async fn a_spec_that_the_schema_lets_through_but_nobody_can_build_is_told_and_blocks_nobody() {
    let scenario = Scenario::start(Owned::All);
    scenario.memcached("odd", 1);
    scenario.api.change("memcacheds", "odd", |memcached| memcached["spec"]["image"] = json!("not an image"));
    let told = |api: &Api| condition(api, "odd", "Degraded")["reason"] == "InvalidSpec";
    scenario.until("it is told", told).await;
    scenario.available("even", 1).await;
    scenario.end().await;
}

#[tokio::test]
async fn every_request_is_allowed_by_a_rule_and_every_rule_is_used() {
    // The server asserts the first half on every request of every scenario; this one asks for everything there is.
    let (api, client) = Api::start();
    for resource in ["deployments", "services", "poddisruptionbudgets"] {
        api.fault(Fault { name: Some("cache"), ..Fault::new("patch", resource, 409, "Conflict") });
    }
    let scenario = Scenario::on(api, client, Owned::All);
    scenario.memcached("cache", 2);
    let made = |api: &Api| {
        ["deployments", "services", "poddisruptionbudgets"].iter().all(|r| api.get(r, "cache").is_some())
    };
    scenario.until("everything is made", made).await;
    scenario.api.change("memcacheds", "cache", |memcached| memcached["spec"]["size"] = json!(1));
    scenario.until("the budget is gone", |api| api.get("poddisruptionbudgets", "cache").is_none()).await;
    scenario.quiet().await;
    let mut left = unused(&scenario.api.calls());
    // A repeated event is patched no sooner than ten seconds after the first.
    left.remove("patch events");
    assert!(left.is_empty(), "rules that nothing uses: {left:?}");
    scenario.end().await;
}

#[tokio::test]
async fn told_to_stop_it_finishes_and_ends() {
    let scenario = Scenario::start(Owned::All);
    scenario.memcached("cache", 3);
    scenario.until("work has begun", |api| !api.writes().is_empty()).await;
    let api = scenario.api.clone();
    scenario.end().await;
    let calls = api.calls().len();
    sleep(Duration::from_millis(300)).await;
    assert_eq!(api.calls().len(), calls, "nothing after the end");
}

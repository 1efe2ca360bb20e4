//! What plain kube-rs code uses of the manager: controllers beside its own ones, and the caches and queues of these.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Secret};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::{Api, Patch, PatchParams};
use kube::runtime::controller::Action;
use kube::runtime::{Controller, watcher};
use kube::{Client, ResourceExt};
use operator_runtime::context::Context;
use operator_runtime::controller::{Child, Children, Error, Key, Observed, Reconciler, Watches};
use operator_runtime::rbac::Rule;
use operator_runtime::testing::{MockApi, Scenario, ScenarioSettings};
use operator_runtime::{Identity, Operator};
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

const IDENTITY: Identity = Identity {
    name: "plain-operator",
    group: "example.com",
    version: "0.0.1",
    about: "Uses plain kube-rs",
    image: "example.com/plain-operator",
};

/// Annotates Secrets; one named `broken` fails.
async fn reconcile(secret: Arc<Secret>, context: Arc<Context>) -> Result<Action, kube::Error> {
    if secret.name_any() == "broken" {
        return Err(kube::Error::LinesCodecMaxLineLengthExceeded);
    }
    if secret.annotations().contains_key("seen") {
        return Ok(Action::await_change());
    }
    let secrets: Api<Secret> = Api::namespaced(context.client().clone(), "default");
    let patch = Patch::Merge(json!({"metadata": {"annotations": {"seen": ""}}}));
    secrets.patch(&secret.name_any(), &PatchParams::default(), &patch).await?;
    Ok(Action::requeue(Duration::from_hours(1)))
}

fn secrets() -> Operator {
    let rules = [Rule::new("", "secrets", &["list", "patch", "watch"], "annotates them")];
    Operator::new(IDENTITY).kube_controller("secret", rules, |context, stop, measure| {
        let secrets: Api<Secret> = Api::all(context.client().clone());
        let retry =
            |_: Arc<Secret>, _: &kube::Error, _: Arc<Context>| Action::requeue(Duration::from_hours(1));
        Controller::new(secrets, watcher::Config::default()).graceful_shutdown_on(stop.wait()).run(
            measure.reconcile(reconcile),
            retry,
            Arc::new(context),
        )
    })
}

#[tokio::test(start_paused = true)]
async fn controller_of_kube_runs_while_the_manager_leads_and_has_the_same_metrics() {
    let (api, client): (MockApi, Client) = MockApi::start();
    let scenario = Scenario::standby(api, client, secrets(), ScenarioSettings::default());
    for name in ["one", "two", "broken"] {
        scenario.api.put("secrets", json!({"metadata": {"name": name, "namespace": "default"}}));
    }
    let seen = |api: &MockApi, name: &str| {
        api.get("secrets", name).unwrap()["metadata"]["annotations"]["seen"] == ""
    };
    tokio::time::sleep(Duration::from_mins(1)).await;
    assert!(!seen(&scenario.api, "one"), "it does not lead");
    scenario.lead();
    scenario.until("the Secrets are annotated", |api| seen(api, "one") && seen(api, "two")).await;
    scenario.quiet().await;
    let page = scenario.metrics.page();
    let value = |line: &str| {
        let found = page.lines().find_map(|found| found.strip_prefix(line)).unwrap_or_default();
        found.trim().parse::<f64>().unwrap_or_else(|_| panic!("{line}\nis not in\n{page}"))
    };
    let total = |result: &str| {
        value(&format!("controller_runtime_reconcile_total{{controller=\"secret\",result=\"{result}\"}}"))
    };
    assert!(total("requeue_after") >= 2.0 && total("success") >= 2.0, "{page}");
    assert!(total("error") >= 1.0, "{page}");
    let errors = value("controller_runtime_reconcile_errors_total{controller=\"secret\"}");
    assert!((errors - total("error")).abs() < 0.1);
    let count = value("controller_runtime_reconcile_time_seconds_count{controller=\"secret\"}");
    assert!((count - errors - total("requeue_after") - total("success")).abs() < 0.1, "{page}");
    assert!(value("controller_runtime_active_workers{controller=\"secret\"}").abs() < 0.1);
    scenario.end().await;
}

/// Counts how often it is called.
struct Counts {
    config: Child<ConfigMap>,
    calls: Arc<AtomicUsize>,
}

impl Reconciler for Counts {
    type Object = Namespace;
    type Status = ();
    type External = ();

    fn desired(&self, namespace: &Namespace, _: &Observed<Self>) -> Result<Children, Error> {
        self.calls.fetch_add(1, Ordering::SeqCst);
        let metadata = ObjectMeta {
            name: Some("notes".to_owned()),
            namespace: Some(namespace.name_any()),
            ..ObjectMeta::default()
        };
        let mut children = Children::new();
        children.add(self.config, ConfigMap { metadata, ..ConfigMap::default() });
        Ok(children)
    }

    fn status(&self, _: &Namespace, _: &Observed<Self>) {}
}

#[tokio::test(start_paused = true)]
async fn other_code_reads_the_cache_of_a_controller_and_adds_to_its_queue() {
    let calls = Arc::<AtomicUsize>::default();
    let counted = Arc::clone(&calls);
    let mut objects = None;
    let operator = Operator::new(IDENTITY).controller(|watches: &mut Watches<Namespace>| {
        objects = Some(watches.objects());
        Counts { config: watches.child(), calls: counted }
    });
    let objects = objects.unwrap();
    let key = |name: &str| Key { namespace: String::new(), name: name.to_owned() };
    assert!(objects.list().is_empty(), "the controller does not run yet");
    objects.reconcile(&key("team"));

    let scenario = Scenario::start(operator);
    scenario.api.put("namespaces", json!({"metadata": {"name": "team", "labels": {"tier": "gold"}}}));
    scenario.until("it has its child", |api| api.get("configmaps", "team/notes").is_some()).await;
    scenario.quiet().await;
    assert_eq!(objects.get(&key("team")).unwrap().labels()["tier"], "gold");
    assert!(objects.get(&key("absent")).is_none());
    assert_eq!(objects.list().len(), 1);

    let before = calls.load(Ordering::SeqCst);
    scenario.quiet().await;
    assert_eq!(calls.load(Ordering::SeqCst), before, "nothing changes");
    objects.reconcile(&key("team"));
    objects.reconcile(&key("absent"));
    scenario.quiet().await;
    assert_eq!(calls.load(Ordering::SeqCst), before + 1);

    scenario.api.delete("namespaces", "team");
    scenario.quiet().await;
    assert!(objects.list().is_empty());
    scenario.end().await;
}

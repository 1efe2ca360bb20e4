//! A second operator: a `StatefulSet` with a child of another name, an external resource, two controllers and a task of
//! plain kube-rs in one manager.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use futures::StreamExt;
use k8s_openapi::api::apps::v1::{StatefulSet, StatefulSetSpec};
use k8s_openapi::api::core::v1::{ConfigMap, Container, PodTemplateSpec, Secret};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, ObjectMeta};
use kube::runtime::controller::Action;
use kube::runtime::{Controller, watcher};
use kube::{CustomResource, ResourceExt};
use operator_runtime::conditions::ConditionStatus::{False, True};
use operator_runtime::context::{Context, ShutdownSignal};
use operator_runtime::controller::{
    Child, ChildOptions, Children, Cleanup, Error, External, Invalid, Observed, Reconciler, Status, Watches,
};
use operator_runtime::crd::Crd;
use operator_runtime::rbac::Rule;
use operator_runtime::testing::{ControlPlane, Fault, MockApi, MockOptions, Scenario, ScenarioSettings};
use operator_runtime::views::Rollout;
use operator_runtime::{Identity, Operator, labels, workload};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const IDENTITY: Identity = Identity {
    name: "broker-operator",
    group: "broker.example.com",
    version: "0.0.1",
    about: "Runs brokers",
    image: "example.com/broker-operator",
};

/// Desired state of a Queue.
#[derive(CustomResource, Serialize, Deserialize, JsonSchema, Clone, Debug, Default, PartialEq)]
#[kube(
    group = "broker.example.com",
    version = "v1",
    kind = "Queue",
    namespaced,
    status = "BrokerStatus",
    derive = "Default"
)]
struct QueueSpec {
    /// Number of members.
    #[schemars(range(min = 1, max = 9))]
    members: i32,
    /// Settings of the members.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    settings: BTreeMap<String, String>,
}

/// Desired state of a Bucket.
#[derive(CustomResource, Serialize, Deserialize, JsonSchema, Clone, Debug, Default, PartialEq)]
#[kube(
    group = "storage.example.com",
    version = "v1",
    kind = "Bucket",
    status = "BrokerStatus",
    derive = "Default"
)]
struct BucketSpec {
    /// Where it is.
    region: String,
}

/// Observed state.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, Default, PartialEq)]
struct BrokerStatus {
    #[serde(default)]
    #[schemars(schema_with = "operator_runtime::conditions::schema")]
    conditions: Vec<Condition>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    url: Option<String>,
}
impl Status for BrokerStatus {
    fn conditions(&self) -> &[Condition] {
        &self.conditions
    }
    fn conditions_mut(&mut self) -> Option<&mut Vec<Condition>> {
        Some(&mut self.conditions)
    }
}

struct Queues {
    members: Child<StatefulSet, Rollout>,
    config: Child<ConfigMap>,
}

impl Queues {
    fn new(watches: &mut Watches<Queue>) -> Self {
        Self { members: watches.child(), config: watches.child_with(ChildOptions::new().optional()) }
    }
}

impl Reconciler for Queues {
    type Object = Queue;
    type Status = BrokerStatus;
    type External = ();

    fn desired(&self, queue: &Queue, observed: &Observed<Self>) -> Result<Children, Error> {
        if queue.spec.members < 1 {
            return Err(Invalid::new("spec.members: must be at least 1").into());
        }
        let name = queue.name_any();
        let config = format!("{name}-config");
        let selector = labels::selector("queue", &name);
        let named = |name: &str| ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() };
        let mut children = Children::new();
        if !queue.spec.settings.is_empty() {
            children.add(
                self.config,
                ConfigMap {
                    metadata: named(&config),
                    data: Some(queue.spec.settings.clone()),
                    ..ConfigMap::default()
                },
            );
        }
        // The second step waits for the first one.
        if queue.spec.settings.is_empty() || observed.child(self.config, &config).is_some() {
            children.add(
                self.members,
                StatefulSet {
                    metadata: named(&name),
                    spec: Some(StatefulSetSpec {
                        replicas: Some(queue.spec.members),
                        selector: workload::select(&selector),
                        service_name: Some(name.clone()),
                        template: PodTemplateSpec {
                            metadata: Some(ObjectMeta { labels: Some(selector), ..ObjectMeta::default() }),
                            spec: Some(workload::restricted_pod(vec![Container {
                                name: "broker".to_owned(),
                                image: Some("broker:1".to_owned()),
                                ..workload::restricted_container()
                            }])),
                        },
                        ..StatefulSetSpec::default()
                    }),
                    ..StatefulSet::default()
                },
            );
        }
        Ok(children)
    }

    fn status(&self, queue: &Queue, observed: &Observed<Self>) -> BrokerStatus {
        let rollout = observed.child(self.members, &queue.name_any());
        let complete = rollout.is_some_and(|rollout| rollout.is_complete(queue.spec.members));
        let mut status = observed.draft();
        status.set("Available", if complete { True } else { False }, "Members", "The members are counted");
        status.degraded(observed.problem());
        status.finish()
    }
}

/// A service outside of the cluster.
#[derive(Clone, Default)]
struct Cloud {
    buckets: Arc<Mutex<BTreeSet<String>>>,
    failures: Arc<AtomicUsize>,
}

impl Cloud {
    fn call(&self) -> Result<(), Error> {
        let left = self.failures.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
        left.map_or(Ok(()), |_| Err(Error::other("the cloud is away")))
    }

    fn has(&self, name: &str) -> bool {
        self.buckets.lock().unwrap().contains(name)
    }
}

struct Buckets {
    cloud: Cloud,
}

impl Reconciler for Buckets {
    type Object = Bucket;
    type Status = BrokerStatus;
    type External = String;
    const FINALIZER: Option<&'static str> = Some("storage.example.com/finalizer");

    async fn reconcile_external(
        &self,
        bucket: &Bucket,
        _: &Observed<Self>,
        _: &Context,
    ) -> Result<External<String>, Error> {
        self.cloud.call()?;
        self.cloud.buckets.lock().unwrap().insert(bucket.name_any());
        let url = format!("https://{}.example.com/{}", bucket.spec.region, bucket.name_any());
        Ok(External::new(url).again_after(Duration::from_mins(5)))
    }

    fn desired(&self, _: &Bucket, _: &Observed<Self>) -> Result<Children, Error> {
        Ok(Children::new())
    }

    fn status(&self, _: &Bucket, observed: &Observed<Self>) -> BrokerStatus {
        let mut status = observed.draft();
        status.url = observed.external().cloned();
        let state = if status.url.is_some() { True } else { False };
        status.set("Available", state, "Bucket", "Whether the bucket exists");
        status.degraded(observed.problem());
        status.finish()
    }

    async fn cleanup(&self, bucket: &Bucket, _: &Observed<Self>, _: &Context) -> Result<Cleanup, Error> {
        self.cloud.call()?;
        self.cloud.buckets.lock().unwrap().remove(&bucket.name_any());
        Ok(Cleanup::Done)
    }
}

/// Counts Secrets with plain kube-rs.
async fn count_secrets(context: Context, stop: ShutdownSignal, seen: Arc<AtomicUsize>) -> Result<(), Error> {
    for api in context.apis::<Secret>() {
        Controller::new(api, watcher::Config::default())
            .graceful_shutdown_on(stop.clone().wait())
            .run(
                |_, seen: Arc<Arc<AtomicUsize>>| async move {
                    seen.fetch_add(1, Ordering::SeqCst);
                    Ok::<_, kube::Error>(Action::await_change())
                },
                |_, _, _| Action::requeue(Duration::from_secs(1)),
                Arc::new(Arc::clone(&seen)),
            )
            .for_each(|_| std::future::ready(()))
            .await;
    }
    Ok(())
}

fn operator(cloud: &Cloud, secrets: &Arc<AtomicUsize>) -> Operator {
    let seen = Arc::clone(secrets);
    let rules = [Rule::new("", "secrets", &["list", "watch"], "counts them")];
    Operator::new(IDENTITY)
        .crd(Crd::new::<Queue>())
        .crd(Crd::new::<Bucket>())
        .controller(Queues::new)
        .controller(|_| Buckets { cloud: cloud.clone() })
        .task("secrets", rules, move |context, stop| count_secrets(context, stop, Arc::clone(&seen)))
        .sample("queue.yaml", queue("sample", 1))
        .sample("bucket.yaml", bucket("sample"))
}

fn queue(name: &str, members: i32) -> serde_json::Value {
    json!({
        "apiVersion": "broker.example.com/v1", "kind": "Queue",
        "metadata": {"name": name}, "spec": {"members": members, "settings": {"durable": "true"}},
    })
}

fn bucket(name: &str) -> serde_json::Value {
    json!({
        "apiVersion": "storage.example.com/v1", "kind": "Bucket",
        "metadata": {"name": name}, "spec": {"region": "north"},
    })
}

fn start(cloud: &Cloud) -> Scenario {
    Scenario::start(operator(cloud, &Arc::default()))
}

fn replicas(api: &MockApi, name: &str) -> serde_json::Value {
    api.get("statefulsets", name).unwrap_or_default()["spec"]["replicas"].clone()
}

#[tokio::test(start_paused = true)]
async fn queue_is_a_stateful_set_and_a_config_map_that_follow_its_spec() {
    let scenario = start(&Cloud::default());
    scenario.api.put("queues", queue("q", 3));
    scenario.until("it has its members", |api| replicas(api, "q") == 3).await;
    assert_eq!(scenario.api.writes()[0..2].iter().filter(|write| *write == "patch statefulsets").count(), 0);
    let owner = scenario.api.get("configmaps", "q-config").unwrap()["metadata"]["ownerReferences"][0].clone();
    assert_eq!((&owner["kind"], &owner["name"]), (&json!("Queue"), &json!("q")));
    scenario.roll_out("statefulsets", "q");
    scenario
        .until("it is available", |api| api.condition("queues", "q", "Available")["status"] == "True")
        .await;

    scenario.api.change("statefulsets", "q", |set| set["spec"]["replicas"] = json!(1));
    scenario.until("drift is reverted", |api| replicas(api, "q") == 3).await;
    scenario.api.change("configmaps", "q-config", |config| config["data"]["durable"] = json!("false"));
    let durable =
        |api: &MockApi| api.get("configmaps", "q-config").unwrap_or_default()["data"]["durable"].clone();
    scenario.until("drift of a kind without generations is reverted", |api| durable(api) == "true").await;
    scenario.api.delete("configmaps", "q-config");
    scenario.until("a deleted child is created again", |api| durable(api) == "true").await;

    scenario.api.change("queues", "q", |queue| queue["spec"]["settings"] = json!({}));
    scenario.until("it is deleted", |api| api.get("configmaps", "q-config").is_none()).await;
    scenario.quiet().await;
    let calls = scenario.api.calls().len();
    scenario.quiet().await;
    assert_eq!(scenario.api.calls().len(), calls, "no request at rest");
    scenario.end().await;
}

#[tokio::test(start_paused = true)]
async fn external_resource_is_created_reported_retried_and_cleaned_up() {
    let cloud = Cloud::default();
    cloud.failures.store(2, Ordering::SeqCst);
    let scenario = start(&cloud);
    scenario.api.put("buckets", bucket("b"));
    let degraded = |api: &MockApi| api.condition("buckets", "b", "Degraded")["reason"] == "ExternalFailed";
    scenario.until("the failure is reported", degraded).await;
    scenario
        .until("it exists", |api| {
            api.get("buckets", "b").unwrap()["status"]["url"] == "https://north.example.com/b"
        })
        .await;
    assert!(cloud.has("b"));
    assert_eq!(scenario.api.condition("buckets", "b", "Degraded")["status"], "False");
    cloud.failures.store(2, Ordering::SeqCst);
    scenario.api.delete("buckets", "b");
    let failed = "Failed to clean up the custom resource b, retrying: the cloud is away";
    let shown = |api: &MockApi| api.condition("buckets", "b", "Degraded")["message"] == failed;
    scenario.until("the failure is reported", shown).await;
    assert_eq!(scenario.api.condition("buckets", "b", "Degraded")["reason"], "Finalizing");
    scenario.until("it is gone", |api| api.get("buckets", "b").is_none()).await;
    assert!(!cloud.has("b"), "cleaned up although the cloud was away twice");
    scenario.until("there is a warning", |api| api.events().contains(&"CleanupFailed".to_owned())).await;
    scenario.end().await;
}

#[tokio::test(start_paused = true)]
async fn controllers_and_a_task_run_in_one_manager_once_it_leads() {
    let (api, client) = MockApi::start();
    let secrets = Arc::<AtomicUsize>::default();
    let operator = operator(&Cloud::default(), &secrets);
    let mut scenario = Scenario::standby(api, client, operator, ScenarioSettings::default());
    scenario.api.put("queues", queue("q", 1));
    scenario.api.put("buckets", bucket("b"));
    scenario.api.put("secrets", json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}}));
    scenario.synced().await;
    scenario.quiet().await;
    assert_eq!((scenario.api.writes().len(), secrets.load(Ordering::SeqCst)), (0, 0));
    scenario.lead();
    scenario
        .until("both are reconciled", |api| {
            replicas(api, "q") == 1 && api.get("buckets", "b").unwrap()["status"]["url"].is_string()
        })
        .await;
    scenario.until("the task counts", |_| secrets.load(Ordering::SeqCst) > 0).await;
    let page = scenario.metrics.page();
    for controller in ["queue", "bucket"] {
        let line =
            format!("controller_runtime_reconcile_total{{controller=\"{controller}\",result=\"error\"}} 0");
        assert!(page.contains(&line), "{page}");
    }
    scenario.end().await;
}

#[tokio::test(start_paused = true)]
async fn permissions_derive_from_what_is_declared_and_are_used() {
    let scenario = start(&Cloud::default());
    scenario.api.fault(Fault { name: Some("q"), ..Fault::new("patch", "statefulsets", 409, "Conflict") });
    scenario
        .api
        .fault(Fault { name: Some("q-config"), ..Fault::new("patch", "configmaps", 409, "Conflict") });
    scenario.api.put("queues", queue("q", 1));
    scenario.api.put("buckets", bucket("b"));
    scenario.until("it has its members", |api| replicas(api, "q") == 1).await;
    scenario.api.change("queues", "q", |queue| queue["spec"]["settings"] = json!({}));
    scenario.until("it is deleted", |api| api.get("configmaps", "q-config").is_none()).await;
    scenario.quiet().await;
    let mut left = scenario.unused(&scenario.api.calls());
    // A repeated event is patched no sooner than ten seconds after the first.
    left.remove("patch events");
    assert!(left.is_empty(), "permissions that nothing uses: {left:?}");
    scenario.end().await;
}

#[tokio::test(start_paused = true)]
async fn last_spec_wins_however_responses_and_watch_events_interleave() {
    for seed in 1..=20 {
        let options = MockOptions { shuffle: Some(seed * 7919), ..MockOptions::default() };
        let (api, client) = MockApi::start_with(options);
        let operator = operator(&Cloud::default(), &Arc::default());
        let scenario = Scenario::on(api, client, operator, ScenarioSettings::default());
        for (index, members) in [3, 5, 2, 4].into_iter().enumerate() {
            for name in ["a", "b", "c"] {
                if index == 0 {
                    scenario.api.put("queues", queue(name, members));
                } else {
                    scenario.api.change("queues", name, |queue| queue["spec"]["members"] = json!(members));
                }
            }
            tokio::time::sleep(Duration::from_millis(seed * 3)).await;
            for name in ["a", "b", "c"] {
                if scenario.api.get("statefulsets", name).is_some() {
                    scenario.api.change("statefulsets", name, |set| set["spec"]["replicas"] = json!(7));
                }
            }
        }
        let done = |api: &MockApi| ["a", "b", "c"].iter().all(|name| replicas(api, name) == 4);
        scenario.until(&format!("seed {seed}"), done).await;
        scenario.quiet().await;
        assert!(done(&scenario.api), "seed {seed}");
        scenario.end().await;
    }
}

#[tokio::test]
async fn control_plane_accepts_crds_samples_and_children() {
    let Some(plane) = ControlPlane::start().await.unwrap() else {
        test_support::skip("set KUBEBUILDER_ASSETS, or TEST_ASSET_KUBE_APISERVER and TEST_ASSET_ETCD");
        return;
    };
    let cloud = Cloud::default();
    let operator = operator(&cloud, &Arc::default());
    plane.install(&operator).await.unwrap();
    plane.create_samples(&operator).await.unwrap();
    let running = plane.run(&operator);
    plane
        .until("the sample has its members", async |client| {
            let sets: kube::Api<StatefulSet> = kube::Api::default_namespaced(client);
            sets.get_opt("sample").await.unwrap().is_some()
        })
        .await;
    plane.until("the bucket exists", async |_| cloud.has("sample")).await;
    running.stop().await;
}

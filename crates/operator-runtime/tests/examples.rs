//! The operators of `examples/` against the mock API server: what they do, and that no order of events leaves anything wrong.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

#[allow(unreachable_pub, dead_code, reason = "an example is a program")]
#[path = "../examples/external.rs"]
mod external;
#[allow(unreachable_pub, dead_code, reason = "an example is a program")]
#[path = "../examples/node_labels.rs"]
mod node_labels;
#[allow(unreachable_pub, dead_code, reason = "an example is a program")]
#[path = "../examples/references.rs"]
mod references;

use external::{Cloud, CloudError};
use operator_runtime::Operator;
use operator_runtime::testing::{ControlPlane, Fault, MockApi, MockOptions, Scenario, ScenarioSettings};
use serde_json::{Value, json};
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// Numbers that only seem random: the seed of a failure repeats it.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

/// Starts an operator against a server whose responses and watch events are delayed at random.
fn shuffled(operator: Operator, seed: u64) -> Scenario {
    let timeout = Duration::from_secs(2);
    let (api, client) = MockApi::start_with(MockOptions { timeout, shuffle: Some(seed) });
    Scenario::on(api, client, operator, ScenarioSettings::default())
}

/// Has the next write of a resource fail, before or after it was stored, or have no response.
fn disturb(random: &mut Random, api: &MockApi, resources: &[&'static str]) {
    let resource = resources[usize::try_from(random.below(resources.len() as u64)).unwrap()];
    let fault = match random.below(4) {
        0 => Fault::new("patch", resource, 409, "Conflict"),
        1 => Fault::new("patch", resource, 500, "InternalError"),
        2 => Fault { swallow: true, ..Fault::new("patch", resource, 0, "") },
        _ => Fault::new("list", resource, 500, "InternalError"),
    };
    api.fault(fault);
}

fn node(name: &str, memory: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": {"zone": "a"}},
        "status": {"capacity": {"memory": memory}},
    })
}

fn label(api: &MockApi, node: &str) -> Value {
    api.get("nodes", node).unwrap_or_default()["metadata"]["labels"][node_labels::LABEL].clone()
}

#[tokio::test(start_paused = true)]
async fn node_is_labelled_and_nothing_else_of_it_is_changed() {
    let scenario = Scenario::start(node_labels::operator());
    let api = &scenario.api;
    api.put("nodes", node("a", "8388608Ki"));
    scenario.until("it is labelled", |api| label(api, "a") == "small").await;
    scenario.quiet().await;
    assert_eq!(api.writes(), ["patch nodes"]);
    assert_eq!(api.get("nodes", "a").unwrap()["metadata"]["labels"]["zone"], "a");
    api.change("nodes", "a", |node| node["status"]["capacity"]["memory"] = json!("33554432Ki"));
    scenario.until("it follows", |api| label(api, "a") == "large").await;
    api.change("nodes", "a", |node| node["metadata"]["labels"][node_labels::LABEL] = json!("other"));
    scenario.until("drift is reverted", |api| label(api, "a") == "large").await;
    api.change("nodes", "a", |node| node["status"] = json!({}));
    scenario.until("it is removed", |api| label(api, "a").is_null()).await;
    scenario.quiet().await;
    let calls = api.calls().len();
    scenario.quiet().await;
    assert_eq!(api.calls().len(), calls, "no request at rest");
    scenario.end().await;

    let permissions = node_labels::operator().permissions();
    let nodes = permissions.cluster.iter().filter(|rule| rule.resource.starts_with("nodes"));
    let mut verbs = nodes.flat_map(|rule| rule.verbs.iter().copied()).collect::<Vec<_>>();
    verbs.sort_unstable();
    assert_eq!(verbs, ["list", "patch", "watch"], "neither status nor finalizers");
}

fn zone(secret: &str) -> Value {
    json!({
        "apiVersion": "dns.example.com/v1", "kind": "Zone", "metadata": {"name": "z"},
        "spec": {"credentials": {"namespace": "vault", "name": secret}},
    })
}

fn record(name: &str, zone: &str, address: &str) -> Value {
    json!({
        "apiVersion": "dns.example.com/v1", "kind": "Record",
        "metadata": {"name": name, "labels": {references::ZONE: zone}}, "spec": {"address": address},
    })
}

fn secret(name: &str, keys: &Value) -> Value {
    json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": "vault"}, "stringData": keys})
}

fn published(api: &MockApi) -> Value {
    api.get("configmaps", "z").unwrap_or_default()["data"].clone()
}

fn reason(api: &MockApi, resource: &str, name: &str, condition: &str) -> Value {
    api.condition(resource, name, condition)["reason"].clone()
}

#[tokio::test(start_paused = true)]
async fn references_trigger_whichever_side_changes() {
    let scenario = Scenario::start(references::operator());
    let api = &scenario.api;
    api.put("records", record("www", "z", "1.2.3.4"));
    scenario.until("it waits", |api| reason(api, "records", "www", "Available") == "ZoneMissing").await;
    api.put("zones", zone("token"));
    let missing = |api: &MockApi| reason(api, "zones", "z", "Degraded") == "CredentialsMissing";
    scenario.until("it waits for its Secret", missing).await;
    scenario
        .until("the Record waits for it", |api| {
            reason(api, "records", "www", "Available") == "ZoneUnavailable"
        })
        .await;
    scenario.quiet().await;
    api.put("secrets", secret("token", &json!({"other": "x"})));
    let message = |api: &MockApi| api.condition("zones", "z", "Degraded")["message"].clone();
    scenario
        .until("a key is missing", |api| message(api) == "the Secret vault/token has no key `token`")
        .await;
    api.put("secrets", secret("token", &json!({"token": "x"})));
    scenario.until("it is published", |api| reason(api, "records", "www", "Available") == "Published").await;
    assert_eq!(published(api), json!({"www": "1.2.3.4"}));
    scenario.quiet().await;

    api.put("records", record("mail", "other", "1.2.3.5"));
    scenario.quiet().await;
    assert_eq!(published(api), json!({"www": "1.2.3.4"}));
    api.change("records", "mail", |record| record["metadata"]["labels"][references::ZONE] = json!("z"));
    scenario
        .until("a label is added", |api| published(api) == json!({"www": "1.2.3.4", "mail": "1.2.3.5"}))
        .await;
    api.change("records", "www", |record| record["spec"]["address"] = json!("::1"));
    scenario.until("an address changes", |api| published(api)["www"] == "::1").await;
    api.delete("records", "mail");
    scenario.until("a Record is deleted", |api| published(api) == json!({"www": "::1"})).await;

    // The Secret has not changed since the Zone refers to it.
    scenario.quiet().await;
    api.delete("secrets", "vault/token");
    scenario.until("the Secret is deleted", missing).await;
    assert_eq!(published(api), json!({"www": "::1"}), "what is published stays");
    api.put("secrets", secret("new", &json!({"token": "x"})));
    api.change("zones", "z", |zone| zone["spec"]["credentials"]["name"] = json!("new"));
    scenario
        .until("another one is referred to", |api| reason(api, "zones", "z", "Degraded") == "AsExpected")
        .await;
    api.delete("zones", "z");
    scenario
        .until("the Zone is gone", |api| reason(api, "records", "www", "Available") == "ZoneMissing")
        .await;
    scenario.quiet().await;
    let calls = api.calls().len();
    scenario.quiet().await;
    assert_eq!(api.calls().len(), calls, "no request at rest");
    scenario.end().await;
}

#[tokio::test(start_paused = true)]
async fn reference_to_a_namespace_that_is_not_watched_is_shown() {
    let (api, client) = MockApi::start();
    let namespaces = vec!["default".to_owned(), "team".to_owned()];
    let settings = ScenarioSettings { namespaces, ..ScenarioSettings::default() };
    let scenario = Scenario::on(api, client, references::operator(), settings);
    let api = &scenario.api;
    api.put("zones", zone("token"));
    let unwatched = |api: &MockApi| reason(api, "zones", "z", "Degraded") == "NamespaceNotWatched";
    scenario.until("it is shown", unwatched).await;
    // Another namespace of those that are watched is fine, although each is watched by itself.
    let mut elsewhere = secret("token", &json!({"token": "x"}));
    elsewhere["metadata"]["namespace"] = json!("team");
    api.put("secrets", elsewhere);
    api.change("zones", "z", |zone| zone["spec"]["credentials"]["namespace"] = json!("team"));
    scenario.until("it is followed", |api| reason(api, "zones", "z", "Available") == "Published").await;
    scenario.until("all is well", |api| reason(api, "zones", "z", "Degraded") == "AsExpected").await;
    api.delete("secrets", "team/token");
    scenario
        .until("it is missing", |api| reason(api, "zones", "z", "Degraded") == "CredentialsMissing")
        .await;
    scenario.end().await;
}

#[tokio::test(start_paused = true)]
async fn references_end_up_right_in_any_order() {
    for seed in 1..=40 {
        let mut random = Random(seed * 7919);
        let scenario = shuffled(references::operator(), seed);
        let api = &scenario.api;
        for step in 0..40 {
            match random.below(9) {
                0 => api.put("zones", zone(["one", "two"][usize::try_from(random.below(2)).unwrap()])),
                1 => api.delete("secrets", "vault/one"),
                2 => api.put("secrets", secret("one", &json!({"token": step.to_string()}))),
                3 => api.put("secrets", secret("two", &json!({}))),
                4 => api.delete("records", "www"),
                5 => api.put("records", record("www", "z", &step.to_string())),
                6 => api.put(
                    "records",
                    record("mail", ["z", "y"][usize::try_from(random.below(2)).unwrap()], "1"),
                ),
                7 => disturb(&mut random, api, &["configmaps", "zones/status", "records/status"]),
                _ => sleep(Duration::from_millis(random.below(60))).await,
            }
        }
        api.clear_faults();
        api.put("zones", zone("one"));
        api.put("secrets", secret("one", &json!({"token": "last"})));
        api.put("records", record("www", "z", "last"));
        api.put("records", record("mail", "z", "last"));
        let what = format!("seed {seed}");
        let done = |api: &MockApi| {
            published(api) == json!({"mail": "last", "www": "last"})
                && ["www", "mail"].iter().all(|name| reason(api, "records", name, "Available") == "Published")
                && reason(api, "zones", "z", "Degraded") == "AsExpected"
        };
        scenario.until(&what, done).await;
        scenario.quiet().await;
        assert!(done(api), "{what}");
        let calls = api.calls().len();
        scenario.quiet().await;
        assert_eq!(api.calls().len(), calls, "{what}: no request at rest");
        scenario.end().await;
    }
}

/// A cloud that answers as a test says, and otherwise as it should.
#[derive(Default)]
struct Sky {
    answers: Mutex<VecDeque<CloudError>>,
    /// Buckets, and how many calls it takes to delete each.
    buckets: Mutex<BTreeMap<String, usize>>,
    calls: Mutex<Vec<Instant>>,
    hangs: Mutex<bool>,
}

impl Sky {
    async fn call(&self) -> Result<(), CloudError> {
        self.calls.lock().unwrap().push(Instant::now());
        if std::mem::take(&mut *self.hangs.lock().unwrap()) {
            std::future::pending::<()>().await;
        }
        self.answers.lock().unwrap().pop_front().map_or(Ok(()), Err)
    }

    fn fail(&self, error: CloudError) {
        self.answers.lock().unwrap().push_back(error);
    }

    fn calls(&self) -> usize {
        self.calls.lock().unwrap().len()
    }

    fn has(&self, name: &str) -> bool {
        self.buckets.lock().unwrap().contains_key(name)
    }
}

impl Cloud for Sky {
    async fn ensure(&self, name: &str, region: &str) -> Result<String, CloudError> {
        self.call().await?;
        self.buckets.lock().unwrap().entry(name.to_owned()).or_insert(2);
        Ok(format!("https://{region}.example.com/{name}"))
    }

    async fn delete(&self, name: &str) -> Result<bool, CloudError> {
        self.call().await?;
        let mut buckets = self.buckets.lock().unwrap();
        let left = buckets.get_mut(name).map_or(0, |left| {
            *left = left.saturating_sub(1);
            *left
        });
        if left == 0 {
            buckets.remove(name);
        }
        Ok(left == 0)
    }
}

/// An error of the cloud that no retry helps against.
#[tokio::test(start_paused = true)]
async fn cloud_is_not_asked_again_about_what_it_calls_invalid() {
    let sky = Arc::<Sky>::default();
    let scenario = Scenario::start(external::operator(&sky));
    let api = &scenario.api;
    for _ in 0..3 {
        sky.fail(CloudError::UnknownRegion);
    }
    api.put("buckets", bucket("b", "nowhere"));
    let invalid = |api: &MockApi| reason(api, "buckets", "b", "Degraded") == "InvalidSpec";
    scenario.until("it is shown", invalid).await;
    // What does not concern the bucket itself, such as the status of somebody else, has it reconciled.
    api.change("buckets", "b", |bucket| bucket["status"]["url"] = json!("https://nowhere.example.com"));
    sleep(Duration::from_mins(10)).await;
    assert_eq!(sky.calls(), 1);
    api.change("buckets", "b", |bucket| bucket["spec"]["region"] = json!("north"));
    let calls = |_: &MockApi| sky.calls() > 1;
    scenario.until("it is asked about the new region", calls).await;
    scenario.end().await;
}

fn bucket(name: &str, region: &str) -> Value {
    json!({
        "apiVersion": "storage.example.com/v1", "kind": "Bucket",
        "metadata": {"name": name}, "spec": {"region": region},
    })
}

fn url(api: &MockApi, name: &str) -> Value {
    api.get("buckets", name).unwrap_or_default()["status"]["url"].clone()
}

#[tokio::test(start_paused = true)]
async fn external_state_is_kept_until_it_expires_or_the_object_changes() {
    let sky = Arc::<Sky>::default();
    let scenario = Scenario::start(external::operator(&sky));
    let api = &scenario.api;
    api.put("buckets", bucket("b", "north"));
    scenario.until("it exists", |api| url(api, "b") == "https://north.example.com/b").await;
    scenario.quiet().await;
    assert_eq!(sky.calls(), 1, "own writes cause no further call");
    api.change("secrets", "b-key", |secret| secret["data"]["more"] = json!("eA=="));
    scenario.quiet().await;
    assert_eq!(sky.calls(), 1, "nor does a child");
    sleep(Duration::from_mins(6)).await;
    assert_eq!(sky.calls(), 2, "it is asked again in time");
    api.change("buckets", "b", |bucket| bucket["spec"]["region"] = json!("south"));
    scenario.until("it follows", |api| url(api, "b") == "https://south.example.com/b").await;
    assert_eq!(sky.calls(), 3);

    let started = Instant::now();
    sky.fail(CloudError::Busy(Duration::from_secs(90)));
    api.change("buckets", "b", |bucket| bucket["spec"]["region"] = json!("west"));
    let busy = |api: &MockApi| api.condition("buckets", "b", "Degraded")["message"] == "the cloud is busy";
    scenario.until("it is busy", busy).await;
    assert_eq!(url(api, "b"), "https://south.example.com/b");
    for _ in 0..3 {
        sleep(Duration::from_secs(10)).await;
        api.delete("secrets", "b-key");
    }
    assert_eq!(sky.calls(), 4, "Retry-After is honoured whatever happens in the cluster");
    sleep(Duration::from_secs(65)).await;
    scenario.until("it is over", |api| url(api, "b") == "https://west.example.com/b").await;
    assert!(started.elapsed() >= Duration::from_secs(90) && sky.calls() == 5);

    *sky.hangs.lock().unwrap() = true;
    api.change("buckets", "b", |bucket| bucket["spec"]["region"] = json!("east"));
    let late =
        |api: &MockApi| api.condition("buckets", "b", "Degraded")["message"] == "no response within 20 s";
    scenario.until("a call has a deadline", late).await;
    scenario.until("it is repeated", |api| url(api, "b") == "https://east.example.com/b").await;
    scenario.end().await;
}

#[tokio::test(start_paused = true)]
async fn deletion_waits_for_the_external_system_and_shows_it() {
    let sky = Arc::<Sky>::default();
    let scenario = Scenario::start(external::operator(&sky));
    scenario.api.put("buckets", bucket("b", "north"));
    scenario.until("it exists", |api| url(api, "b").is_string()).await;
    scenario.quiet().await;
    let before = sky.calls();
    scenario.api.delete("buckets", "b");
    let waits = |api: &MockApi| {
        let degraded = api.condition("buckets", "b", "Degraded");
        degraded["reason"] == "Finalizing" && degraded["message"] == "The bucket is being emptied"
    };
    scenario.until("it waits", waits).await;
    sleep(Duration::from_secs(8)).await;
    assert_eq!(sky.calls(), before + 1, "own writes cause no further call");
    assert!(sky.has("b"));
    scenario.until("it is gone", |api| api.get("buckets", "b").is_none()).await;
    assert!(!sky.has("b") && !scenario.api.events().contains(&"CleanupFailed".to_owned()));
    scenario.end().await;
}

fn key(api: &MockApi, name: &str) -> Value {
    api.get("secrets", &format!("{name}-key")).unwrap_or_default()["data"]["key"].clone()
}

#[tokio::test(start_paused = true)]
async fn generated_value_is_never_generated_again() {
    let scenario = Scenario::start(external::operator(&Arc::<Sky>::default()));
    let api = &scenario.api;
    api.put("buckets", bucket("b", "north"));
    scenario.until("there is a key", |api| key(api, "b").is_string()).await;
    scenario.quiet().await;
    let first = key(api, "b");
    // Its label, all of them, its owner; and all while the manager does not run.
    for change in [
        json!({"labels": {"app.kubernetes.io/managed-by": "somebody"}}),
        json!({"labels": {}}),
        json!({"ownerReferences": []}),
    ] {
        api.change("secrets", "b-key", |secret| {
            secret["metadata"].as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        });
        let adopted = |api: &MockApi| {
            let metadata = api.get("secrets", "b-key").unwrap()["metadata"].clone();
            metadata["labels"]["app.kubernetes.io/managed-by"] == external::IDENTITY.name
                && metadata["ownerReferences"][0]["name"] == "b"
        };
        scenario.until("it is adopted again", adopted).await;
        assert_eq!(key(api, "b"), first, "{change}");
    }
    scenario.quiet().await;
    api.change("secrets", "b-key", |secret| secret["data"]["key"] = json!("cm90YXRlZA=="));
    scenario.quiet().await;
    assert_eq!(key(api, "b"), "cm90YXRlZA==", "whoever changes it");
    let api = scenario.api.clone();
    scenario.end().await;

    api.change("secrets", "b-key", |secret| secret["metadata"]["labels"] = json!({}));
    let client = api.client(MockOptions::default());
    let operator = external::operator(&Arc::<Sky>::default());
    let scenario = Scenario::on(api, client, operator, ScenarioSettings::default());
    let labelled = |api: &MockApi| {
        api.get("secrets", "b-key").unwrap()["metadata"]["labels"]["app.kubernetes.io/managed-by"].is_string()
    };
    scenario.until("it is found", labelled).await;
    assert_eq!(key(&scenario.api, "b"), "cm90YXRlZA==");
    scenario.end().await;
}

#[tokio::test(start_paused = true)]
async fn external_ends_up_right_and_no_generated_value_is_lost_in_any_order() {
    for seed in 1..=40 {
        let mut random = Random(seed * 104_729);
        let sky = Arc::<Sky>::default();
        let scenario = shuffled(external::operator(&sky), seed);
        let api = &scenario.api;
        let mut first = Value::Null;
        api.put("buckets", bucket("b", "north"));
        for step in 0..40 {
            match random.below(8) {
                0 => sky.fail(CloudError::Away),
                1 => sky.fail(CloudError::Busy(Duration::from_millis(random.below(500)))),
                2 => api.change("buckets", "b", |bucket| bucket["spec"]["region"] = json!(step.to_string())),
                3 if key(api, "b").is_string() => {
                    api.change("secrets", "b-key", |secret| secret["metadata"]["labels"] = json!({}));
                }
                4 => disturb(&mut random, api, &["secrets", "buckets/status", "buckets"]),
                5 => *sky.hangs.lock().unwrap() = random.below(4) == 0,
                _ => sleep(Duration::from_millis(random.below(100))).await,
            }
            if first.is_null() {
                first = key(api, "b");
            }
            assert!(first.is_null() || key(api, "b") == first, "seed {seed}: the key was generated again");
        }
        api.clear_faults();
        sky.answers.lock().unwrap().clear();
        *sky.hangs.lock().unwrap() = false;
        api.change("buckets", "b", |bucket| bucket["spec"]["region"] = json!("last"));
        let what = format!("seed {seed}");
        let done = |api: &MockApi| {
            url(api, "b") == "https://last.example.com/b"
                && api.condition("buckets", "b", "Degraded")["status"] == "False"
        };
        scenario.until(&what, done).await;
        scenario.quiet().await;
        assert!(done(api) && (first.is_null() || key(api, "b") == first), "{what}");
        api.delete("buckets", "b");
        scenario.until(&what, |api| api.get("buckets", "b").is_none()).await;
        assert!(!sky.has("b"), "{what}");
        scenario.end().await;
    }
}

#[tokio::test]
async fn control_plane_runs_the_examples() {
    let Some(plane) = ControlPlane::start().await.unwrap() else {
        test_support::skip("set KUBEBUILDER_ASSETS, or TEST_ASSET_KUBE_APISERVER and TEST_ASSET_ETCD");
        return;
    };
    let operator = references::operator()
        .sample("zone.yaml", zone("token"))
        .sample("record.yaml", record("www", "z", "1.2.3.4"));
    plane.install(&operator).await.unwrap();
    plane.create_samples(&operator).await.unwrap();
    let running = plane.run(&operator);
    let zones: kube::Api<references::Zone> = kube::Api::default_namespaced(plane.client().clone());
    plane
        .until("the zone waits for its Secret", async |_| {
            let status = zones.get("z").await.unwrap().status.unwrap_or_default();
            status.conditions.iter().any(|condition| condition.reason == "CredentialsMissing")
        })
        .await;
    running.stop().await;

    let sky = Arc::<Sky>::default();
    let operator = external::operator(&sky).sample("bucket.yaml", bucket("b", "north"));
    plane.install(&operator).await.unwrap();
    plane.create_samples(&operator).await.unwrap();
    let running = plane.run(&operator);
    let secrets: kube::Api<k8s_openapi::api::core::v1::Secret> =
        kube::Api::default_namespaced(plane.client().clone());
    plane.until("there is a key", async |_| secrets.get_opt("b-key").await.unwrap().is_some()).await;
    let first = secrets.get("b-key").await.unwrap().data;
    let unlabelled = json!({"metadata": {"labels": {"app.kubernetes.io/managed-by": null}}});
    secrets
        .patch("b-key", &kube::api::PatchParams::default(), &kube::api::Patch::Merge(unlabelled))
        .await
        .unwrap();
    plane
        .until("the label is back", async |_| secrets.get("b-key").await.unwrap().metadata.labels.is_some())
        .await;
    assert_eq!(secrets.get("b-key").await.unwrap().data, first);
    running.stop().await;

    let operator = node_labels::operator();
    let nodes: kube::Api<k8s_openapi::api::core::v1::Node> = kube::Api::all(plane.client().clone());
    let node: k8s_openapi::api::core::v1::Node = serde_json::from_value(node("n", "8388608Ki")).unwrap();
    nodes.create(&kube::api::PostParams::default(), &node).await.unwrap();
    plane.install(&operator).await.unwrap();
    let running = plane.run(&operator);
    plane
        .until("the node is labelled", async |_| {
            let labels = nodes.get("n").await.unwrap().metadata.labels.unwrap_or_default();
            labels.contains_key(node_labels::LABEL)
        })
        .await;
    running.stop().await;
}

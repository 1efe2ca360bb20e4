//! What a Memcached costs the API server: by a plain `kube::runtime::Controller`, by the runtime without digests, and by the
//! operator as it is. Ignored: it measures, on a control plane without controllers, so that only the operator writes.
//!
//! ```sh
//! COST_OBJECTS=1000 cargo test -p memcached-operator --test cost -- --ignored --nocapture
//! ```

#![allow(clippy::panic, clippy::unwrap_used, reason = "helpers of tests")]

use futures::StreamExt;
use futures::stream;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Service;
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use kube::api::{Api, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::core::ApiResource;
use kube::runtime::controller::Action;
use kube::runtime::{Controller, watcher};
use kube::{Client, ResourceExt};
use memcached_operator::api::{Memcached, MemcachedSpec, MemcachedStatus, crd};
use memcached_operator::controller::{Memcacheds, Owned};
use memcached_operator::{Args, IDENTITY, operator};
use operator_runtime::Operator;
use operator_runtime::controller::{Children, Invalid, Observed, Owns, Reconciler};
use operator_runtime::testing::{ControlPlane, desired};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

const IMAGE: &str = "registry.example.com/memcached:1.6";
/// Requests of the user at the same time.
const CONCURRENCY: usize = 32;
/// No write for so long means that the work is done.
const QUIET: Duration = Duration::from_secs(4);

/// The API server's own metrics: seconds of CPU, and requests by verb.
async fn counters(client: &Client) -> (f64, BTreeMap<String, u64>) {
    let request = axum_request("/metrics");
    let text = client.request_text(request).await.unwrap();
    let mut requests = BTreeMap::new();
    let mut cpu = 0.0;
    for line in text.lines() {
        let value = || line.rsplit(' ').next().unwrap().parse::<f64>().unwrap();
        if line.starts_with("process_cpu_seconds_total ") {
            cpu = value();
        } else if line.starts_with("apiserver_request_total{") {
            let verb = line.split("verb=\"").nth(1).unwrap().split('"').next().unwrap();
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
            let count = value() as u64;
            *requests.entry(verb.to_owned()).or_default() += count;
        }
    }
    (cpu, requests)
}

fn axum_request(path: &str) -> http::Request<Vec<u8>> {
    http::Request::get(path).body(Vec::new()).unwrap()
}

fn writes(requests: &BTreeMap<String, u64>) -> u64 {
    ["APPLY", "DELETE", "PATCH", "POST", "PUT"].iter().filter_map(|verb| requests.get(*verb)).sum()
}

async fn create_all<F: Future<Output = ()>>(objects: usize, create: impl Fn(usize) -> F) {
    stream::iter(0..objects).for_each_concurrent(CONCURRENCY, create).await;
}

/// Reconciles as a plain controller does: applies everything each time, reads the Deployment, writes the status.
async fn plain(memcached: Arc<Memcached>, client: Arc<Client>) -> Result<Action, kube::Error> {
    let reconciler = Memcacheds { image: IMAGE.to_owned(), owned: Owned::All };
    let name = memcached.name_any();
    let params = PatchParams::apply("plain").force();
    for body in desired(&reconciler, &memcached, &IDENTITY).unwrap_or_default() {
        let resource = match body["kind"].as_str() {
            Some("Deployment") => ApiResource::erase::<Deployment>(&()),
            Some("Service") => ApiResource::erase::<Service>(&()),
            _ => ApiResource::erase::<PodDisruptionBudget>(&()),
        };
        let api: Api<DynamicObject> = Api::namespaced_with((*client).clone(), "default", &resource);
        api.patch(&name, &params, &Patch::Apply(&body)).await?;
    }
    let deployments: Api<Deployment> = Api::default_namespaced((*client).clone());
    let ready =
        deployments.get(&name).await?.status.and_then(|status| status.ready_replicas).unwrap_or_default();
    let memcacheds: Api<Memcached> = Api::default_namespaced((*client).clone());
    let status = json!({
        "apiVersion": "cache.example.com/v1", "kind": "Memcached",
        "status": {"readyReplicas": ready, "phase": "Progressing"},
    });
    memcacheds.patch_status(&name, &params, &Patch::Apply(&status)).await?;
    Ok(Action::await_change())
}

async fn run_plain(client: Client) {
    let config = watcher::Config::default();
    Controller::new(Api::<Memcached>::all(client.clone()), config.clone())
        .owns(Api::<Deployment>::all(client.clone()), config.clone())
        .owns(Api::<Service>::all(client.clone()), config.clone())
        .owns(Api::<PodDisruptionBudget>::all(client.clone()), config)
        .run(plain, |_, _, _| Action::requeue(Duration::from_secs(1)), Arc::new(client))
        .for_each(|_| std::future::ready(()))
        .await;
}

/// The operator's reconciler without digests.
struct Uncached(Memcacheds);

impl Reconciler for Uncached {
    type Object = Memcached;
    const FINALIZER: Option<&'static str> = Memcacheds::FINALIZER;

    fn owns(&self, owns: &mut Owns) {
        self.0.owns(owns);
    }
    fn desired(&self, memcached: &Memcached, observed: &Observed) -> Result<Children, Invalid> {
        self.0.desired(memcached, observed)
    }
    fn status(&self, memcached: &Memcached, observed: &Observed) -> MemcachedStatus {
        self.0.status(memcached, observed)
    }
    fn complete(&self, memcached: &Memcached, status: &mut MemcachedStatus) {
        self.0.complete(memcached, status);
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Variant {
    /// 1,000 plain creates of Deployments, by the user.
    Creates,
    Plain,
    Uncached,
    Operator,
}

async fn measure(variant: Variant, objects: usize) {
    let Some(plane) = ControlPlane::start().await.unwrap() else {
        panic!("set KUBEBUILDER_ASSETS, or TEST_ASSET_KUBE_APISERVER and TEST_ASSET_ETCD");
    };
    plane.install(&Operator::new(IDENTITY).crd(crd())).await.unwrap();
    let client = plane.client().clone();
    let memcacheds: Api<Memcached> = Api::default_namespaced(client.clone());
    let deployments: Api<Deployment> = Api::default_namespaced(client.clone());
    let listed = async |_| memcacheds.list_metadata(&ListParams::default()).await.is_ok();
    plane.until("Memcacheds are served", listed).await;
    let spec = MemcachedSpec { size: 3, container_port: 11211, ..MemcachedSpec::default() };
    if variant != Variant::Creates {
        create_all(objects, async |index| {
            let memcached = Memcached::new(&format!("cache-{index}"), spec.clone());
            memcacheds.create(&PostParams::default(), &memcached).await.unwrap();
        })
        .await;
    }
    let (cpu, before) = counters(&client).await;
    let start = Instant::now();
    let owned = Owned::All;
    let args = Args { memcached_image: IMAGE.to_owned(), owned };
    let reconciler = Memcacheds { image: IMAGE.to_owned(), owned };
    let (mut running, mut task) = (None, None);
    match variant {
        Variant::Plain => task = Some(tokio::spawn(run_plain(client.clone()))),
        Variant::Uncached => {
            running = Some(plane.run(&Operator::new(IDENTITY).controller(Uncached(reconciler.clone()))));
        }
        Variant::Operator => running = Some(plane.run(&operator(&args))),
        Variant::Creates => {
            create_all(objects, async |index| {
                let memcached = Memcached::new(&format!("cache-{index}"), spec.clone());
                let mut body: Value = desired(&reconciler, &memcached, &IDENTITY).unwrap().swap_remove(0);
                body["metadata"]["ownerReferences"] = json!([]);
                let deployment: Deployment = serde_json::from_value(body).unwrap();
                deployments.create(&PostParams::default(), &deployment).await.unwrap();
            })
            .await;
        }
    }
    let all =
        async |_| deployments.list_metadata(&ListParams::default()).await.unwrap().items.len() == objects;
    plane.until("all Deployments exist", all).await;
    let exist = start.elapsed();
    let (mut last, mut since) = (counters(&client).await, Instant::now());
    let mut end = since;
    while since.elapsed() < QUIET {
        tokio::time::sleep(Duration::from_millis(500)).await;
        let now = counters(&client).await;
        if writes(&now.1) != writes(&last.1) {
            (since, end) = (Instant::now(), Instant::now());
        }
        last = now;
    }
    let each = |verb: &str| {
        let of = |requests: &BTreeMap<String, u64>| requests.get(verb).copied().unwrap_or_default();
        #[allow(clippy::cast_precision_loss)]
        let each = (of(&last.1) - of(&before)) as f64 / objects as f64;
        format!("{verb} {each:.2}")
    };
    println!(
        "{variant:?}: {objects} objects; all exist after {:.1} s; API server's CPU {:.1} s until {:.1} s; per object: {}",
        exist.as_secs_f64(),
        last.0 - cpu,
        (end - start).as_secs_f64(),
        ["APPLY", "PATCH", "POST", "GET"].map(each).join(", "),
    );
    if let Some(running) = running {
        running.stop().await;
    }
    if let Some(task) = task {
        task.abort();
    }
}

#[tokio::test]
#[ignore = "measures; needs kube-apiserver and etcd"]
async fn the_cost_of_a_memcached_for_the_api_server() {
    let objects = std::env::var("COST_OBJECTS").map_or(1000, |number| number.parse().unwrap());
    for variant in [Variant::Creates, Variant::Plain, Variant::Uncached, Variant::Operator] {
        measure(variant, objects).await;
    }
}

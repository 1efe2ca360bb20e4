//! The memcached operator's controller in three forms, for `bench-operator --variants`: what the runtime buys, and what its
//! digests do.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Service;
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::{Api, DynamicObject, Patch, PatchParams};
use kube::core::ApiResource;
use kube::runtime::controller::Action;
use kube::runtime::finalizer::{self, finalizer};
use kube::runtime::{Controller, watcher};
use kube::{Client, ResourceExt as _};
use memcached_operator::IDENTITY;
use memcached_operator::api::memcached::{Memcached, MemcachedStatus};
use memcached_operator::controller::memcached::{MemcachedController, Owned};
use operator_runtime::Operator;
use operator_runtime::controller::{Changes, Children, Error, Observed, Reconciler, SkipUnchanged, Watches};
use operator_runtime::events::Event;
use operator_runtime::testing::TestController;
use serde_json::json;

/// Options of the benchmark's manager.
#[derive(clap::Args, Clone, Debug)]
struct Args {
    /// Form of the controller
    #[arg(long, value_enum, default_value = "cached")]
    variant: Variant,
    /// Kinds that a Memcached owns
    #[arg(long, value_enum, default_value_t)]
    owned: Owned,
}

#[derive(clap::ValueEnum, Clone, Copy, Debug)]
enum Variant {
    /// A plain `kube::runtime::Controller` that applies all children and writes the status in each reconcile
    Plain,
    /// The runtime without digests
    Uncached,
    /// The runtime with digests, as in the operator
    Cached,
}

fn main() -> ExitCode {
    operator_runtime::main(&IDENTITY, |args: &Args| {
        let image = memcached_operator::Args::default().memcached_image;
        let owned = args.owned;
        let inner = move |watches: &mut Watches<Memcached>| MemcachedController::new(watches, &image, owned);
        let operator = Operator::new(IDENTITY);
        match args.variant {
            Variant::Plain => operator.task("plain", [], move |context, stop| {
                let inner = Arc::new(TestController::new(&inner));
                async move {
                    let apis: Vec<Api<Memcached>> = context.apis();
                    let client = context.client().clone();
                    let runs = apis.into_iter().map(|api| {
                        let state = Arc::new(Plain { client: client.clone(), inner: Arc::clone(&inner) });
                        let namespace = context.namespaces().first().cloned().unwrap_or_default();
                        plain(api, namespace, state, stop.clone().wait())
                    });
                    futures::future::join_all(runs).await;
                    Ok(())
                }
            }),
            Variant::Uncached => {
                operator.controller(|watches| Form { inner: inner(watches), digests: false })
            }
            Variant::Cached => operator.controller(|watches| Form { inner: inner(watches), digests: true }),
        }
    })
}

/// What a plain reconcile needs.
struct Plain {
    client: Client,
    inner: Arc<TestController<MemcachedController>>,
}

async fn plain(
    api: Api<Memcached>,
    namespace: String,
    state: Arc<Plain>,
    stop: impl Future<Output = ()> + Send + Sync + 'static,
) {
    let (client, namespace, config) = (state.client.clone(), namespace.as_str(), watcher::Config::default());
    Controller::new(api, config.clone())
        .owns(Api::<Deployment>::namespaced(client.clone(), namespace), config.clone())
        .owns(Api::<Service>::namespaced(client.clone(), namespace), config.clone())
        .owns(Api::<PodDisruptionBudget>::namespaced(client, namespace), config)
        .graceful_shutdown_on(stop)
        .run(reconcile, |_, _, _| Action::requeue(Duration::from_secs(1)), state)
        .for_each(|_| std::future::ready(()))
        .await;
}

async fn reconcile(
    memcached: Arc<Memcached>,
    state: Arc<Plain>,
) -> Result<Action, finalizer::Error<kube::Error>> {
    let namespace = memcached.namespace().unwrap_or_default();
    let api: Api<Memcached> = Api::namespaced(state.client.clone(), &namespace);
    let name = MemcachedController::FINALIZER.unwrap_or_default();
    finalizer(&api, name, memcached, |event| async {
        match event {
            finalizer::Event::Apply(memcached) => apply(&memcached, &state, &namespace).await,
            finalizer::Event::Cleanup(_) => Ok(Action::await_change()),
        }
    })
    .await
}

/// Applies everything, reads the Deployment, and writes the status.
async fn apply(memcached: &Memcached, state: &Plain, namespace: &str) -> kube::Result<Action> {
    let name = memcached.name_any();
    let params = PatchParams::apply("plain").force();
    for body in state.inner.applied(memcached, &IDENTITY).unwrap_or_default() {
        let resource = match body["kind"].as_str() {
            Some("Deployment") => ApiResource::erase::<Deployment>(&()),
            Some("Service") => ApiResource::erase::<Service>(&()),
            _ => ApiResource::erase::<PodDisruptionBudget>(&()),
        };
        let api: Api<DynamicObject> = Api::namespaced_with(state.client.clone(), namespace, &resource);
        api.patch(&name, &params, &Patch::Apply(&body)).await?;
    }
    let deployments: Api<Deployment> = Api::namespaced(state.client.clone(), namespace);
    let status = deployments.get(&name).await?.status.unwrap_or_default();
    let memcacheds: Api<Memcached> = Api::namespaced(state.client.clone(), namespace);
    let status = json!({
        "apiVersion": "cache.example.com/v1", "kind": "Memcached",
        "status": {
            "readyReplicas": status.ready_replicas.unwrap_or_default(),
            "replicas": status.replicas.unwrap_or_default(),
            "phase": "Progressing",
        },
    });
    memcacheds.patch_status(&name, &params, &Patch::Apply(&status)).await?;
    Ok(Action::await_change())
}

/// The operator's controller with or without its digests.
struct Form {
    inner: MemcachedController,
    digests: bool,
}

impl Reconciler for Form {
    type Object = Memcached;
    type Status = MemcachedStatus;
    type External = ();
    const FINALIZER: Option<&'static str> = MemcachedController::FINALIZER;

    fn desired(&self, memcached: &Memcached, observed: &Observed<Self>) -> Result<Children, Error> {
        self.inner.desired(memcached, observed)
    }
    fn status(&self, memcached: &Memcached, observed: &Observed<Self>) -> MemcachedStatus {
        self.inner.status(memcached, observed)
    }
    fn complete_status(&self, metadata: &ObjectMeta, status: &mut MemcachedStatus) {
        self.inner.complete_status(metadata, status);
    }
    fn events(&self, memcached: &Memcached, observed: &Observed<Self>, changes: &Changes<'_>) -> Vec<Event> {
        self.inner.events(memcached, observed, changes)
    }
    fn skip_unchanged(&self) -> Option<SkipUnchanged<Memcached>> {
        self.inner.skip_unchanged().filter(|_| self.digests)
    }
}

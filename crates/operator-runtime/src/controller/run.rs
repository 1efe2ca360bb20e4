//! Connects the watches to the pipeline: one set of watches per namespace, one queue, and a graceful end.

use super::children::{Outlines, outlines};
use super::error::{Error, ReconcileError};
use super::model::{Model, OwnerKind};
use super::object::{Key, Object};
use super::observed::Observed;
use super::queue::ObjectQueue;
use super::raw_object::RawObject;
use super::reconcile::{Scope, Shared};
use super::reconciler::Reconciler;
use super::watches::Watches;
use crate::backoff::{WatchBackoff, jittered};
use crate::context::{Context, Platform};
use crate::identity::Identity;
use crate::labels;
use futures::future::BoxFuture;
use futures::{FutureExt, Stream, StreamExt, stream};
use kube::api::Api;
use kube::core::ApiResource;
use kube::runtime::WatchStreamExt;
use kube::runtime::controller::{self, ReconcileReason, ReconcileRequest, applier};
use kube::runtime::reflector::store;
use kube::runtime::reflector::store::Writer;
use kube::runtime::watcher::{self, Event, watcher};
use kube::{CustomResourceExt, Resource};
use std::convert::Infallible;
use std::hash::RandomState;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::{Semaphore, mpsc, oneshot, watch};
use tokio::task::JoinSet;

/// Objects of one page of a list; a page is held in memory as a whole.
const PAGE_SIZE: u32 = 100;

/// Counts what is kept in memory, for tests.
pub(crate) type Probe = Arc<Mutex<Vec<Box<dyn Fn() -> Vec<(&'static str, usize)> + Send>>>>;

/// What a controller is started with.
pub(crate) struct ControllerSettings {
    pub(crate) context: Context,
    /// How many objects are reconciled at the same time, over all namespaces.
    pub(crate) concurrency: u16,
    /// Time after which everything is listed and reconciled again, 10 % more or less.
    pub(crate) sync_period: Duration,
    /// Turns true once every watch has listed everything that exists.
    pub(crate) synced: watch::Sender<bool>,
    /// Until it is true only the caches are kept up to date, so that a new leader starts without delay.
    pub(crate) leads: watch::Receiver<bool>,
    /// Ends the controller after the running reconciles.
    pub(crate) stop: watch::Receiver<bool>,
    pub(crate) probe: Option<Probe>,
}

/// What manifests, permissions and metrics need of a controller.
#[derive(Clone, Debug)]
pub(crate) struct ControllerInfo {
    /// The kind in lower case, for metrics.
    pub(crate) name: String,
    pub(crate) resource: ApiResource,
    pub(crate) namespaced: bool,
    pub(crate) watches: Arc<Watches>,
    pub(crate) finalizer: Option<&'static str>,
}

/// A controller of any kind.
pub(crate) trait AnyController: Send + Sync {
    fn info(&self) -> &Arc<ControllerInfo>;

    /// Runs the controller until it is stopped. Dropping the future stops at once: pending requests are abandoned.
    fn run(&self, launch: ControllerSettings) -> BoxFuture<'static, Result<(), Error>>;
}

/// The controller of a reconciler.
pub(crate) struct TypedController<R> {
    reconciler: Arc<R>,
    info: Arc<ControllerInfo>,
}

impl<R: Reconciler> TypedController<R> {
    pub(crate) fn new(reconciler: R) -> Self {
        let mut watches = Watches::default();
        reconciler.watches(&mut watches);
        let info = ControllerInfo {
            name: R::Object::kind(&()).to_lowercase(),
            resource: ApiResource::erase::<R::Object>(&()),
            namespaced: R::Object::crd().spec.scope == "Namespaced",
            watches: Arc::new(watches),
            finalizer: R::FINALIZER,
        };
        Self { reconciler: Arc::new(reconciler), info: Arc::new(info) }
    }
}

impl<R: Reconciler> AnyController for TypedController<R> {
    fn info(&self) -> &Arc<ControllerInfo> {
        &self.info
    }

    fn run(&self, launch: ControllerSettings) -> BoxFuture<'static, Result<(), Error>> {
        let (reconciler, info) = (Arc::clone(&self.reconciler), Arc::clone(&self.info));
        async move {
            let (outlines, pure_in_spec) =
                example_outlines(&*reconciler, &info, &launch.context.identity, launch.context.platform)?;
            let name = info.name.clone();
            let shared = Shared {
                reconciler,
                metrics: launch.context.metrics.controller(&name, launch.concurrency),
                outlines,
                pure_in_spec,
                permits: Semaphore::new(usize::from(launch.concurrency.max(1))),
                queued: ObjectQueue::default(),
                random: RandomState::new(),
                info,
                context: launch.context.clone(),
            };
            run(Arc::new(shared), launch).await;
            Ok(())
        }
        .boxed()
    }
}

/// Returns the fields that a reconciler applies to each kind, if it has its children compared by digests.
pub(crate) fn example_outlines<R: Reconciler>(
    reconciler: &R,
    info: &ControllerInfo,
    identity: &Identity,
    platform: Platform,
) -> Result<(Outlines, bool), Error> {
    let kinds = info.watches.children.len();
    let Some(digests) = reconciler.skip_unchanged() else { return Ok((vec![None; kinds], false)) };
    let mut example = digests.example;
    example.meta_mut().name.get_or_insert_with(|| "example".to_owned());
    let observed = Observed::empty(Key::from(example.meta()), &info.watches, platform);
    let desired = reconciler.desired(&example, &observed);
    observed.check_views()?;
    let children = desired.map_err(|error| match error {
        Error::Invalid(invalid) => {
            Error::other(format!("the example of `skip_unchanged` is invalid: {}", invalid.message()))
        }
        error => error,
    })?;
    let bodies = children.into_bodies(&example, &info.watches, identity)?;
    Ok((outlines(kinds, &bodies), digests.pure_in_spec))
}

async fn run<R: Reconciler>(shared: Arc<Shared<R>>, launch: ControllerSettings) {
    let mut tasks = JoinSet::new();
    let mut ready = Vec::new();
    let mut runs = Vec::new();
    let namespaces = &shared.context.namespaces;
    let scopes: Vec<Option<String>> = if namespaces.is_empty() || !shared.info.namespaced {
        vec![None]
    } else {
        namespaces.iter().cloned().map(Some).collect()
    };
    for namespace in scopes {
        let (run, synced) = scope(Arc::clone(&shared), namespace, &launch, &mut tasks);
        runs.push(run);
        ready.extend(synced);
    }
    let announce = async {
        for ready in ready {
            // A watch ends only together with the whole controller.
            let _ = ready.await;
        }
        tracing::info!(controller = shared.info.name, "caches synced");
        launch.synced.send_replace(true);
    };
    futures::future::join(announce, futures::future::join_all(runs)).await;
    tasks.shutdown().await;
}

/// The queue of one scope. A manager that does not lead queues nothing.
struct Queue<R: Reconciler> {
    shared: Arc<Shared<R>>,
    namespace: Option<String>,
    active: Arc<AtomicBool>,
    sender: mpsc::UnboundedSender<Key>,
}

impl<R: Reconciler> Clone for Queue<R> {
    fn clone(&self) -> Self {
        Self {
            shared: Arc::clone(&self.shared),
            namespace: self.namespace.clone(),
            active: Arc::clone(&self.active),
            sender: self.sender.clone(),
        }
    }
}

impl<R: Reconciler> Queue<R> {
    /// Queues an object to be reconciled. Cluster-scoped objects may belong to one of another namespace.
    fn add(&self, key: Key) {
        let elsewhere = self.namespace.as_ref().is_some_and(|namespace| *namespace != key.namespace);
        if elsewhere || !self.active.load(Ordering::SeqCst) {
            return;
        }
        self.shared.queued.add(key.clone());
        self.shared.metrics.queued(self.shared.queued.depth());
        // The receiver ends before the watches do.
        let _ = self.sender.send(key);
    }
}

/// Starts the watches of one namespace (or of all) and returns the loop that reconciles what they report.
fn scope<R: Reconciler>(
    shared: Arc<Shared<R>>,
    namespace: Option<String>,
    launch: &ControllerSettings,
    tasks: &mut JoinSet<()>,
) -> (impl Future<Output = ()> + use<R>, Vec<oneshot::Receiver<()>>) {
    let (store, writer) = store();
    let info = Arc::clone(&shared.info);
    let owner = OwnerKind { resource: info.resource.clone(), namespaced: info.namespaced };
    let model = Model::new(store.clone(), &info.watches, &owner, &shared.outlines, shared.context.platform);
    let scope = Arc::new(Scope { shared, model });
    if let Some(probe) = &launch.probe {
        let probed = Arc::clone(&scope);
        let count = move || {
            let mut sizes = probed.model.sizes();
            sizes.push(("queued", probed.shared.queued.depth()));
            sizes
        };
        crate::lock::lock(probe).push(Box::new(count));
    }
    let (sender, queued) = mpsc::unbounded_channel();
    let active = Arc::new(AtomicBool::new(false));
    let queue = Queue { shared: Arc::clone(&scope.shared), namespace: namespace.clone(), active, sender };
    let mut watches = ScopeWatches {
        scope: Arc::clone(&scope),
        namespace,
        sync_period: launch.sync_period,
        queue: queue.clone(),
        tasks,
        ready: Vec::new(),
    };

    watches.objects(writer);
    for (index, kind) in info.watches.related.iter().enumerate() {
        let scope = Arc::clone(&scope);
        let config = if kind.managed { managed_config(&scope.shared.context) } else { config() };
        let observe = move |event| scope.model.related_event(index, event);
        watches.start(&kind.resource, kind.namespaced, config, observe);
    }
    for (index, kind) in info.watches.children.iter().enumerate() {
        let config = managed_config(&scope.shared.context);
        let scope = Arc::clone(&scope);
        let observe = move |event| scope.model.child_event(index, event);
        watches.start(&kind.resource, kind.namespaced, config, observe);
    }
    let ScopeWatches { ready, .. } = watches;

    // Nothing is decided before everything is listed: a child that is merely unknown would be created again.
    let (all_ready, when_ready) = oneshot::channel::<()>();
    let (ready, forwarded): (Vec<_>, Vec<_>) = ready
        .into_iter()
        .map(|receiver| {
            let (sender, outside) = oneshot::channel();
            let listed = receiver.map(move |_| {
                let _ = sender.send(());
            });
            (listed, outside)
        })
        .unzip();
    tasks.spawn(async move {
        futures::future::join_all(ready).await;
        let _ = all_ready.send(());
    });

    let (concurrency, stop, mut leads) = (launch.concurrency, launch.stop.clone(), launch.leads.clone());
    let run = async move {
        let mut stopped = stop.clone();
        let started = async {
            let _ = when_ready.await;
            leads.wait_for(|leads| *leads).await.is_ok()
        };
        let leading = tokio::select! {
            biased;
            _ = stopped.wait_for(|stop| *stop) => false,
            leading = started => leading,
        };
        if !leading {
            return;
        }
        // Nothing was queued before: everything is reconciled once.
        queue.active.store(true, Ordering::SeqCst);
        for object in store.state() {
            queue.add(Key::from(object.meta()));
        }
        drop(queue);
        let requests = requests::<R::Object>(queued, stop);
        let shared = Arc::clone(&scope.shared);
        applier(
            |object: Arc<R::Object>, scope: Arc<Scope<R>>| {
                async move { scope.reconcile(&object).await }.boxed()
            },
            |object: Arc<R::Object>, error: &ReconcileError, scope: Arc<Scope<R>>| {
                scope.after_failure(&object, error)
            },
            scope,
            store,
            requests,
            controller::Config::default().concurrency(concurrency),
        )
        .for_each(|result| {
            match result {
                Ok(_) | Err(controller::Error::ReconcilerFailed(..)) => {}
                // Deleted in the meantime: there is nothing left to do.
                Err(controller::Error::ObjectNotFound(gone)) => {
                    let key = Key { namespace: gone.namespace.unwrap_or_default(), name: gone.name };
                    shared.dequeue(&key);
                }
                Err(error) => tracing::error!(%error, "the controller's queue failed"),
            }
            std::future::ready(())
        })
        .await;
    };
    (run, forwarded)
}

/// Returns the queue as a stream of requests that ends when it is time to stop.
fn requests<O: Object>(
    queued: mpsc::UnboundedReceiver<Key>,
    mut stop: watch::Receiver<bool>,
) -> impl Stream<Item = Result<ReconcileRequest<O>, Infallible>> {
    let stopped = async move {
        let _ = stop.wait_for(|stop| *stop).await;
    };
    stream::unfold(queued, |mut queued| async move { queued.recv().await.map(|key| (key, queued)) })
        .take_until(stopped.boxed())
        .map(|key| Ok(ReconcileRequest { obj_ref: key.reference(), reason: ReconcileReason::Unknown }))
}

fn config() -> watcher::Config {
    watcher::Config::default().page_size(PAGE_SIZE)
}

/// Returns the configuration of a watch of objects that this operator manages.
fn managed_config(context: &Context) -> watcher::Config {
    config().labels(&format!("{}={}", labels::MANAGED_BY, context.identity.name))
}

/// The watches of one scope while they are being started.
struct ScopeWatches<'a, R: Reconciler> {
    scope: Arc<Scope<R>>,
    namespace: Option<String>,
    sync_period: Duration,
    queue: Queue<R>,
    tasks: &'a mut JoinSet<()>,
    ready: Vec<oneshot::Receiver<()>>,
}

impl<R: Reconciler> ScopeWatches<'_, R> {
    fn api(&self, resource: &ApiResource, namespaced: bool) -> Api<RawObject> {
        let client = self.scope.shared.context.client.clone();
        match &self.namespace {
            Some(namespace) if namespaced => Api::namespaced_with(client, namespace, resource),
            _ => Api::all_with(client, resource),
        }
    }

    /// Watches the objects themselves, into the store that the queue reads.
    fn objects(&mut self, mut writer: Writer<R::Object>) {
        let namespace = self.namespace.clone();
        let scope = Arc::clone(&self.scope);
        let info = Arc::clone(&self.scope.shared.info);
        self.start(&info.resource, info.namespaced, config(), move |event| {
            let Scope { shared, model } = &*scope;
            let deleted = match &event {
                Event::Delete(object) => Some(Key::from(&object.metadata)),
                _ => None,
            };
            let listed = matches!(event, Event::InitDone);
            let keys = model.object_event(&mut writer, event);
            if let Some(key) = deleted {
                shared.dequeue(&key);
            }
            if listed {
                shared.retain_queued(namespace.as_deref(), |key| model.exists(key));
            }
            keys
        });
    }

    /// Watches a kind, and lists it again after each sync period: what a watch has missed is noticed then.
    fn start(
        &mut self,
        resource: &ApiResource,
        namespaced: bool,
        config: watcher::Config,
        mut observe: impl FnMut(Event<RawObject>) -> Vec<Key> + Send + 'static,
    ) {
        let (sender, receiver) = oneshot::channel();
        self.ready.push(receiver);
        let mut sender = Some(sender);
        let (queue, shared) = (self.queue.clone(), Arc::clone(&self.scope.shared));
        let api = self.api(resource, namespaced);
        let (sync_period, kind) = (self.sync_period, resource.kind.clone());
        self.tasks.spawn(async move {
            loop {
                let mut events = pin!(watcher(api.clone(), config.clone()).backoff(WatchBackoff::default()));
                let period = jittered(sync_period, shared.random());
                let mut resync = pin!(tokio::time::sleep(period));
                let mut listed = false;
                loop {
                    let event = tokio::select! {
                        biased;
                        () = &mut resync, if listed => break,
                        event = events.next() => match event {
                            Some(Ok(event)) => event,
                            Some(Err(error)) => {
                                tracing::warn!(%error, kind, "a watch failed; retrying");
                                continue;
                            }
                            // The watch of kube-runtime has no end.
                            None => return,
                        },
                    };
                    let done = matches!(event, Event::InitDone);
                    for key in observe(event) {
                        queue.add(key);
                    }
                    listed |= done;
                    if done && let Some(sender) = sender.take() {
                        let _ = sender.send(());
                    }
                }
            }
        });
    }
}

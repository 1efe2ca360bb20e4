//! Connects the watches to the pipeline: one set of watches per namespace, one queue, and a graceful end.

use super::children::{Outlines, outlines};
use super::error::{Error, ReconcileError};
use super::model::{Model, OwnerKind, ReferenceModel};
use super::object::Key;
use super::observed::{Observed, Snapshot};
use super::queue::ObjectQueue;
use super::raw_object::RawObject;
use super::reconcile::{Scope, Shared};
use super::reconciler::Reconciler;
use super::store::Objects;
use super::stored::{Stored, is_nothing};
use super::watches::{Declared, Refers, Watches, is_namespaced};
use crate::backoff::{WatchBackoff, jittered};
use crate::context::{Context, Platform};
use crate::identity::Identity;
use crate::labels;
use crate::lock::lock;
use crate::problem::shortened;
use futures::future::BoxFuture;
use futures::{FutureExt, Stream, StreamExt, stream};
use kube::Resource;
use kube::api::Api;
use kube::core::ApiResource;
use kube::runtime::WatchStreamExt;
use kube::runtime::controller::{self, ReconcileReason, ReconcileRequest, applier};
use kube::runtime::reflector::store;
use kube::runtime::reflector::store::Writer;
use kube::runtime::watcher::{self, Event, watcher};
use std::convert::Infallible;
use std::hash::RandomState;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::{Semaphore, mpsc, watch};
use tokio::task::JoinSet;

/// Objects of one page of a list; a page is held in memory as a whole.
const PAGE_SIZE: u32 = 100;

/// Counts what is kept in memory, for tests.
pub(crate) type Probe = Arc<Mutex<Vec<Box<dyn Fn() -> Vec<(&'static str, usize)> + Send>>>>;

/// What a controller is started with.
pub(crate) struct ControllerSettings {
    pub(crate) context: Context,
    /// The name for metrics and logs.
    pub(crate) name: String,
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
    pub(crate) resource: ApiResource,
    pub(crate) namespaced: bool,
    pub(crate) declared: Arc<Declared>,
    pub(crate) finalizer: Option<&'static str>,
    /// It writes a status.
    pub(crate) has_status: bool,
}

/// A controller of any kind.
pub(crate) trait AnyController: Send + Sync {
    fn info(&self) -> &Arc<ControllerInfo>;

    /// Runs the controller until it is stopped. Dropping the future stops at once: pending requests are abandoned.
    fn run(&self, launch: ControllerSettings) -> BoxFuture<'static, Result<(), Error>>;
}

/// The controller of a reconciler.
pub(crate) struct TypedController<R: Reconciler> {
    reconciler: Arc<R>,
    info: Arc<ControllerInfo>,
    refers: Vec<Refers<R::Object>>,
    objects: Objects<R::Object>,
}

impl<R: Reconciler> TypedController<R> {
    pub(crate) fn new(build: impl FnOnce(&mut Watches<R::Object>) -> R) -> Self {
        let mut watches = Watches::new();
        let reconciler = build(&mut watches);
        let Watches { declared, refers, objects } = watches;
        let info = ControllerInfo {
            resource: ApiResource::erase::<R::Object>(&()),
            namespaced: is_namespaced::<R::Object>(),
            declared: Arc::new(declared),
            finalizer: R::FINALIZER,
            has_status: !is_nothing::<R::Status>(),
        };
        Self { reconciler: Arc::new(reconciler), info: Arc::new(info), refers, objects }
    }
}

impl<R: Reconciler> AnyController for TypedController<R> {
    fn info(&self) -> &Arc<ControllerInfo> {
        &self.info
    }

    fn run(&self, launch: ControllerSettings) -> BoxFuture<'static, Result<(), Error>> {
        let (reconciler, info) = (Arc::clone(&self.reconciler), Arc::clone(&self.info));
        let (refers, objects) = (self.refers.clone(), self.objects.clone());
        async move {
            let (outlines, pure_in_spec) = example_outlines(
                &*reconciler,
                &info.declared,
                &launch.context.identity,
                launch.context.platform,
            )?;
            let shared = Shared {
                reconciler,
                metrics: launch.context.metrics.controller(&launch.name, launch.concurrency),
                outlines,
                pure_in_spec,
                permits: Semaphore::new(usize::from(launch.concurrency.max(1))),
                queued: ObjectQueue::default(),
                random: RandomState::new(),
                info,
                context: launch.context.clone(),
            };
            run(Arc::new(shared), refers, &objects, launch).await;
            Ok(())
        }
        .boxed()
    }
}

/// Returns the fields that a reconciler applies to each kind, if it has its children compared by digests.
pub(crate) fn example_outlines<R: Reconciler>(
    reconciler: &R,
    declared: &Arc<Declared>,
    identity: &Identity,
    platform: Platform,
) -> Result<(Outlines, bool), Error> {
    let kinds = declared.children.len();
    let Some(digests) = reconciler.skip_unchanged() else { return Ok((vec![None; kinds], false)) };
    let mut example = digests.example;
    let metadata = example.meta_mut();
    metadata.name.get_or_insert_with(|| "example".to_owned());
    if is_namespaced::<R::Object>() {
        metadata.namespace.get_or_insert_with(|| "example".to_owned());
    }
    let observed = Observed::<R>::from_snapshot(
        Snapshot::empty(Key::from(example.meta()), declared),
        &example,
        platform,
    );
    let children = reconciler.desired(&example, &observed).map_err(|error| match error {
        Error::Invalid(invalid) => {
            Error::other(format!("the example of `skip_unchanged` is invalid: {}", invalid.message()))
        }
        error => error,
    })?;
    let (bodies, _) = children.into_bodies(&example, declared, identity)?;
    Ok((outlines(kinds, &bodies), digests.pure_in_spec))
}

async fn run<R: Reconciler>(
    shared: Arc<Shared<R>>,
    refers: Vec<Refers<R::Object>>,
    objects: &Objects<R::Object>,
    launch: ControllerSettings,
) {
    let mut tasks = JoinSet::new();
    let mut listings = Vec::new();
    let mut runs = Vec::new();
    let namespaces = &shared.context.namespaces;
    let watched = if shared.info.namespaced { namespaces.clone() } else { Vec::new() };
    let scopes: Vec<Option<String>> =
        if watched.is_empty() { vec![None] } else { watched.iter().cloned().map(Some).collect() };
    let references = Arc::new(ReferenceModel::new(&shared.info.declared, refers, watched));
    if let Some(probe) = &launch.probe {
        let references = Arc::clone(&references);
        lock(probe).push(Box::new(move || vec![("references", references.size())]));
    }
    let (all_known, references_known) = watch::channel(false);
    let mut queues = Vec::new();
    for namespace in &scopes {
        let parts = (Arc::clone(&references), references_known.clone());
        let (run, listed, queue) = scope(Arc::clone(&shared), namespace.clone(), parts, &launch, &mut tasks);
        runs.push(run);
        listings.extend(listed);
        queues.push(queue);
    }
    let route: Arc<dyn Fn(&Key) + Send + Sync> = {
        let queues = queues.clone();
        Arc::new(move |key| queues.iter().for_each(|queue| queue.add(key.clone())))
    };
    let stores = queues.iter().map(|queue| queue.store.clone()).collect();
    objects.start(stores, Arc::clone(&route));
    drop(queues);

    let mut reference_listings = Vec::new();
    for (index, kind) in shared.info.declared.references.iter().enumerate() {
        let scopes = if kind.namespaced { scopes.as_slice() } else { &[None] };
        for namespace in scopes {
            let (references, route, scope) = (Arc::clone(&references), Arc::clone(&route), namespace.clone());
            let target = WatchTarget {
                api: watched_api(&shared, namespace.as_deref(), &kind.resource, kind.namespaced),
                kind: kind.resource.kind.clone(),
                config: config(),
                sync_period: launch.sync_period,
            };
            let refuse = {
                let (references, scope) = (Arc::clone(&references), scope.clone());
                move |reason: String| references.refused(index, scope.as_deref(), reason)
            };
            let observe = move |event| references.event(index, scope.as_deref(), event);
            let add = move |key: Key| route(&key);
            reference_listings.push(target.start(Arc::clone(&shared), &mut tasks, observe, refuse, add));
        }
    }
    let answered = until_all(reference_listings.clone(), |listing| listing != Listing::Pending);
    tasks.spawn(async move {
        answered.await;
        all_known.send_replace(true);
        // The receivers wait for a change, not for the end.
        std::future::pending::<()>().await;
    });
    let announce = async {
        listings.extend(reference_listings);
        until_all(listings, |listing| listing == Listing::Done).await;
        tracing::info!(controller = launch.name, "caches synced");
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
    store: store::Store<Stored<R::Object>>,
}

impl<R: Reconciler> Clone for Queue<R> {
    fn clone(&self) -> Self {
        Self {
            shared: Arc::clone(&self.shared),
            namespace: self.namespace.clone(),
            active: Arc::clone(&self.active),
            sender: self.sender.clone(),
            store: self.store.clone(),
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
    (references, mut references_known): (Arc<ReferenceModel<R::Object>>, watch::Receiver<bool>),
    launch: &ControllerSettings,
    tasks: &mut JoinSet<()>,
) -> (impl Future<Output = ()> + use<R>, Vec<watch::Receiver<Listing>>, Queue<R>) {
    let (store, writer) = store::<Stored<R::Object>>();
    let info = Arc::clone(&shared.info);
    let owner = OwnerKind { resource: info.resource.clone(), namespaced: info.namespaced };
    let model =
        Model::new(store.clone(), &info.declared, references, &owner, &shared.outlines, namespace.clone());
    let scope = Arc::new(Scope::new(shared, model));
    if let Some(probe) = &launch.probe {
        let probed = Arc::clone(&scope);
        let count = move || {
            let mut sizes = probed.model.sizes();
            sizes.push(("queued", probed.shared.queued.depth()));
            sizes
        };
        lock(probe).push(Box::new(count));
    }
    let (sender, queued) = mpsc::unbounded_channel();
    let active = Arc::new(AtomicBool::new(false));
    let queue = Queue {
        shared: Arc::clone(&scope.shared),
        namespace: namespace.clone(),
        active,
        sender,
        store: store.clone(),
    };
    let mut watches = ScopeWatches {
        scope: Arc::clone(&scope),
        namespace,
        sync_period: launch.sync_period,
        queue: queue.clone(),
        tasks,
        listings: Vec::new(),
    };

    watches.objects(writer);
    for (index, kind) in info.declared.related.iter().enumerate() {
        let scope = Arc::clone(&scope);
        let config = if kind.managed { managed_config(&scope.shared.context) } else { config() };
        let observe = move |event| scope.model.related_event(index, event);
        watches.start(&kind.resource, kind.namespaced, config, observe);
    }
    for (index, kind) in info.declared.children.iter().enumerate() {
        let config = managed_config(&scope.shared.context);
        let scope = Arc::clone(&scope);
        let observe = move |event| scope.model.child_event(index, event);
        watches.start(&kind.resource, kind.namespaced, config, observe);
    }
    let ScopeWatches { listings, .. } = watches;

    // Nothing is decided before everything is listed: a child that is merely unknown would be created again.
    let own_listings = listings.clone();
    let own_queue = queue.clone();
    let (concurrency, stop, mut leads) = (launch.concurrency, launch.stop.clone(), launch.leads.clone());
    let run = async move {
        let mut stopped = stop.clone();
        let started = async {
            until_all(own_listings, |listing| listing == Listing::Done).await;
            let _ = references_known.wait_for(|known| *known).await;
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
        let requests = requests::<Stored<R::Object>>(queued, stop);
        let shared = Arc::clone(&scope.shared);
        applier(
            |object: Arc<Stored<R::Object>>, scope: Arc<Scope<R>>| {
                async move { scope.reconcile(&object).await }.boxed()
            },
            |object: Arc<Stored<R::Object>>, error: &ReconcileError, scope: Arc<Scope<R>>| {
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
    (run, listings, own_queue)
}

/// Returns the queue as a stream of requests that ends when it is time to stop.
fn requests<O: Resource<DynamicType = ()> + 'static>(
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
    listings: Vec<watch::Receiver<Listing>>,
}

/// Returns the API of a kind in a namespace, or in all.
fn watched_api<R: Reconciler>(
    shared: &Shared<R>,
    namespace: Option<&str>,
    resource: &ApiResource,
    namespaced: bool,
) -> Api<RawObject> {
    let client = shared.context.client.clone();
    match namespace {
        Some(namespace) if namespaced => Api::namespaced_with(client, namespace, resource),
        _ => Api::all_with(client, resource),
    }
}

impl<R: Reconciler> ScopeWatches<'_, R> {
    /// Watches the objects themselves, into the store that the queue reads.
    fn objects(&mut self, mut writer: Writer<Stored<R::Object>>) {
        let namespace = self.namespace.clone();
        let scope = Arc::clone(&self.scope);
        let info = Arc::clone(&self.scope.shared.info);
        self.start(&info.resource, info.namespaced, config(), move |event| {
            let deleted = match &event {
                Event::Delete(object) => Some(Key::from(&object.metadata)),
                _ => None,
            };
            let listed = matches!(event, Event::InitDone);
            let Scope { shared, model, external } = &*scope;
            let keys = model.object_event(&mut writer, event);
            if let Some(key) = deleted {
                shared.dequeue(&key);
                lock(external).forget(&key);
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
        observe: impl FnMut(Event<RawObject>) -> Vec<Key> + Send + 'static,
    ) {
        let shared = Arc::clone(&self.scope.shared);
        let target = WatchTarget {
            api: watched_api(&shared, self.namespace.as_deref(), resource, namespaced),
            kind: resource.kind.clone(),
            config,
            sync_period: self.sync_period,
        };
        let queue = self.queue.clone();
        self.listings.push(target.start(shared, self.tasks, observe, |_| {}, move |key| queue.add(key)));
    }
}

/// How far the first list of a watch has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Listing {
    /// It has not been answered yet.
    Pending,
    /// The API server forbids it or does not know the kind; it is tried again.
    Refused,
    /// Everything that exists has been listed.
    Done,
}

/// Waits until a condition has held for each list.
async fn until_all(listings: Vec<watch::Receiver<Listing>>, condition: impl Fn(Listing) -> bool) {
    for mut listing in listings {
        // A watch ends only together with the whole controller.
        let _ = listing.wait_for(|listing| condition(*listing)).await;
    }
}

/// What is watched, and how.
struct WatchTarget {
    api: Api<RawObject>,
    kind: String,
    config: watcher::Config,
    sync_period: Duration,
}

impl WatchTarget {
    /// Starts a task that watches; returns how far its first list has come. `refused` is called with the reason if the API server
    /// forbids that or does not know the kind.
    fn start<R: Reconciler>(
        self,
        shared: Arc<Shared<R>>,
        tasks: &mut JoinSet<()>,
        mut observe: impl FnMut(Event<RawObject>) -> Vec<Key> + Send + 'static,
        mut refused: impl FnMut(String) + Send + 'static,
        add: impl Fn(Key) + Send + 'static,
    ) -> watch::Receiver<Listing> {
        let (sender, receiver) = watch::channel(Listing::Pending);
        let Self { api, kind, config, sync_period } = self;
        tasks.spawn(async move {
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
                                if let watcher::Error::InitialListFailed(kube::Error::Api(status)) = &error
                                    && (status.is_forbidden() || status.is_not_found())
                                    && *sender.borrow() != Listing::Done
                                {
                                    refused(shortened(&status.message));
                                    sender.send_replace(Listing::Refused);
                                }
                                continue;
                            }
                            // The watch of kube-runtime has no end.
                            None => return,
                        },
                    };
                    let done = matches!(event, Event::InitDone);
                    for key in observe(event) {
                        add(key);
                    }
                    listed |= done;
                    if done {
                        sender.send_replace(Listing::Done);
                    }
                }
            }
        });
        receiver
    }
}

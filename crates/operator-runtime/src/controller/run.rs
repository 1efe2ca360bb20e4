//! Connects the watches to the pipeline: one set of watches per namespace, one queue, and a graceful end.

use super::cache::OwnerKind;
use super::children::{Outlines, outlines};
use super::error::Error;
use super::info::ControllerInfo;
use super::key::Key;
use super::live::Live;
use super::object::Object;
use super::observed::{Caches, Observed};
use super::owns::Owns;
use super::queued::Queued;
use super::reconcile::{Scope, Shared};
use super::reconciler::Reconciler;
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
pub(crate) struct Launch {
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

/// A controller of any kind.
pub(crate) trait AnyController: Send + Sync {
    fn info(&self) -> &Arc<ControllerInfo>;

    /// Runs the controller until it is stopped. Dropping the future stops at once: pending requests are abandoned.
    fn run(&self, launch: Launch) -> BoxFuture<'static, Result<(), Error>>;
}

/// The controller of a reconciler.
pub(crate) struct Typed<R> {
    reconciler: Arc<R>,
    info: Arc<ControllerInfo>,
}

impl<R: Reconciler> Typed<R> {
    pub(crate) fn new(reconciler: R) -> Self {
        let mut owns = Owns::default();
        reconciler.owns(&mut owns);
        let info = ControllerInfo {
            name: R::Object::kind(&()).to_lowercase(),
            resource: ApiResource::erase::<R::Object>(&()),
            namespaced: R::Object::crd().spec.scope == "Namespaced",
            owns: Arc::new(owns),
            finalizer: R::FINALIZER,
        };
        Self { reconciler: Arc::new(reconciler), info: Arc::new(info) }
    }
}

impl<R: Reconciler> AnyController for Typed<R> {
    fn info(&self) -> &Arc<ControllerInfo> {
        &self.info
    }

    fn run(&self, launch: Launch) -> BoxFuture<'static, Result<(), Error>> {
        let (reconciler, info) = (Arc::clone(&self.reconciler), Arc::clone(&self.info));
        async move {
            let (outlines, by_generation) =
                example_outlines(&*reconciler, &info, &launch.context.identity, launch.context.platform)?;
            let name = info.name.clone();
            let shared = Shared {
                reconciler,
                metrics: launch.context.metrics.controller(&name, launch.concurrency),
                outlines,
                by_generation,
                permits: Semaphore::new(usize::from(launch.concurrency.max(1))),
                queued: Queued::default(),
                memory: Mutex::default(),
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
    let kinds = info.owns.children.len();
    let Some(digests) = reconciler.digests() else { return Ok((vec![None; kinds], false)) };
    let mut example = digests.example;
    example.meta_mut().name.get_or_insert_with(|| "example".to_owned());
    let observed = Observed::nothing(Key::of(example.meta()), &info.owns, platform);
    match reconciler.desired(&example, &observed) {
        Ok(children) => {
            observed.check_views()?;
            let bodies = children.complete(&example, &info.owns, identity)?;
            Ok((outlines(kinds, &bodies), digests.by_generation))
        }
        Err(invalid) => {
            Err(Error::other(format!("the example of `digests` is invalid: {}", invalid.message())))
        }
    }
}

async fn run<R: Reconciler>(shared: Arc<Shared<R>>, launch: Launch) {
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
    launch: &Launch,
    tasks: &mut JoinSet<()>,
) -> (impl Future<Output = ()> + use<R>, Vec<oneshot::Receiver<()>>) {
    let (store, writer) = store();
    let info = Arc::clone(&shared.info);
    let owner = OwnerKind { resource: info.resource.clone(), namespaced: info.namespaced };
    let caches = Caches::new(store.clone(), &info.owns, &owner, &shared.outlines, shared.context.platform);
    let scope = Arc::new(Scope { shared, caches });
    if let Some(probe) = &launch.probe {
        let probed = Arc::clone(&scope);
        let count = move || {
            let mut sizes = probed.caches.sizes();
            sizes.push(("memory", probed.shared.memory().len()));
            sizes.push(("queued", probed.shared.queued.depth()));
            sizes
        };
        probe.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push(Box::new(count));
    }
    let (sender, queued) = mpsc::unbounded_channel();
    let active = Arc::new(AtomicBool::new(false));
    let queue = Queue { shared: Arc::clone(&scope.shared), namespace: namespace.clone(), active, sender };
    let mut watches = Watches {
        scope: Arc::clone(&scope),
        namespace,
        sync_period: launch.sync_period,
        queue: queue.clone(),
        tasks,
        ready: Vec::new(),
    };

    watches.objects(writer);
    for (index, kind) in info.owns.related.iter().enumerate() {
        let scope = Arc::clone(&scope);
        let config = if kind.managed { managed_config(&scope.shared.context) } else { config() };
        let observe = move |event| scope.caches.related[index].observe(event);
        watches.start(&kind.resource, kind.namespaced, config, observe);
    }
    for (index, kind) in info.owns.children.iter().enumerate() {
        let config = managed_config(&scope.shared.context);
        let scope = Arc::clone(&scope);
        let observe = move |event| scope.caches.children[index].observe(event);
        watches.start(&kind.resource, kind.namespaced, config, observe);
    }
    let Watches { ready, .. } = watches;

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
            queue.add(Key::of(object.meta()));
        }
        drop(queue);
        let requests = requests::<R::Object>(queued, stop);
        let shared = Arc::clone(&scope.shared);
        applier(
            |object: Arc<R::Object>, scope: Arc<Scope<R>>| {
                async move { scope.reconcile(&object).await }.boxed()
            },
            |object: Arc<R::Object>, error: &Error, scope: Arc<Scope<R>>| scope.after_failure(&object, error),
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

/// Returns the event with the object in the form in which it is stored.
fn parsed<O: Object>(event: Event<Live>, caches: &Caches<O>) -> Event<O> {
    match event {
        Event::Apply(object) => Event::Apply(caches.malformed.parse(object)),
        Event::Delete(object) => Event::Delete(caches.malformed.parse(object)),
        Event::Init => Event::Init,
        Event::InitApply(object) => Event::InitApply(caches.malformed.parse(object)),
        Event::InitDone => Event::InitDone,
    }
}

/// Records an event of the objects themselves; returns those to reconcile.
///
/// The responses to own writes count until the store has them: what is listed enters the store only at the list's end.
fn record<O: Object>(caches: &Caches<O>, writer: &mut Writer<O>, event: &Event<O>) -> Vec<Key> {
    writer.apply_watcher_event(event);
    match event {
        Event::Apply(object) if caches.written.caught_up(object) => vec![Key::of(object.meta())],
        Event::Delete(object) => {
            caches.forget(&Key::of(object.meta()));
            Vec::new()
        }
        Event::Init => {
            caches.written.listing();
            Vec::new()
        }
        Event::InitDone => {
            let listed = writer.as_reader().state();
            for object in &listed {
                caches.written.caught_up(object);
            }
            caches.listed();
            listed.iter().map(|object| Key::of(object.meta())).collect()
        }
        Event::Apply(_) | Event::InitApply(_) => Vec::new(),
    }
}

fn config() -> watcher::Config {
    watcher::Config::default().page_size(PAGE_SIZE)
}

/// Returns the configuration of a watch of objects that this operator manages.
fn managed_config(context: &Context) -> watcher::Config {
    config().labels(&format!("{}={}", labels::MANAGED_BY, context.identity.name))
}

/// The watches of one scope while they are being started.
struct Watches<'a, R: Reconciler> {
    scope: Arc<Scope<R>>,
    namespace: Option<String>,
    sync_period: Duration,
    queue: Queue<R>,
    tasks: &'a mut JoinSet<()>,
    ready: Vec<oneshot::Receiver<()>>,
}

impl<R: Reconciler> Watches<'_, R> {
    fn api(&self, resource: &ApiResource, namespaced: bool) -> Api<Live> {
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
            let (shared, caches) = (&scope.shared, &scope.caches);
            let event = parsed(event, caches);
            let keys = record(caches, &mut writer, &event);
            match &event {
                Event::Delete(object) => {
                    let key = Key::of(object.meta());
                    shared.forget(&key);
                    shared.dequeue(&key);
                }
                Event::InitDone => shared.forget_all_but(namespace.as_deref(), |key| caches.exists(key)),
                _ => {}
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
        mut observe: impl FnMut(Event<Live>) -> Vec<Key> + Send + 'static,
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::sample::{Cluster, cluster, owner_kind};

    fn at(version: &str, size: i32) -> Cluster {
        let mut object = cluster(size);
        object.metadata.resource_version = Some(version.into());
        object
    }

    #[test]
    fn a_response_counts_until_the_list_that_contains_it_is_complete() {
        let (store, mut writer) = store();
        let caches =
            Caches::new(store.clone(), &Arc::default(), &owner_kind(), &Vec::new(), Platform::default());
        let written = &caches.written;
        for event in [Event::Init, Event::InitApply(at("100", 1)), Event::InitDone] {
            record(&caches, &mut writer, &event);
        }
        // Scaled by somebody, which only the response to an own write has shown; then the watch restarts.
        written.put(Arc::new(at("105", 3)));
        let key = Key::of(&at("105", 3).metadata);
        let size = || written.newest(&key, &store.state()[0]).spec.size;
        assert_eq!(size(), 3);
        for event in [Event::Init, Event::InitApply(at("105", 3))] {
            record(&caches, &mut writer, &event);
            assert_eq!(size(), 3, "{event:?}");
        }
        assert_eq!(record(&caches, &mut writer, &Event::InitDone), std::slice::from_ref(&key));
        assert_eq!(size(), 3);
        assert!(written.caught_up(&at("106", 3)), "forgotten once the store has it");
    }
}

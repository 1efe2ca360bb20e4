//! Connects the watches to the pipeline: one set of watches per namespace, one queue, and a graceful end.

use super::build::{Kind, MANAGED};
use super::cache::{Cache, Key};
use super::dereference::Observed;
use super::live::{Live, Parts};
use super::{Context, Owned, Shared, after_failure, reconcile};
use crate::backoff::{WatchBackoff, jittered};
use crate::crd::Memcached;
use futures::{FutureExt, Stream, StreamExt, stream};
use kube::Client;
use kube::api::Api;
use kube::runtime::WatchStreamExt;
use kube::runtime::controller::{self, ReconcileReason, ReconcileRequest, applier};
use kube::runtime::reflector::store::Writer;
use kube::runtime::reflector::{ObjectRef, store};
use kube::runtime::watcher::{self, Event, watcher};
use std::convert::Infallible;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinSet;

/// Objects of one page of a list; a page is held in memory as a whole.
const PAGE_SIZE: u32 = 100;

/// Runs the controller until `stop` is true, then completes the running reconciles and returns.
///
/// Dropping the future stops at once: pending requests are abandoned. `synced` turns true once every watch has listed
/// everything that exists. Until `leads` is true only the caches are kept up to date, so that a new leader starts
/// without delay.
pub async fn run(
    shared: Arc<Shared>,
    synced: watch::Sender<bool>,
    leads: watch::Receiver<bool>,
    stop: watch::Receiver<bool>,
) {
    let mut tasks = JoinSet::new();
    let mut ready = Vec::new();
    let mut runs = Vec::new();
    let namespaces = &shared.settings.namespaces;
    let scopes: Vec<Option<String>> =
        if namespaces.is_empty() { vec![None] } else { namespaces.iter().cloned().map(Some).collect() };
    for namespace in scopes {
        let (run, synced) = scope(Arc::clone(&shared), namespace, leads.clone(), stop.clone(), &mut tasks);
        runs.push(run);
        ready.extend(synced);
    }
    let announce = async {
        for ready in ready {
            // A watch ends only together with the whole controller.
            let _ = ready.await;
        }
        tracing::info!("caches synced");
        let _ = synced.send(true);
    };
    futures::future::join(announce, futures::future::join_all(runs)).await;
    tasks.shutdown().await;
    shared.recorder.flush().await;
}

/// The queue of one scope. A manager that does not lead queues nothing.
#[derive(Clone)]
struct Queue {
    shared: Arc<Shared>,
    active: Arc<AtomicBool>,
    sender: mpsc::UnboundedSender<Key>,
}

impl Queue {
    /// Queues a Memcached to be reconciled.
    fn add(&self, key: Key) {
        if !self.active.load(Ordering::SeqCst) {
            return;
        }
        self.shared.queued.add(key.clone());
        self.shared.metrics.queued(self.shared.queued.depth());
        // The receiver ends before the watches do.
        let _ = self.sender.send(key);
    }
}

/// Starts the watches of one namespace (or of all) and returns the loop that reconciles what they report.
fn scope(
    shared: Arc<Shared>,
    namespace: Option<String>,
    leads: watch::Receiver<bool>,
    stop: watch::Receiver<bool>,
    tasks: &mut JoinSet<()>,
) -> (impl Future<Output = ()> + use<>, Vec<oneshot::Receiver<()>>) {
    let (store, writer) = store();
    let observed = Observed::new(store.clone(), &shared.outlines);
    let context = Arc::new(Context { shared, observed });
    #[cfg(test)]
    let _ = context.shared.observed.set(Arc::clone(&context));
    let (sender, queued) = mpsc::unbounded_channel();
    let active = Arc::new(AtomicBool::new(false));
    let queue = Queue { shared: Arc::clone(&context.shared), active, sender };
    let owned = context.shared.settings.owned;
    let mut watches = Watches {
        shared: Arc::clone(&context.shared),
        client: context.shared.client.clone(),
        namespace,
        queue: queue.clone(),
        tasks,
        ready: Vec::new(),
    };

    watches.memcacheds(Arc::clone(&context), writer);
    watches.follow(&context, |context, event| context.observed.pods.observe(event), managed_config());
    watches.owned(&context, |observed| &observed.deployments);
    if owned == Owned::All {
        watches.owned(&context, |observed| &observed.services);
        watches.owned(&context, |observed| &observed.disruption_budgets);
    }
    let Watches { ready, .. } = watches;

    // Nothing is decided before everything is listed: an owned object that is merely unknown would be created again.
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

    let concurrency = context.shared.settings.max_concurrent_reconciles;
    let run = async move {
        let mut stopped = stop.clone();
        let mut leads = leads;
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
        for memcached in store.state() {
            queue.add(Key::of(&memcached.metadata));
        }
        drop(queue);
        let requests = requests(queued, stop);
        let shared = Arc::clone(&context.shared);
        applier(
            |memcached, context| reconcile(memcached, context).boxed(),
            |memcached, error, context| after_failure(&memcached, error, &context),
            context,
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
fn requests(
    queued: mpsc::UnboundedReceiver<Key>,
    mut stop: watch::Receiver<bool>,
) -> impl Stream<Item = Result<ReconcileRequest<Memcached>, Infallible>> {
    let stopped = async move {
        let _ = stop.wait_for(|stop| *stop).await;
    };
    stream::unfold(queued, |mut queued| async move { queued.recv().await.map(|key| (key, queued)) })
        .take_until(stopped.boxed())
        .map(|Key { namespace, name }| {
            let obj_ref = ObjectRef::new(&name).within(&namespace);
            Ok(ReconcileRequest { obj_ref, reason: ReconcileReason::Unknown })
        })
}

/// Returns the event with the Memcached in the form in which it is stored.
fn parsed(event: Event<Live<Memcached>>, observed: &Observed) -> Event<Memcached> {
    match event {
        Event::Apply(object) => Event::Apply(observed.malformed.parse(object)),
        Event::Delete(object) => Event::Delete(observed.malformed.parse(object)),
        Event::Init => Event::Init,
        Event::InitApply(object) => Event::InitApply(observed.malformed.parse(object)),
        Event::InitDone => Event::InitDone,
    }
}

/// Records an event of the Memcacheds; returns those to reconcile.
///
/// The responses to own writes count until the store has them: what is listed enters the store only at the list's end.
fn record(observed: &Observed, writer: &mut Writer<Memcached>, event: &Event<Memcached>) -> Vec<Key> {
    writer.apply_watcher_event(event);
    match event {
        Event::Apply(memcached) if observed.written.caught_up(memcached) => {
            vec![Key::of(&memcached.metadata)]
        }
        Event::Delete(memcached) => {
            observed.forget(&Key::of(&memcached.metadata));
            Vec::new()
        }
        Event::Init => {
            observed.written.listing();
            Vec::new()
        }
        Event::InitDone => {
            let listed = writer.as_reader().state();
            for memcached in &listed {
                observed.written.caught_up(memcached);
            }
            observed.listed();
            listed.iter().map(|memcached| Key::of(&memcached.metadata)).collect()
        }
        Event::Apply(_) | Event::InitApply(_) => Vec::new(),
    }
}

fn managed_config() -> watcher::Config {
    watcher::Config::default().labels(&format!("{}={}", MANAGED.0, MANAGED.1)).page_size(PAGE_SIZE)
}

/// The watches of one scope while they are being started.
struct Watches<'a> {
    shared: Arc<Shared>,
    client: Client,
    namespace: Option<String>,
    queue: Queue,
    tasks: &'a mut JoinSet<()>,
    ready: Vec<oneshot::Receiver<()>>,
}

impl Watches<'_> {
    fn api<K: Parts>(&self) -> Api<Live<K>> {
        match &self.namespace {
            Some(namespace) => Api::namespaced(self.client.clone(), namespace),
            None => Api::all(self.client.clone()),
        }
    }

    /// Watches a kind that Memcacheds own; its objects have the name of their Memcached.
    fn owned<K, F>(&mut self, context: &Arc<Context>, cache: fn(&Observed) -> &Cache<K, F>)
    where
        K: Kind,
        F: Clone + PartialEq + 'static,
    {
        self.follow(context, move |context, event| cache(&context.observed).observe(event), managed_config());
    }

    /// Passes a kind's events to `observe` and queues the Memcacheds that it returns.
    fn follow<K>(
        &mut self,
        context: &Arc<Context>,
        observe: impl Fn(&Context, Event<Live<K>>) -> Vec<Key> + Send + 'static,
        config: watcher::Config,
    ) where
        K: Parts,
    {
        let context = Arc::clone(context);
        self.start(config, move |event| observe(&context, event));
    }

    /// Watches the Memcacheds themselves, into the store that the queue reads.
    fn memcacheds(&mut self, context: Arc<Context>, mut writer: Writer<Memcached>) {
        let config = watcher::Config::default().page_size(PAGE_SIZE);
        let namespace = self.namespace.clone();
        self.start(config, move |event| {
            let (shared, observed) = (&context.shared, &context.observed);
            let event = parsed(event, observed);
            let keys = record(observed, &mut writer, &event);
            match &event {
                Event::Delete(memcached) => {
                    let key = Key::of(&memcached.metadata);
                    shared.forget(&key);
                    shared.dequeue(&key);
                }
                Event::InitDone => shared.forget_all_but(namespace.as_deref(), |key| observed.exists(key)),
                _ => {}
            }
            keys
        });
    }

    /// Watches a kind, and lists it again after each sync period: what a watch has missed is noticed then.
    fn start<K>(
        &mut self,
        config: watcher::Config,
        mut observe: impl FnMut(Event<Live<K>>) -> Vec<Key> + Send + 'static,
    ) where
        K: Parts,
    {
        let (sender, receiver) = oneshot::channel();
        self.ready.push(receiver);
        let mut sender = Some(sender);
        let (queue, shared, api) = (self.queue.clone(), Arc::clone(&self.shared), self.api::<K>());
        self.tasks.spawn(async move {
            loop {
                let mut events = pin!(watcher(api.clone(), config.clone()).backoff(WatchBackoff::default()));
                let period = jittered(shared.settings.sync_period, shared.random());
                let mut resync = pin!(tokio::time::sleep(period));
                let mut listed = false;
                loop {
                    let event = tokio::select! {
                        biased;
                        () = &mut resync, if listed => break,
                        event = events.next() => match event {
                            Some(Ok(event)) => event,
                            Some(Err(error)) => {
                                tracing::warn!(%error, kind = %K::kind(&()), "a watch failed; retrying");
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
    use crate::controller::validate::tests::memcached;

    fn at(version: &str, size: i32) -> Memcached {
        let mut object = memcached(size);
        object.metadata.resource_version = Some(version.into());
        object
    }

    #[test]
    fn a_response_counts_until_the_list_that_contains_it_is_complete() {
        let (store, mut writer) = store();
        let observed = Observed::new(store.clone(), &super::super::build::Outlines::new().unwrap());
        let written = &observed.written;
        for event in [Event::Init, Event::InitApply(at("100", 1)), Event::InitDone] {
            record(&observed, &mut writer, &event);
        }
        // Scaled by somebody, which only the response to an own write has shown; then the watch restarts.
        written.put(Arc::new(at("105", 3)));
        let key = Key::of(&at("105", 3).metadata);
        let size = || written.newest(&key, &store.state()[0]).spec.size;
        assert_eq!(size(), 3);
        for event in [Event::Init, Event::InitApply(at("105", 3))] {
            record(&observed, &mut writer, &event);
            assert_eq!(size(), 3, "{event:?}");
        }
        assert_eq!(record(&observed, &mut writer, &Event::InitDone), std::slice::from_ref(&key));
        assert_eq!(size(), 3);
        assert!(written.caught_up(&at("106", 3)), "forgotten once the store has it");
    }
}

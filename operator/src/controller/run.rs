//! Wires the watches to the pipeline: one set of watches per namespace, one queue, and an orderly end.

use super::build::{Kind, MANAGED};
use super::cache::{Cache, Key};
use super::dereference::{Observed, Written};
use super::error::backoff;
use super::live::{Live, Parts};
use super::{Context, Owned, Shared, after_failure, reconcile};
use crate::crd::Memcached;
use futures::{FutureExt, Stream, StreamExt, stream};
use kube::Client;
use kube::api::Api;
use kube::runtime::WatchStreamExt;
use kube::runtime::controller::{self, ReconcileReason, ReconcileRequest, applier};
use kube::runtime::reflector::store::Writer;
use kube::runtime::reflector::{ObjectRef, store};
use kube::runtime::utils::Backoff;
use kube::runtime::watcher::{self, Event, watcher};
use std::convert::Infallible;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinSet;

/// Objects asked for at a time when a watch begins; a page is held in memory as a whole.
const PAGE: u32 = 100;

/// Runs the controller until `stop` says so, then finishes what is under way and returns.
///
/// Dropping the future stops at once: requests under way are given up. `synced` turns true once every watch has told
/// everything that exists. Until `leads` is true the watches only keep up, so that work can begin at once when it is.
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
            // A watch that ends does so because all of this ends.
            let _ = ready.await;
        }
        tracing::info!("all watches are in step");
        let _ = synced.send(true);
    };
    futures::future::join(announce, futures::future::join_all(runs)).await;
    tasks.shutdown().await;
    shared.recorder.sent().await;
}

impl Shared {
    /// Names a Memcached that is to be looked at.
    fn name(&self, queue: &mpsc::UnboundedSender<Key>, key: Key) {
        self.waiting.add(key.clone());
        self.metrics.queued(self.waiting.depth());
        // The queue ends before the watches do.
        let _ = queue.send(key);
    }
}

/// Starts the watches of one namespace (or of all) and returns the loop that works off what they tell.
fn scope(
    shared: Arc<Shared>,
    namespace: Option<String>,
    leads: watch::Receiver<bool>,
    stop: watch::Receiver<bool>,
    tasks: &mut JoinSet<()>,
) -> (impl Future<Output = ()> + use<>, Vec<oneshot::Receiver<()>>) {
    let context = Arc::new(Context { observed: Observed::new(&shared.outlines), shared });
    let (store, writer) = store();
    let (queue, mut queued) = mpsc::unbounded_channel();
    let owned = context.shared.settings.owned;
    let again = queue.clone();
    let mut watches = Watches {
        shared: Arc::clone(&context.shared),
        client: context.shared.client.clone(),
        namespace,
        queue,
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

    // Nothing is decided before everything was seen: an owned object that is merely not known yet would be made again.
    let (all_ready, when_ready) = oneshot::channel::<()>();
    let (ready, forwarded): (Vec<_>, Vec<_>) = ready
        .into_iter()
        .map(|receiver| {
            let (sender, outside) = oneshot::channel();
            let told = receiver.map(move |_| {
                let _ = sender.send(());
            });
            (told, outside)
        })
        .unzip();
    tasks.spawn(async move {
        futures::future::join_all(ready).await;
        let _ = all_ready.send(());
    });

    let concurrency = context.shared.settings.max_concurrent_reconciles;
    let run = async move {
        let mut stopped = stop.clone();
        tokio::select! {
            _ = when_ready => {}
            _ = stopped.wait_for(|stop| *stop) => return,
        }
        if !stand_by(leads, &mut queued, stopped).await {
            return;
        }
        // What was told while standing by was not worked off: everything is looked at once.
        for memcached in store.state() {
            context.shared.name(&again, Key::of(&memcached.metadata));
        }
        drop(again);
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
                // Deleted in the meantime: there is nothing left to do, and nobody waits for it.
                Err(controller::Error::ObjectNotFound(gone)) => {
                    let key = Key { namespace: gone.namespace.unwrap_or_default(), name: gone.name };
                    shared.gone(&key);
                }
                Err(error) => tracing::error!(%error, "the controller's queue failed"),
            }
            std::future::ready(())
        })
        .await;
    };
    (run, forwarded)
}

/// Waits for the lease, dropping what is told meanwhile; false when it is time to stop instead.
async fn stand_by(
    mut leads: watch::Receiver<bool>,
    queued: &mut mpsc::UnboundedReceiver<Key>,
    mut stop: watch::Receiver<bool>,
) -> bool {
    loop {
        tokio::select! {
            biased;
            _ = stop.wait_for(|stop| *stop) => return false,
            leading = leads.wait_for(|leads| *leads) => return leading.is_ok(),
            key = queued.recv() => if key.is_none() { return false },
        }
    }
}

/// The queue's input: what the watches tell, until it is time to stop.
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

/// The event with the Memcached in the form that is stored.
fn stored(event: Event<Live<Memcached>>) -> Event<Memcached> {
    match event {
        Event::Apply(object) => Event::Apply(object.into()),
        Event::Delete(object) => Event::Delete(object.into()),
        Event::Init => Event::Init,
        Event::InitApply(object) => Event::InitApply(object.into()),
        Event::InitDone => Event::InitDone,
    }
}

/// Takes what the watch of the Memcacheds told; returns those that are to be looked at.
///
/// What own writes told counts until the store has it: what is listed comes into the store with the list's end only.
fn keep(written: &Written, writer: &mut Writer<Memcached>, event: &Event<Memcached>) -> Vec<Key> {
    writer.apply_watcher_event(event);
    match event {
        Event::Apply(memcached) if written.caught_up(memcached) => vec![Key::of(&memcached.metadata)],
        Event::Delete(memcached) => {
            written.forget(&Key::of(&memcached.metadata));
            Vec::new()
        }
        Event::InitDone => {
            let listed = writer.as_reader().state();
            for memcached in &listed {
                written.caught_up(memcached);
            }
            listed.iter().map(|memcached| Key::of(&memcached.metadata)).collect()
        }
        Event::Apply(_) | Event::Init | Event::InitApply(_) => Vec::new(),
    }
}

fn managed_config() -> watcher::Config {
    watcher::Config::default().labels(&format!("{}={}", MANAGED.0, MANAGED.1)).page_size(PAGE)
}

/// Waits between attempts to watch: as for reconciles, but never longer than five seconds, because everything waits.
#[derive(Default)]
struct WatchBackoff {
    failures: u32,
    random: RandomState,
}

impl Iterator for WatchBackoff {
    type Item = Duration;

    fn next(&mut self) -> Option<Duration> {
        self.failures = self.failures.saturating_add(1);
        Some(backoff(self.failures, self.random.hash_one(Instant::now())).min(Duration::from_secs(5)))
    }
}

impl Backoff for WatchBackoff {
    fn reset(&mut self) {
        self.failures = 0;
    }
}

/// The watches of one scope while they are being started.
struct Watches<'a> {
    shared: Arc<Shared>,
    client: Client,
    namespace: Option<String>,
    queue: mpsc::UnboundedSender<Key>,
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

    /// Watches a kind that Memcacheds own; its objects have their Memcached's name.
    fn owned<K, F>(&mut self, context: &Arc<Context>, cache: fn(&Observed) -> &Cache<K, F>)
    where
        K: Kind,
        F: Clone + PartialEq + 'static,
    {
        self.follow(context, move |context, event| cache(&context.observed).observe(event), managed_config());
    }

    /// Feeds a kind's events to `observe` and queues the Memcacheds that it returns.
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

    /// Watches the Memcacheds themselves into the store that the queue reads.
    fn memcacheds(&mut self, context: Arc<Context>, mut writer: Writer<Memcached>) {
        let config = watcher::Config::default().page_size(PAGE);
        self.start(config, move |event| {
            let event = stored(event);
            if let Event::Delete(memcached) = &event {
                let key = Key::of(&memcached.metadata);
                context.shared.forget(&key);
                context.shared.gone(&key);
            }
            keep(&context.observed.written, &mut writer, &event)
        });
    }

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
        let (queue, shared) = (self.queue.clone(), Arc::clone(&self.shared));
        let events = watcher(self.api::<K>(), config).backoff(WatchBackoff::default());
        self.tasks.spawn(async move {
            let mut events = std::pin::pin!(events);
            while let Some(event) = events.next().await {
                let event = match event {
                    Ok(event) => event,
                    Err(error) => {
                        tracing::warn!(%error, kind = %K::kind(&()), "a watch broke off, it will begin again");
                        continue;
                    }
                };
                let done = matches!(event, Event::InitDone);
                for key in observe(event) {
                    shared.name(&queue, key);
                }
                if done && let Some(sender) = sender.take() {
                    let _ = sender.send(());
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
    fn what_a_write_told_counts_until_the_list_that_has_it_is_over() {
        let (written, (store, mut writer)) = (Written::default(), store());
        for event in [Event::Init, Event::InitApply(at("100", 1)), Event::InitDone] {
            keep(&written, &mut writer, &event);
        }
        // Scaled by somebody, which only the answer to an own write has told; then the watch has to begin anew.
        written.put(Arc::new(at("105", 3)));
        let key = Key::of(&at("105", 3).metadata);
        let size = || written.newest(&key, &store.state()[0]).spec.size;
        assert_eq!(size(), 3);
        for event in [Event::Init, Event::InitApply(at("105", 3))] {
            keep(&written, &mut writer, &event);
            assert_eq!(size(), 3, "{event:?}");
        }
        assert_eq!(keep(&written, &mut writer, &Event::InitDone), std::slice::from_ref(&key));
        assert_eq!(size(), 3);
        assert!(written.caught_up(&at("106", 3)), "forgotten once the store has it");
    }
}

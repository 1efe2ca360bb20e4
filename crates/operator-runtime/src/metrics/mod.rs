//! The manager's metrics in Prometheus' text format, with controller-runtime's names.

use crate::identity::Identity;
use crate::lock::lock;
use kube::runtime::controller::Action;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric, prometheus_text};
use prometheus_client::metrics::counter::{ConstCounter, Counter};
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::{ConstGauge, Gauge};
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Metric, Registry};
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

mod measure;

pub use measure::Measure;
pub(crate) use measure::drain;
pub use prometheus_client;

/// Where the metrics are served.
pub(crate) const METRICS_PATH: &str = "/metrics";

/// controller-runtime's buckets for the duration of a reconcile, in seconds.
const RECONCILE_BOUNDS: [f64; 40] = [
    0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.25,
    1.5, 1.75, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 15.0, 20.0, 25.0, 30.0, 40.0,
    50.0, 60.0,
];
/// controller-runtime's buckets for the time in the queue, in seconds.
const QUEUE_BOUNDS: [f64; 12] = [1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1.0, 10.0, 100.0, 1000.0];

/// How a reconcile ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReconcileResult {
    /// Done until something changes.
    Success,
    /// Done, and queued again at once.
    Requeue,
    /// Done, and queued again after a time.
    RequeueAfter,
    /// Failed.
    Error,
}

impl ReconcileResult {
    /// Returns how a reconcile ended that did not fail.
    pub(crate) fn after(action: &Action) -> Self {
        if *action == Action::await_change() {
            Self::Success
        } else if *action == Action::requeue(Duration::ZERO) {
            Self::Requeue
        } else {
            Self::RequeueAfter
        }
    }

    const ALL: [Self; 4] = [Self::Error, Self::Requeue, Self::RequeueAfter, Self::Success];

    fn label(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Requeue => "requeue",
            Self::RequeueAfter => "requeue_after",
            Self::Error => "error",
        }
    }
}

/// Names and values of a number of labels.
type Labels<const N: usize> = [(&'static str, String); N];

/// The metrics of all controllers.
struct ControllerFamilies {
    results: Family<Labels<2>, Counter>,
    errors: Family<Labels<1>, Counter>,
    reconcile: Family<Labels<1>, Histogram>,
    max_concurrent: Family<Labels<1>, Gauge>,
    active: Family<Labels<1>, Gauge>,
    depth: Family<Labels<2>, Gauge>,
    adds: Family<Labels<2>, Counter>,
    retries: Family<Labels<2>, Counter>,
    latency: Family<Labels<2>, Histogram>,
    work: Family<Labels<2>, Histogram>,
}

impl ControllerFamilies {
    fn register(registry: &mut Registry) -> Self {
        let queue = || Family::new_with_constructor((|| Histogram::new(QUEUE_BOUNDS)) as fn() -> Histogram);
        let families = Self {
            results: Family::default(),
            errors: Family::default(),
            reconcile: Family::new_with_constructor(|| Histogram::new(RECONCILE_BOUNDS)),
            max_concurrent: Family::default(),
            active: Family::default(),
            depth: Family::default(),
            adds: Family::default(),
            retries: Family::default(),
            latency: queue(),
            work: queue(),
        };
        let Self { results, errors, reconcile, max_concurrent, active, depth, adds, retries, latency, work } =
            &families;
        let name = |name: &str| format!("controller_runtime_{name}");
        registry.register(name("reconcile"), "Total number of reconciles by result", results.clone());
        registry.register(name("reconcile_errors"), "Total number of failed reconciles", errors.clone());
        registry.register(
            name("reconcile_time_seconds"),
            "Duration of reconciles in seconds",
            reconcile.clone(),
        );
        let help = "Maximum number of concurrent reconciles";
        registry.register(name("max_concurrent_reconciles"), help, max_concurrent.clone());
        registry.register(name("active_workers"), "Number of running reconciles", active.clone());
        let name = |name: &str| format!("workqueue_{name}");
        registry.register(name("depth"), "Number of queued objects", depth.clone());
        registry.register(name("adds"), "Total number of times that an object was queued", adds.clone());
        registry.register(name("retries"), "Total number of retries", retries.clone());
        let help = "Time in seconds that objects stay queued";
        registry.register(name("queue_duration_seconds"), help, latency.clone());
        registry.register(name("work_duration_seconds"), "Duration of reconciles in seconds", work.clone());
        families
    }
}

/// The metrics of one controller.
#[derive(Debug)]
pub(crate) struct ControllerMetrics {
    results: [(ReconcileResult, Counter); 4],
    errors: Counter,
    reconcile: Histogram,
    active: Gauge,
    depth: Gauge,
    adds: Counter,
    retries: Counter,
    latency: Histogram,
    work: Histogram,
}

impl ControllerMetrics {
    fn new(families: &ControllerFamilies, name: &str, max_concurrent: u16) -> Self {
        let label = || ("controller", name.to_owned());
        let queue = [label(), ("name", name.to_owned())];
        families.max_concurrent.get_or_create(&[label()]).set(i64::from(max_concurrent));
        Self {
            results: ReconcileResult::ALL.map(|result| {
                let labels = [label(), ("result", result.label().to_owned())];
                (result, families.results.get_or_create_owned(&labels))
            }),
            errors: families.errors.get_or_create_owned(&[label()]),
            reconcile: families.reconcile.get_or_create_owned(&[label()]),
            active: families.active.get_or_create_owned(&[label()]),
            depth: families.depth.get_or_create_owned(&queue),
            adds: families.adds.get_or_create_owned(&queue),
            retries: families.retries.get_or_create_owned(&queue),
            latency: families.latency.get_or_create_owned(&queue),
            work: families.work.get_or_create_owned(&queue),
        }
    }

    /// Records that an object was queued; `depth` objects are queued now.
    pub(crate) fn queued(&self, depth: usize) {
        self.adds.inc();
        self.dequeued(depth);
    }

    /// Records that a reconcile began, and how long its object was queued; `depth` objects are queued now.
    pub(crate) fn started(&self, waited: Option<Duration>, depth: usize) {
        self.begun();
        self.dequeued(depth);
        if let Some(waited) = waited {
            self.latency.observe(waited.as_secs_f64());
        }
    }

    /// Records that a reconcile began.
    pub(crate) fn begun(&self) {
        self.active.inc();
    }

    /// Records that a reconcile no longer runs.
    pub(crate) fn ended(&self) {
        self.active.dec();
    }

    /// Records that queued objects no longer exist; `depth` objects are queued now.
    pub(crate) fn dequeued(&self, depth: usize) {
        self.depth.set(i64::try_from(depth).unwrap_or(i64::MAX));
    }

    /// Records that a failed reconcile is going to be repeated.
    pub(crate) fn retried(&self) {
        self.retries.inc();
    }

    /// Records how a reconcile ended.
    pub(crate) fn finished(&self, result: ReconcileResult, took: Duration) {
        for (_, count) in self.results.iter().filter(|(of, _)| *of == result) {
            count.inc();
        }
        if result == ReconcileResult::Error {
            self.errors.inc();
        }
        self.reconcile.observe(took.as_secs_f64());
        self.work.observe(took.as_secs_f64());
    }
}

/// All metrics of a manager.
///
/// An operator adds its own ones, as the crate `prometheus-client` defines them:
///
/// ```
/// use operator_runtime::Identity;
/// use operator_runtime::metrics::Metrics;
/// use operator_runtime::metrics::prometheus_client::metrics::counter::Counter;
///
/// # const IDENTITY: Identity =
/// #     Identity { name: "backup-operator", group: "example.com", version: "1.0.0", about: "", image: "" };
/// // A reconciler and a task get them from `Context::metrics`.
/// let metrics = Metrics::new(&IDENTITY);
/// let backups = Counter::<u64>::default();
/// metrics.register("backups", "Total number of backups", backups.clone());
/// backups.inc_by(3);
/// assert!(metrics.page().contains("\nbackups_total 3\n"));
/// ```
pub struct Metrics {
    registry: Mutex<Registry>,
    controllers: ControllerFamilies,
    /// Whether this manager leads.
    leader: Family<Labels<1>, Gauge>,
    requests: Family<Labels<2>, Counter>,
    /// Has no labels, and no value before there is a certificate.
    certificate: Family<Labels<0>, Gauge>,
    operator: &'static str,
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metrics").field("operator", &self.operator).finish_non_exhaustive()
    }
}

impl Metrics {
    /// Returns metrics with all counters at zero.
    #[must_use]
    pub fn new(identity: &Identity) -> Self {
        let mut registry = Registry::default();
        let controllers = ControllerFamilies::register(&mut registry);
        let (leader, requests, certificate) = (Family::default(), Family::default(), Family::default());
        registry.register(
            "leader_election_master_status",
            "1 if this manager is the leader, 0 otherwise",
            Family::clone(&leader),
        );
        registry.register(
            "rest_client_requests",
            "Total number of requests to the API server; code 0 means no response",
            Family::clone(&requests),
        );
        registry.register(
            format!("{}_webhook_certificate_expiry_seconds", identity.snake_case()),
            "Time at which the webhook certificate expires, in seconds since 1970",
            Family::clone(&certificate),
        );
        registry.register_collector(Box::new(ProcessCollector));
        let registry = Mutex::new(registry);
        Self { registry, controllers, leader, requests, certificate, operator: identity.name }
    }

    /// Returns the metrics of the controller with this name, which may run this many reconciles at a time.
    pub(crate) fn controller(&self, name: &str, max_concurrent: u16) -> Arc<ControllerMetrics> {
        Arc::new(ControllerMetrics::new(&self.controllers, name, max_concurrent))
    }

    /// Returns what measures the reconciles of a `kube::runtime::Controller` with this name.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::Secret;
    /// use kube::runtime::controller::Action;
    /// use operator_runtime::metrics::{Measure, Metrics};
    /// use std::sync::Arc;
    ///
    /// async fn reconcile(secret: Arc<Secret>, _: Arc<()>) -> kube::Result<Action> {
    ///     Ok(Action::await_change())
    /// }
    ///
    /// fn run(controller: kube::runtime::Controller<Secret>, metrics: &Metrics) {
    ///     let reconcile = metrics.measure("secret").reconcile(reconcile);
    ///     let results = controller.run(reconcile, |_, _, _| Action::await_change(), Arc::new(()));
    /// #   drop(results);
    /// }
    /// ```
    #[must_use]
    pub fn measure(&self, name: &str) -> Measure {
        Measure { metrics: self.controller(name, 0) }
    }

    /// Records whether this manager leads.
    pub(crate) fn leads(&self, leads: bool) {
        self.leader.get_or_create(&[("name", self.operator.to_owned())]).set(i64::from(leads));
    }

    /// Records a response of the API server; 0 stands for none.
    pub(crate) fn requested(&self, method: &str, code: u16) {
        let labels = [("code", code.to_string()), ("method", method.to_owned())];
        self.requests.get_or_create(&labels).inc();
    }

    /// Records when the webhook's certificate expires, in seconds since 1970.
    pub(crate) fn certificate(&self, expires: i64) {
        self.certificate.get_or_create(&[]).set(expires);
    }

    /// Adds a metric of the operator, once. The name of a counter has no `_total`, and the help text no period: both are added.
    pub fn register(&self, name: &str, help: &str, metric: impl Metric) {
        lock(&self.registry).register(name, help, metric);
    }

    /// Returns the page for Prometheus, in the text format 0.0.4.
    #[must_use]
    pub fn page(&self) -> String {
        let mut page = String::new();
        // Writing to a string does not fail.
        let _ = prometheus_text::encode(&mut page, &lock(&self.registry));
        page
    }
}

/// CPU time and memory of this process, if the system provides them.
#[derive(Debug)]
struct ProcessCollector;

impl Collector for ProcessCollector {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let Some((cpu, resident)) = process_usage() else { return Ok(()) };
        let cpu = ConstCounter::new(cpu);
        let help = "CPU time of this process in seconds.";
        cpu.encode(encoder.encode_descriptor("process_cpu_seconds", help, None, cpu.metric_type())?)?;
        let resident = ConstGauge::new(resident);
        let help = "Resident memory of this process in bytes.";
        let kind = resident.metric_type();
        resident.encode(encoder.encode_descriptor("process_resident_memory_bytes", help, None, kind)?)
    }
}

/// Returns CPU seconds and resident bytes of this process, if the system provides them.
///
/// Linux counts CPU time in hundredths of a second (`USER_HZ`) and memory in pages, 4 KiB on all but a few machines;
/// `VmRSS` is in kB everywhere.
fn process_usage() -> Option<(f64, i64)> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    // The second field, the program's name, may contain anything; what follows its last parenthesis is regular.
    let fields = stat.rsplit_once(')')?.1.split_whitespace().collect::<Vec<_>>();
    let ticks = |index: usize| fields.get(index)?.parse::<f64>().ok();
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kilobytes = resident.split_whitespace().next()?.parse::<i64>().ok()?;
    Some(((ticks(11)? + ticks(12)?) / 100.0, kilobytes * 1024))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::sample::IDENTITY;

    #[test]
    fn page_counts_what_happened() {
        let metrics = Metrics::new(&IDENTITY);
        let controller = metrics.controller("memcached", 8);
        for depth in [1, 1, 2] {
            controller.queued(depth);
        }
        controller.started(Some(Duration::from_millis(2)), 1);
        controller.finished(ReconcileResult::Error, Duration::from_millis(30));
        controller.ended();
        metrics.requested("PATCH", 200);
        let page = metrics.page();
        for line in [
            "controller_runtime_reconcile_total{controller=\"memcached\",result=\"error\"} 1",
            "controller_runtime_reconcile_total{controller=\"memcached\",result=\"success\"} 0",
            "controller_runtime_reconcile_time_seconds_bucket{controller=\"memcached\",le=\"0.025\"} 0",
            "controller_runtime_reconcile_time_seconds_bucket{controller=\"memcached\",le=\"0.05\"} 1",
            "controller_runtime_reconcile_time_seconds_bucket{controller=\"memcached\",le=\"+Inf\"} 1",
            "workqueue_depth{controller=\"memcached\",name=\"memcached\"} 1",
            "workqueue_adds_total{controller=\"memcached\",name=\"memcached\"} 3",
            "workqueue_queue_duration_seconds_count{controller=\"memcached\",name=\"memcached\"} 1",
            "rest_client_requests_total{code=\"200\",method=\"PATCH\"} 1",
        ] {
            assert!(page.lines().any(|found| found == line), "{line}\nis not in\n{page}");
        }
    }

    #[test]
    fn metrics_are_described_once_each() {
        let metrics = Metrics::new(&IDENTITY);
        for name in ["one", "two"] {
            metrics.controller(name, 1).queued(1);
        }
        let page = metrics.page();
        let described = page.lines().filter_map(|line| line.strip_prefix("# TYPE ")).collect::<Vec<_>>();
        let mut unique = described.clone();
        unique.dedup();
        assert_eq!(described, unique);
        for line in page.lines().filter(|line| !line.starts_with('#')) {
            let name = line.split(['{', ' ']).next().unwrap();
            let base =
                ["_bucket", "_sum", "_count"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name);
            assert!(described.iter().any(|d| d.starts_with(base)), "{line}");
        }
    }
}

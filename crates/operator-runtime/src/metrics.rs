//! The manager's metrics in Prometheus' text format, with controller-runtime's names.

use crate::identity::Identity;
use std::collections::BTreeMap;
use std::fmt::{self, Write as _};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// controller-runtime's buckets for the duration of a reconcile, in seconds.
const RECONCILE_BOUNDS: &[f64] = &[
    0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.25,
    1.5, 1.75, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 15.0, 20.0, 25.0, 30.0, 40.0,
    50.0, 60.0,
];
/// controller-runtime's buckets for the time in the queue, in seconds.
const QUEUE_BOUNDS: &[f64] = &[1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1.0, 10.0, 100.0, 1000.0];

/// How a reconcile ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ReconcileResult {
    /// Done until something changes.
    Success,
    /// Done, and queued again at once.
    Requeue,
    /// Done, and queued again after a time.
    RequeueAfter,
    /// Failed, and retried with backoff.
    Error,
}

impl ReconcileResult {
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

/// A histogram with fixed buckets.
#[derive(Debug)]
struct Histogram {
    bounds: &'static [f64],
    counts: Vec<u64>,
    sum: f64,
    total: u64,
}

impl Histogram {
    fn new(bounds: &'static [f64]) -> Self {
        Self { bounds, counts: vec![0; bounds.len()], sum: 0.0, total: 0 }
    }

    fn observe(&mut self, took: Duration) {
        let seconds = took.as_secs_f64();
        self.sum += seconds;
        self.total += 1;
        if let Some(index) = self.bounds.iter().position(|bound| seconds <= *bound) {
            self.counts[index] += 1;
        }
    }

    fn write(&self, out: &mut Page, name: &str, labels: &str) {
        let mut below = 0;
        for (bound, count) in self.bounds.iter().zip(&self.counts) {
            below += count;
            out.line(&format!("{name}_bucket"), &format!("{labels},le=\"{bound}\""), &below.to_string());
        }
        out.line(&format!("{name}_bucket"), &format!("{labels},le=\"+Inf\""), &self.total.to_string());
        out.line(&format!("{name}_sum"), labels, &self.sum.to_string());
        out.line(&format!("{name}_count"), labels, &self.total.to_string());
    }
}

/// The numbers of one controller.
#[derive(Debug)]
struct Numbers {
    results: BTreeMap<ReconcileResult, u64>,
    reconcile: Histogram,
    work: Histogram,
    latency: Histogram,
    depth: usize,
    adds: u64,
    retries: u64,
    active: i64,
    max_concurrent: u16,
}

/// The metrics of one controller.
#[derive(Debug)]
pub(crate) struct ControllerMetrics {
    numbers: Mutex<Numbers>,
}

impl ControllerMetrics {
    fn new(max_concurrent: u16) -> Self {
        let numbers = Numbers {
            results: ReconcileResult::ALL.map(|result| (result, 0)).into(),
            reconcile: Histogram::new(RECONCILE_BOUNDS),
            work: Histogram::new(QUEUE_BOUNDS),
            latency: Histogram::new(QUEUE_BOUNDS),
            depth: 0,
            adds: 0,
            retries: 0,
            active: 0,
            max_concurrent,
        };
        Self { numbers: Mutex::new(numbers) }
    }

    fn numbers(&self) -> MutexGuard<'_, Numbers> {
        self.numbers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records that an object was queued; `depth` objects are queued now.
    pub(crate) fn queued(&self, depth: usize) {
        let mut numbers = self.numbers();
        numbers.adds += 1;
        numbers.depth = depth;
    }

    /// Records that a reconcile began, and how long its object was queued; `depth` objects are queued now.
    pub(crate) fn started(&self, waited: Option<Duration>, depth: usize) {
        let mut numbers = self.numbers();
        numbers.active += 1;
        numbers.depth = depth;
        if let Some(waited) = waited {
            numbers.latency.observe(waited);
        }
    }

    /// Records that queued objects no longer exist; `depth` objects are queued now.
    pub(crate) fn dequeued(&self, depth: usize) {
        self.numbers().depth = depth;
    }

    /// Records that a reconcile ended.
    pub(crate) fn finished(&self, result: ReconcileResult, took: Duration) {
        let mut numbers = self.numbers();
        numbers.active -= 1;
        *numbers.results.entry(result).or_default() += 1;
        if result == ReconcileResult::Error {
            numbers.retries += 1;
        }
        numbers.reconcile.observe(took);
        numbers.work.observe(took);
    }
}

/// The numbers of the whole manager.
#[derive(Debug, Default)]
struct Common {
    /// Whether the manager leads; nothing in a program without a manager.
    leader: Option<bool>,
    requests: BTreeMap<(String, u16), u64>,
    certificate_expires: Option<i64>,
    controllers: BTreeMap<String, Arc<ControllerMetrics>>,
}

/// All metrics of a manager.
///
/// An operator adds its own ones in the text format:
///
/// ```
/// use operator_runtime::Identity;
/// use operator_runtime::metrics::Metrics;
/// use std::sync::Arc;
/// use std::sync::atomic::{AtomicU64, Ordering};
///
/// # const IDENTITY: Identity =
/// #     Identity { name: "backup-operator", group: "example.com", version: "1.0.0", about: "", image: "" };
/// // A reconciler and a task get them from `Context::metrics`.
/// let metrics = Metrics::new(&IDENTITY);
/// let backups = Arc::new(AtomicU64::new(0));
/// let counter = Arc::clone(&backups);
/// metrics.register(move || {
///     let count = counter.load(Ordering::Relaxed);
///     format!(
///         "# HELP backups_total Total number of backups\n\
///          # TYPE backups_total counter\n\
///          backups_total {count}\n"
///     )
/// });
/// backups.fetch_add(3, Ordering::Relaxed);
/// assert!(metrics.page().ends_with("backups_total 3\n"));
/// ```
pub struct Metrics {
    /// The operator's name, and how it begins the names of metrics.
    operator: String,
    prefix: String,
    common: Mutex<Common>,
    registered: Mutex<Vec<Lines>>,
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metrics").field("operator", &self.operator).finish_non_exhaustive()
    }
}

/// Returns lines of the page.
type Lines = Arc<dyn Fn() -> String + Send + Sync>;
/// Writes the value of one controller.
type Write = fn(&mut Page, &Numbers, &str, &str);

impl Metrics {
    /// Returns metrics with all counters at zero.
    #[must_use]
    pub fn new(identity: &Identity) -> Self {
        Self {
            operator: identity.name.to_owned(),
            prefix: identity.snake(),
            common: Mutex::default(),
            registered: Mutex::default(),
        }
    }

    fn common(&self) -> MutexGuard<'_, Common> {
        self.common.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the metrics of the controller with this name, which may run this many reconciles at a time.
    pub(crate) fn controller(&self, name: &str, max_concurrent: u16) -> Arc<ControllerMetrics> {
        let mut common = self.common();
        let controller = common
            .controllers
            .entry(name.to_owned())
            .or_insert_with(|| Arc::new(ControllerMetrics::new(max_concurrent)));
        Arc::clone(controller)
    }

    /// Records whether this manager leads.
    pub(crate) fn leads(&self, leads: bool) {
        self.common().leader = Some(leads);
    }

    /// Records a response of the API server; 0 stands for none.
    pub(crate) fn requested(&self, method: &str, code: u16) {
        *self.common().requests.entry((method.to_owned(), code)).or_default() += 1;
    }

    /// Records when the webhook's certificate expires, in seconds since 1970.
    pub(crate) fn certificate(&self, expires: i64) {
        self.common().certificate_expires = Some(expires);
    }

    /// Adds metrics of the operator: `lines` is called for each page and returns lines of Prometheus' text format.
    pub fn register(&self, lines: impl Fn() -> String + Send + Sync + 'static) {
        self.registered.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::new(lines));
    }

    /// Returns the page for Prometheus.
    #[must_use]
    pub fn page(&self) -> String {
        // Called without the lock: it may register more.
        let registered = self.registered.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let mut page = self.own_page();
        for lines in registered {
            page.push_str(&lines());
            if !page.ends_with('\n') {
                page.push('\n');
            }
        }
        page
    }

    fn own_page(&self) -> String {
        let common = self.common();
        let mut page = Page::default();
        for (name, kind, help, write) in CONTROLLER_METRICS {
            page.about(name, kind, help);
            for (controller, metrics) in &common.controllers {
                let labels = if name.starts_with("workqueue") {
                    format!("controller=\"{controller}\",name=\"{controller}\"")
                } else {
                    format!("controller=\"{controller}\"")
                };
                write(&mut page, &metrics.numbers(), name, &labels);
            }
        }

        if let Some(leads) = common.leader {
            page.about(
                "leader_election_master_status",
                "gauge",
                "1 if this manager is the leader, 0 otherwise",
            );
            let labels = format!("name=\"{}\"", self.operator);
            page.line("leader_election_master_status", &labels, if leads { "1" } else { "0" });
        }
        page.about(
            "rest_client_requests_total",
            "counter",
            "Total number of requests to the API server; code 0 means no response",
        );
        for ((method, code), count) in &common.requests {
            let labels = format!("code=\"{code}\",method=\"{method}\"");
            page.line("rest_client_requests_total", &labels, &count.to_string());
        }
        if let Some(expires) = common.certificate_expires {
            let name = format!("{}_webhook_certificate_expiry_seconds", self.prefix);
            page.about(
                &name,
                "gauge",
                "Time at which the webhook certificate expires, in seconds since 1970",
            );
            page.line(&name, "", &expires.to_string());
        }
        if let Some((cpu, resident)) = process() {
            page.about("process_cpu_seconds_total", "counter", "CPU time of this process in seconds");
            page.line("process_cpu_seconds_total", "", &cpu.to_string());
            page.about("process_resident_memory_bytes", "gauge", "Resident memory of this process in bytes");
            page.line("process_resident_memory_bytes", "", &resident.to_string());
        }
        page.text
    }
}

/// Name, type, help and value of each metric of a controller.
const CONTROLLER_METRICS: &[(&str, &str, &str, Write)] = &[
    (
        "controller_runtime_reconcile_total",
        "counter",
        "Total number of reconciles by result",
        |page, numbers, name, labels| {
            for (result, count) in &numbers.results {
                let labels = format!("{labels},result=\"{}\"", result.label());
                page.line(name, &labels, &count.to_string());
            }
        },
    ),
    (
        "controller_runtime_reconcile_errors_total",
        "counter",
        "Total number of failed reconciles",
        |page, numbers, name, labels| {
            let errors = numbers.results.get(&ReconcileResult::Error).copied().unwrap_or_default();
            page.line(name, labels, &errors.to_string());
        },
    ),
    (
        "controller_runtime_reconcile_time_seconds",
        "histogram",
        "Duration of reconciles in seconds",
        |page, numbers, name, labels| numbers.reconcile.write(page, name, labels),
    ),
    (
        "controller_runtime_max_concurrent_reconciles",
        "gauge",
        "Maximum number of concurrent reconciles",
        |page, numbers, name, labels| page.line(name, labels, &numbers.max_concurrent.to_string()),
    ),
    (
        "controller_runtime_active_workers",
        "gauge",
        "Number of running reconciles",
        |page, numbers, name, labels| page.line(name, labels, &numbers.active.to_string()),
    ),
    ("workqueue_depth", "gauge", "Number of queued objects", |page, numbers, name, labels| {
        page.line(name, labels, &numbers.depth.to_string());
    }),
    (
        "workqueue_adds_total",
        "counter",
        "Total number of times that an object was queued",
        |page, numbers, name, labels| page.line(name, labels, &numbers.adds.to_string()),
    ),
    ("workqueue_retries_total", "counter", "Total number of retries", |page, numbers, name, labels| {
        page.line(name, labels, &numbers.retries.to_string());
    }),
    (
        "workqueue_queue_duration_seconds",
        "histogram",
        "Time in seconds that objects stay queued",
        |page, numbers, name, labels| numbers.latency.write(page, name, labels),
    ),
    (
        "workqueue_work_duration_seconds",
        "histogram",
        "Duration of reconciles in seconds",
        |page, numbers, name, labels| numbers.work.write(page, name, labels),
    ),
];

/// Returns CPU seconds and resident bytes of this process, if the system provides them.
///
/// Linux counts CPU time in hundredths of a second (`USER_HZ`) and memory in pages, 4 KiB on all but a few machines;
/// `VmRSS` is in kB everywhere.
fn process() -> Option<(f64, u64)> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    // The second field, the program's name, may contain anything; what follows its last parenthesis is regular.
    let fields = stat.rsplit_once(')')?.1.split_whitespace().collect::<Vec<_>>();
    let ticks = |index: usize| fields.get(index)?.parse::<f64>().ok();
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kilobytes = resident.split_whitespace().next()?.parse::<u64>().ok()?;
    Some(((ticks(11)? + ticks(12)?) / 100.0, kilobytes * 1024))
}

#[derive(Default)]
struct Page {
    text: String,
}

impl Page {
    fn about(&mut self, name: &str, kind: &str, help: &str) {
        // Writing to a String cannot fail.
        let _ = writeln!(self.text, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    fn line(&mut self, name: &str, labels: &str, value: &str) {
        let _ = if labels.is_empty() {
            writeln!(self.text, "{name} {value}")
        } else {
            writeln!(self.text, "{name}{{{labels}}} {value}")
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::sample::IDENTITY;

    #[test]
    fn the_page_counts_what_happened() {
        let metrics = Metrics::new(&IDENTITY);
        let controller = metrics.controller("memcached", 8);
        for depth in [1, 1, 2] {
            controller.queued(depth);
        }
        controller.started(Some(Duration::from_millis(2)), 1);
        controller.finished(ReconcileResult::Error, Duration::from_millis(30));
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
    fn every_metric_is_described_once() {
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

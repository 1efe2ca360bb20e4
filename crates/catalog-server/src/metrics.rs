//! What the server counts, in Prometheus' text format.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use limited_http::OpenConnections;

use super::query::Catalog;

/// The media type of the format.
pub(crate) const MEDIA_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Counters and gauges. Labels have values of fixed sets only, so that clients cannot make their number grow.
#[derive(Debug, Default)]
pub(crate) struct Metrics {
    /// By method and status code.
    grpc: Mutex<BTreeMap<(&'static str, u16), u64>>,
    /// By route and status code.
    http: Mutex<BTreeMap<(&'static str, u16), u64>>,
    /// Of each server.
    connections: Mutex<Vec<OpenConnections>>,
    packages: AtomicU64,
    channels: AtomicU64,
    bundles: AtomicU64,
    loaded_at: AtomicU64,
    loads: AtomicU64,
    rejected: AtomicU64,
}

impl Metrics {
    /// Counts the connections of one more server.
    pub(crate) fn count_connections(&self, open: OpenConnections) {
        self.connections.lock().unwrap_or_else(PoisonError::into_inner).push(open);
    }

    pub(crate) fn grpc(&self, method: &'static str, code: u16) {
        *self.grpc.lock().unwrap_or_else(PoisonError::into_inner).entry((method, code)).or_default() += 1;
    }

    pub(crate) fn http(&self, route: &'static str, code: u16) {
        *self.http.lock().unwrap_or_else(PoisonError::into_inner).entry((route, code)).or_default() += 1;
    }

    pub(crate) fn loaded(&self, catalog: &Catalog) {
        let [packages, channels, _] = catalog.counts();
        self.packages.store(packages.into(), Ordering::Relaxed);
        self.channels.store(channels.into(), Ordering::Relaxed);
        self.bundles.store(catalog.bundles().into(), Ordering::Relaxed);
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        self.loaded_at.store(now.as_secs(), Ordering::Relaxed);
        self.loads.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn rejected(&self) {
        self.rejected.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns all of it in the text format of Prometheus.
    pub(crate) fn to_prometheus(&self) -> String {
        let mut out = String::new();
        // Writing to a string cannot fail.
        let family = |name: &str, kind: &str, help: &str, out: &mut String| {
            let _ = writeln!(out, "# HELP bundle_tool_{name} {help}\n# TYPE bundle_tool_{name} {kind}");
        };
        family("grpc_calls_total", "counter", "gRPC calls, by method and status code.", &mut out);
        for ((method, code), count) in self.grpc.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            let _ =
                writeln!(out, "bundle_tool_grpc_calls_total{{method=\"{method}\",code=\"{code}\"}} {count}");
        }
        family("http_requests_total", "counter", "HTTP requests, by route and status code.", &mut out);
        for ((route, code), count) in self.http.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            let _ =
                writeln!(out, "bundle_tool_http_requests_total{{route=\"{route}\",code=\"{code}\"}} {count}");
        }
        let number = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let connections = self.connections.lock().unwrap_or_else(PoisonError::into_inner);
        let connections: u64 = connections.iter().map(|open| open.get() as u64).sum();
        let gauges: [(&str, &str, &str, i128); 7] = [
            ("connections", "gauge", "Open connections.", connections.into()),
            ("catalog_packages", "gauge", "Packages of the catalog.", number(&self.packages).into()),
            ("catalog_channels", "gauge", "Channels of the catalog.", number(&self.channels).into()),
            ("catalog_bundles", "gauge", "Bundles of the catalog.", number(&self.bundles).into()),
            (
                "catalog_loaded_timestamp_seconds",
                "gauge",
                "Time at which the served catalog was loaded, in seconds since 1970.",
                number(&self.loaded_at).into(),
            ),
            (
                "catalog_loads_total",
                "counter",
                "Number of times that the catalog was loaded.",
                number(&self.loads).into(),
            ),
            (
                "catalog_rejected_total",
                "counter",
                "Number of changes of the catalog that could not be served.",
                number(&self.rejected).into(),
            ),
        ];
        for (name, kind, help, value) in gauges {
            family(name, kind, help, &mut out);
            let _ = writeln!(out, "bundle_tool_{name} {value}");
        }
        out
    }
}

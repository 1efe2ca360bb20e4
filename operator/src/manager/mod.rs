//! The process around the controller: options, logs, health endpoints, signals and an orderly end.

mod health;

use crate::controller::{self, Owned, Settings, Shared};
use anyhow::Context as _;
use clap::Args;
use kube::{Client, Config};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tracing_subscriber::EnvFilter;

/// How log lines look.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum LogFormat {
    /// One JSON object a line.
    Json,
    /// For people.
    Text,
}

/// Options of `memcached-operator run`.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Image of the servers where a Memcached names none
    #[arg(long, env = "MEMCACHED_IMAGE", default_value = crate::manifests::OPERAND_IMAGE, value_name = "IMAGE")]
    pub memcached_image: String,
    /// Namespaces to watch, separated by commas; empty means all
    #[arg(long, env = "WATCH_NAMESPACE", default_value = "", value_name = "NAMESPACES")]
    pub watch_namespace: String,
    /// Where /healthz and /readyz are served; `0` switches them off
    #[arg(long, default_value = ":8081", value_name = "ADDRESS")]
    pub health_probe_bind_address: String,
    /// How many Memcacheds are worked on at the same time
    #[arg(long, default_value_t = 8, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=512))]
    pub max_concurrent_reconciles: u16,
    /// Which kinds a Memcached owns
    #[arg(long, value_enum, default_value = "all")]
    pub owned: Owned,
    /// How log lines look
    #[arg(long, value_enum, default_value = "json")]
    pub log_format: LogFormat,
    /// What is logged, as in `info` or `memcached_operator=debug,kube=warn`
    #[arg(long, env = "RUST_LOG", default_value = "info", value_name = "FILTER")]
    pub log_level: String,
}

/// Runs the manager until it is told to stop (SIGTERM or SIGINT).
///
/// # Errors
/// When the options make no sense, no API server is configured, or an address is taken.
pub fn run(options: Options) -> anyhow::Result<()> {
    start_logging(&options)?;
    // One thread: the work is waiting for the API server, and a second thread costs memory and wakes both up.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("failed to start the runtime")?;
    runtime.block_on(serve(options))
}

fn start_logging(options: &Options) -> anyhow::Result<()> {
    let filter = EnvFilter::try_new(&options.log_level)
        .with_context(|| format!("--log-level: {:?} is not a filter", options.log_level))?;
    let lines = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    match options.log_format {
        LogFormat::Json => lines.json().with_current_span(false).with_span_list(true).init(),
        LogFormat::Text => lines.init(),
    }
    Ok(())
}

async fn serve(options: Options) -> anyhow::Result<()> {
    let mut config =
        Config::infer().await.context("no API server is configured: set KUBECONFIG or run in a pod")?;
    // A request that hangs would hold its Memcached; watches have a limit of their own.
    config.connect_timeout = Some(Duration::from_secs(10));
    config.write_timeout = Some(Duration::from_secs(30));
    let client = Client::try_from(config).context("failed to make a client for the API server")?;
    let shared = Arc::new(Shared::new(client, settings(&options))?);

    let (synced, is_synced) = watch::channel(false);
    let (stop, stopped) = watch::channel(false);
    let health = health::serve(&options.health_probe_bind_address, is_synced).await?;
    tracing::info!(version = env!("CARGO_PKG_VERSION"), "starting");
    let signals = tokio::spawn(async move {
        termination().await;
        tracing::info!("told to stop: finishing what is under way");
        let _ = stop.send(true);
    });
    tokio::select! {
        () = controller::run(shared, synced, stopped) => {}
        error = health => return error,
    }
    signals.abort();
    tracing::info!("stopped");
    Ok(())
}

fn settings(options: &Options) -> Settings {
    let namespaces = options.watch_namespace.split(',').map(str::trim).filter(|name| !name.is_empty());
    let mut namespaces = namespaces.map(ToOwned::to_owned).collect::<Vec<_>>();
    namespaces.sort();
    namespaces.dedup();
    let hostname = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    Settings {
        operand_image: options.memcached_image.clone(),
        owned: options.owned,
        max_concurrent_reconciles: options.max_concurrent_reconciles,
        namespaces,
        instance: format!("memcached-operator-{}", hostname.trim()),
    }
}

async fn termination() {
    use tokio::signal::unix::{SignalKind, signal};
    let interrupted = tokio::signal::ctrl_c();
    match signal(SignalKind::terminate()) {
        Ok(mut terminated) => {
            tokio::select! { _ = terminated.recv() => {}, _ = interrupted => {} }
        }
        Err(error) => {
            tracing::warn!(%error, "cannot listen for SIGTERM, only for SIGINT");
            let _ = interrupted.await;
        }
    }
}

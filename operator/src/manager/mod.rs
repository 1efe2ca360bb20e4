//! The process around the controller: options, logs, leader election, servers, signals and an orderly end.

mod certificates;
mod health;
mod issue;
mod lease;
mod requests;
mod servers;
mod tls;

#[cfg(test)]
pub(crate) use certificates::SECRET;

use crate::controller::{self, Owned, Settings, Shared};
use crate::manifests::{PREFIX, names};
use crate::metrics::Metrics;
use anyhow::{Context as _, anyhow, bail};
use certificates::Keeper;
use clap::Args;
use futures::future::{Either, pending};
use health::bind;
use jiff::{SignedDuration, Timestamp};
use kube::client::ClientBuilder;
use kube::{Client, Config};
use lease::Election;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tls::Certificate;
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
    /// Work only while holding a Lease, so that of several managers one works
    #[arg(long)]
    pub leader_elect: bool,
    /// Where /healthz and /readyz are served; `0` switches them off
    #[arg(long, default_value = ":8081", value_name = "ADDRESS")]
    pub health_probe_bind_address: String,
    /// Where /metrics is served; `0` switches it off
    #[arg(long, default_value = "0", value_name = "ADDRESS")]
    pub metrics_bind_address: String,
    /// Serve metrics over TLS, to those only whom the API server allows
    #[arg(long, default_value_t = true, action = clap::ArgAction::Set, value_name = "BOOL")]
    pub metrics_secure: bool,
    /// Serve the admission webhooks; `false` switches them off
    #[arg(long, env = "ENABLE_WEBHOOKS", default_value_t = true, action = clap::ArgAction::Set, value_name = "BOOL")]
    pub enable_webhooks: bool,
    /// Where the webhooks are served
    #[arg(long, default_value = ":9443", value_name = "ADDRESS")]
    pub webhook_bind_address: String,
    /// Folder with tls.crt and tls.key for the webhooks; without those files the manager makes its own certificate
    #[arg(long, default_value = "/tmp/k8s-webhook-server/serving-certs", value_name = "DIR")]
    pub webhook_cert_path: PathBuf,
    /// How long a certificate that the manager makes is good, in seconds; it is renewed after two thirds of it
    #[arg(long, default_value_t = 90 * 24 * 3600, value_name = "SECONDS",
          value_parser = clap::value_parser!(u32).range(30..=10 * 365 * 24 * 3600))]
    pub webhook_cert_lifetime: u32,
    /// How many Memcacheds are worked on at the same time
    #[arg(long, default_value_t = 8, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=512))]
    pub max_concurrent_reconciles: u16,
    /// Seconds to finish what is under way when told to stop
    #[arg(long, default_value_t = 8, value_name = "SECONDS")]
    pub graceful_shutdown_timeout: u64,
    /// Which kinds a Memcached owns
    #[arg(long, value_enum, default_value = "all")]
    pub owned: Owned,
    /// How log lines look
    #[arg(long, value_enum, default_value = "json")]
    pub log_format: LogFormat,
    /// What is logged, as in `info` or `memcached_operator=debug,kube=warn`
    #[arg(long, env = "RUST_LOG", default_value = "info", value_name = "FILTER")]
    pub log_level: String,
    /// Namespace of this manager, for its Lease and its certificate
    #[arg(long, env = "POD_NAMESPACE", default_value = "", hide = true)]
    pub namespace: String,
    /// Name of this manager's pod
    #[arg(long, env = "POD_NAME", default_value = "", hide = true)]
    pub pod_name: String,
}

/// Runs the manager until it is told to stop (SIGTERM or SIGINT).
///
/// # Errors
/// When the options make no sense, no API server is configured, an address is taken, or the lease is lost.
pub fn run(options: Options) -> anyhow::Result<()> {
    start_logging(&options)?;
    // One thread: the work is waiting for the API server, and a second thread costs memory and wakes both up.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("failed to start the runtime")?;
    let result = runtime.block_on(serve(options));
    // What is left, a probe's connection perhaps, is not worth waiting for.
    runtime.shutdown_background();
    result
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
    let metrics = Arc::new(Metrics::new(options.max_concurrent_reconciles));
    let client = client(&metrics).await?;
    let namespace = namespace(&options);
    let identity = identity(&options);
    let settings = settings(&options, &identity);
    let shared = Arc::new(Shared::new(client.clone(), settings, Arc::clone(&metrics))?);

    let (synced, is_synced) = watch::channel(false);
    let (certified, is_certified) = watch::channel(!options.enable_webhooks);
    let (lead, leads) = watch::channel(false);
    let (stop, stopped) = watch::channel(false);

    let health = health::serve(&options.health_probe_bind_address, [is_synced, is_certified]).await?;
    let metrics_server = metrics_server(&options, &client, &metrics, namespace.as_deref()).await?;
    let webhooks = webhook_server(&options, &client, &metrics, namespace.as_deref(), certified).await?;
    tracing::info!(version = env!("CARGO_PKG_VERSION"), identity, "starting");

    tokio::spawn(async move {
        termination().await;
        tracing::info!("told to stop: finishing what is under way");
        stop.send_replace(true);
    });
    let mut election = match (options.leader_elect, &namespace) {
        (false, _) => None,
        (true, Some(namespace)) => Some(Election::new(client, namespace, names::LEASE, identity)),
        (true, None) => {
            bail!("--leader-elect needs to know its namespace: set POD_NAMESPACE or run in a pod")
        }
    };

    let ended = {
        let mut told = stopped.clone();
        let patience = Duration::from_secs(options.graceful_shutdown_timeout);
        let out_of_time = async {
            let _ = told.wait_for(|stop| *stop).await;
            tokio::time::sleep(patience).await;
        };
        let elected = async {
            if let Some(election) = &mut election {
                election.acquire().await;
                tracing::info!("leading");
            }
            metrics.leads(true);
            lead.send_replace(true);
            match &mut election {
                Some(election) => election.keep().await,
                None => pending().await,
            }
            metrics.leads(false);
        };
        // Whichever ends first drops the others; the controller, once dropped, makes no further request.
        tokio::select! {
            () = controller::run(shared, synced, leads, stopped) => Ok(()),
            () = out_of_time => {
                tracing::warn!("not everything could be finished in time");
                Ok(())
            }
            () = elected => Err(anyhow!("the lease is lost: stopped at once, another manager works on")),
            error = health => error,
            error = metrics_server => error.context("failed to serve metrics"),
            error = webhooks => error.context("failed to serve webhooks"),
        }
    };
    if let Some(election) = election.as_mut().filter(|_| ended.is_ok()) {
        election.release().await;
    }
    tracing::info!("stopped");
    ended
}

/// The client that everything here shares.
async fn client(metrics: &Arc<Metrics>) -> anyhow::Result<Client> {
    let mut config =
        Config::infer().await.context("no API server is configured: set KUBECONFIG or run in a pod")?;
    // A request that hangs would hold its Memcached; watches have a limit of their own.
    config.connect_timeout = Some(Duration::from_secs(10));
    config.write_timeout = Some(Duration::from_secs(30));
    let builder = ClientBuilder::try_from(config).context("failed to make a client for the API server")?;
    Ok(builder.with_layer(&requests::Counted::new(Arc::clone(metrics))).build())
}

async fn metrics_server(
    options: &Options,
    client: &Client,
    metrics: &Arc<Metrics>,
    namespace: Option<&str>,
) -> anyhow::Result<impl Future<Output = anyhow::Result<()>> + use<>> {
    if matches!(options.metrics_bind_address.as_str(), "0" | "") {
        return Ok(Either::Left(pending()));
    }
    let listener = bind(&options.metrics_bind_address).await?;
    let certificate = if options.metrics_secure {
        // Nobody checks it (Prometheus is told not to, as with the Go scaffold), so it need not outlive the process.
        let certificate = Certificate::default();
        let names = service_names(names::METRICS_SERVICE, namespace);
        let now = Timestamp::now();
        let authority = issue::authority(now)?;
        let pair = issue::serving(&authority, &names, now, SignedDuration::from_hours(24 * 3650))?;
        certificate.set(pair.certificate.as_bytes(), pair.key.as_bytes())?;
        Some(certificate)
    } else {
        None
    };
    Ok(Either::Right(servers::metrics(listener, certificate, client.clone(), Arc::clone(metrics))))
}

async fn webhook_server(
    options: &Options,
    client: &Client,
    metrics: &Arc<Metrics>,
    namespace: Option<&str>,
    certified: watch::Sender<bool>,
) -> anyhow::Result<impl Future<Output = anyhow::Result<()>> + use<>> {
    if !options.enable_webhooks {
        return Ok(Either::Left(pending()));
    }
    let listener = bind(&options.webhook_bind_address).await?;
    let certificate = Certificate::default();
    let mounted = options.webhook_cert_path.join("tls.crt").exists();
    match namespace {
        _ if mounted => {
            tokio::spawn(certificates::follow_files(
                options.webhook_cert_path.clone(),
                certificate.clone(),
                certified,
            ));
        }
        Some(namespace) => {
            let keeper = Keeper {
                client: client.clone(),
                names: service_names(names::WEBHOOK_SERVICE, Some(namespace)),
                namespace: namespace.to_owned(),
                lifetime: SignedDuration::from_secs(i64::from(options.webhook_cert_lifetime)),
                configurations: [names::MUTATING, names::VALIDATING].map(|name| format!("{PREFIX}{name}")),
                certificate: certificate.clone(),
                metrics: Arc::clone(metrics),
            };
            tokio::spawn(keeper.run(certified));
        }
        None => bail!(
            "the webhooks have no certificate: put tls.crt and tls.key into {}, or set ENABLE_WEBHOOKS=false",
            options.webhook_cert_path.display()
        ),
    }
    Ok(Either::Right(servers::webhooks(listener, certificate, options.memcached_image.clone())))
}

/// The names under which a Service of the manager is reached in the cluster.
fn service_names(service: &str, namespace: Option<&str>) -> Vec<String> {
    let namespace = namespace.unwrap_or("default");
    let name = format!("{PREFIX}{service}.{namespace}");
    vec![format!("{name}.svc"), format!("{name}.svc.cluster.local"), "localhost".to_owned()]
}

fn namespace(options: &Options) -> Option<String> {
    let file = "/var/run/secrets/kubernetes.io/serviceaccount/namespace";
    let given = Some(options.namespace.clone()).filter(|name| !name.is_empty());
    given.or_else(|| std::fs::read_to_string(file).ok()).map(|name| name.trim().to_owned())
}

/// Who this manager is in the Lease and in events: different for each process.
fn identity(options: &Options) -> String {
    if !options.pod_name.is_empty() {
        return options.pod_name.clone();
    }
    let hostname = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    format!("{}-{}", hostname.trim(), std::process::id())
}

fn settings(options: &Options, identity: &str) -> Settings {
    let namespaces = options.watch_namespace.split(',').map(str::trim).filter(|name| !name.is_empty());
    let mut namespaces = namespaces.map(ToOwned::to_owned).collect::<Vec<_>>();
    namespaces.sort();
    namespaces.dedup();
    Settings {
        operand_image: options.memcached_image.clone(),
        owned: options.owned,
        max_concurrent_reconciles: options.max_concurrent_reconciles,
        namespaces,
        instance: identity.to_owned(),
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

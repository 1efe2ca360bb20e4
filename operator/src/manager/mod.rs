//! The process around the controller: options, logs, leader election, servers, signals and graceful shutdown.

mod certificates;
mod health;
mod issue;
mod lease;
mod platform;
pub(crate) mod requests;
mod servers;
mod tls;

#[cfg(test)]
pub(crate) use certificates::SECRET;

use crate::controller::{self, OPERAND_USER, Owned, Settings, Shared};
use crate::manifests::{PREFIX, names};
use crate::metrics::Metrics;
use anyhow::{Context as _, anyhow, bail};
use certificates::CertificateManager;
use clap::Args;
use futures::future::{Either, pending};
use health::bind;
use jiff::{SignedDuration, Timestamp};
use kube::client::ClientBuilder;
use kube::{Client, Config};
use lease::LeaderElection;
use requests::{CountRequests, LimitRequests};
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};
use tls::Certificate;
use tokio::sync::{oneshot, watch};
use tracing_subscriber::EnvFilter;

/// Format of log lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum LogFormat {
    /// One JSON object per line.
    Json,
    /// Human-readable text.
    Text,
}

/// Options of `memcached-operator run`.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Image of the memcached servers unless a Memcached sets one
    #[arg(long, env = "MEMCACHED_IMAGE", default_value = crate::manifests::OPERAND_IMAGE, value_name = "IMAGE")]
    pub memcached_image: String,
    /// Comma-separated namespaces to watch; empty for all
    #[arg(long, env = "WATCH_NAMESPACE", default_value = "", value_name = "NAMESPACES")]
    pub watch_namespace: String,
    /// Reconcile only while holding a Lease, so that one of several managers is active
    #[arg(long)]
    pub leader_elect: bool,
    /// Address of /healthz and /readyz; `0` disables them
    #[arg(long, default_value = ":8081", value_name = "ADDRESS")]
    pub health_probe_bind_address: String,
    /// Address of /metrics; `0` disables it
    #[arg(long, default_value = "0", value_name = "ADDRESS")]
    pub metrics_bind_address: String,
    /// Serve metrics over TLS, and only to clients that the API server authorizes
    #[arg(long, default_value_t = true, action = clap::ArgAction::Set, value_name = "BOOL")]
    pub metrics_secure: bool,
    /// Serve the admission webhooks
    #[arg(long, env = "ENABLE_WEBHOOKS", default_value_t = true, action = clap::ArgAction::Set, value_name = "BOOL")]
    pub enable_webhooks: bool,
    /// Address of the admission webhooks
    #[arg(long, default_value = ":9443", value_name = "ADDRESS")]
    pub webhook_bind_address: String,
    /// Directory with tls.crt and tls.key for the webhooks; without these files the manager issues a certificate
    #[arg(long, default_value = "/tmp/k8s-webhook-server/serving-certs", value_name = "DIR")]
    pub webhook_cert_path: PathBuf,
    /// Lifetime in seconds of certificates that the manager issues; they are renewed after two thirds of it
    #[arg(long, default_value_t = 90 * 24 * 3600, value_name = "SECONDS",
          value_parser = clap::value_parser!(u32).range(30..=10 * 365 * 24 * 3600))]
    pub webhook_cert_lifetime: u32,
    /// Memcacheds reconciled at the same time
    #[arg(long, default_value_t = 8, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=512))]
    pub max_concurrent_reconciles: u16,
    /// Seconds after which everything is listed and reconciled again, 10 % more or less
    #[arg(long, default_value_t = 10 * 3600, value_name = "SECONDS", value_parser = clap::value_parser!(u32).range(60..))]
    pub sync_period: u32,
    /// Seconds to wait for the API server's response to a request
    #[arg(long, default_value_t = 60, value_name = "SECONDS", value_parser = clap::value_parser!(u32).range(1..=3600))]
    pub request_timeout: u32,
    /// Seconds to wait for running reconciles and admission requests on shutdown
    #[arg(long, default_value_t = 8, value_name = "SECONDS")]
    pub graceful_shutdown_timeout: u64,
    /// Kinds that a Memcached owns
    #[arg(long, value_enum, default_value = "all")]
    pub owned: Owned,
    /// Format of log lines
    #[arg(long, value_enum, default_value = "json")]
    pub log_format: LogFormat,
    /// Log filter, such as `info` or `memcached_operator=debug,kube=warn`
    #[arg(long, env = "RUST_LOG", default_value = "info", value_name = "FILTER")]
    pub log_level: String,
    /// Namespace of this manager, for its Lease and its certificate
    #[arg(long, env = "POD_NAMESPACE", default_value = "", hide = true)]
    pub namespace: String,
    /// Name of this manager's pod
    #[arg(long, env = "POD_NAME", default_value = "", hide = true)]
    pub pod_name: String,
}

/// Runs the manager until SIGTERM or SIGINT.
///
/// # Errors
/// When an option is invalid, no API server is configured, an address is in use, or leader election is lost.
pub fn run(options: Options) -> anyhow::Result<()> {
    start_logging(&options)?;
    // One thread: the manager mostly waits for the API server, and a second thread costs memory and wakes both up.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("failed to start the runtime")?;
    let result = runtime.block_on(serve(options));
    // Whatever is left, such as a probe's connection, is not worth waiting for.
    runtime.shutdown_background();
    result
}

fn start_logging(options: &Options) -> anyhow::Result<()> {
    let filter = EnvFilter::try_new(&options.log_level)
        .with_context(|| format!("invalid value `{}` for --log-level", options.log_level))?;
    let lines = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    match options.log_format {
        LogFormat::Json => lines.json().with_current_span(false).with_span_list(true).init(),
        LogFormat::Text => lines.init(),
    }
    Ok(())
}

/// How long the webhooks keep accepting requests during shutdown: the API server learns from the endpoints of the
/// Service, some time later, that this pod is gone.
const WEBHOOK_DRAIN_DELAY: Duration = Duration::from_secs(3);

async fn serve(options: Options) -> anyhow::Result<()> {
    let metrics = Arc::new(Metrics::new(options.max_concurrent_reconciles));
    let client = client(&options, &metrics).await?;
    let namespace = namespace(&options);
    let identity = identity(&options);

    let (synced, is_synced) = watch::channel(false);
    let (certified, is_certified) = watch::channel(!options.enable_webhooks);
    let (lead, leads) = watch::channel(false);
    let (stop, stopped) = watch::channel(false);

    let health = health::serve(&options.health_probe_bind_address, [is_synced, is_certified]).await?;
    let metrics_server = metrics_server(&options, &client, &metrics, namespace.as_deref()).await?;
    let mut webhooks =
        Webhooks::start(&options, &client, &metrics, namespace.as_deref(), certified, stopped.clone())
            .await?;
    let mut election = match (options.leader_elect, &namespace) {
        (false, _) => None,
        (true, Some(namespace)) => {
            Some(LeaderElection::new(client.clone(), namespace, names::LEASE, identity.clone()))
        }
        (true, None) => {
            bail!("--leader-elect requires a namespace: set POD_NAMESPACE, or run in a pod")
        }
    };
    tracing::info!(version = env!("CARGO_PKG_VERSION"), identity, "starting");

    let grace = Duration::from_secs(options.graceful_shutdown_timeout);
    let deadline = Arc::new(OnceLock::new());
    let (stopping, at_latest) = (stop.clone(), Arc::clone(&deadline));
    tokio::spawn(async move {
        termination().await;
        tracing::info!("shutting down; waiting for running reconciles");
        let _ = at_latest.set(Instant::now() + grace);
        stopping.send_replace(true);
    });

    let ended = {
        let mut requested = stopped.clone();
        let out_of_time = async {
            let _ = requested.wait_for(|stop| *stop).await;
            tokio::time::sleep(grace).await;
        };
        let elected = async {
            if let Some(election) = &mut election {
                election.acquire().await;
                tracing::info!("became the leader");
            }
            metrics.leads(true);
            lead.send_replace(true);
            match &mut election {
                Some(election) => election.renew().await,
                None => pending().await,
            }
            metrics.leads(false);
        };
        let controller = async {
            let Some(openshift) = platform::is_openshift(&client, stopped.clone()).await else {
                return Ok(());
            };
            let settings = settings(&options, &identity, openshift);
            let shared = Arc::new(Shared::new(client.clone(), settings, Arc::clone(&metrics))?);
            controller::run(shared, synced, leads, stopped.clone()).await;
            Ok(())
        };
        // Whichever ends first drops the others; the controller, once dropped, makes no further request.
        tokio::select! {
            result = controller => result,
            () = out_of_time => {
                tracing::warn!("the graceful shutdown timed out with reconciles still running");
                Ok(())
            }
            () = elected => Err(anyhow!("leader election lost; exiting")),
            error = health => error,
            error = metrics_server => error.context("failed to serve metrics"),
            error = webhooks.failed() => Err(error.context("failed to serve webhooks")),
        }
    };
    if let Some(election) = election.as_mut().filter(|_| ended.is_ok()) {
        election.release().await;
    }
    // The webhooks serve whoever leads, so the requests in flight are completed in any case.
    stop.send_replace(true);
    let left = deadline.get().map_or(grace, |deadline| deadline.saturating_duration_since(Instant::now()));
    webhooks.drained(left).await;
    tracing::info!("stopped");
    ended
}

/// Returns the client that the whole manager shares.
async fn client(options: &Options, metrics: &Arc<Metrics>) -> anyhow::Result<Client> {
    let mut config =
        Config::infer().await.context("no API server is configured: set KUBECONFIG, or run in a pod")?;
    config.connect_timeout = Some(Duration::from_secs(10));
    config.write_timeout = Some(Duration::from_secs(30));
    let builder =
        ClientBuilder::try_from(config).context("failed to configure the client of the API server")?;
    let timeout = Duration::from_secs(options.request_timeout.into());
    Ok(builder
        .with_layer(&LimitRequests::new(timeout))
        .with_layer(&CountRequests::new(Arc::clone(metrics)))
        .build())
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
        // Clients do not verify it (as with the Go scaffold's ServiceMonitor), so it need not outlive the process.
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

/// The webhook server, in a task of its own: it outlives the controller during shutdown.
struct Webhooks {
    failed: oneshot::Receiver<anyhow::Error>,
    drained: watch::Receiver<bool>,
}

impl Webhooks {
    async fn start(
        options: &Options,
        client: &Client,
        metrics: &Arc<Metrics>,
        namespace: Option<&str>,
        certified: watch::Sender<bool>,
        mut stop: watch::Receiver<bool>,
    ) -> anyhow::Result<Self> {
        let (fail, failed) = oneshot::channel();
        let (drain, drained) = watch::channel(!options.enable_webhooks);
        if !options.enable_webhooks {
            return Ok(Self { failed, drained });
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
                let manager = CertificateManager {
                    client: client.clone(),
                    names: service_names(names::WEBHOOK_SERVICE, Some(namespace)),
                    namespace: namespace.to_owned(),
                    lifetime: SignedDuration::from_secs(i64::from(options.webhook_cert_lifetime)),
                    configurations: [names::MUTATING, names::VALIDATING]
                        .map(|name| format!("{PREFIX}{name}")),
                    certificate: certificate.clone(),
                    metrics: Arc::clone(metrics),
                };
                tokio::spawn(manager.run(certified));
            }
            None => bail!(
                "no certificate for the webhooks: provide tls.crt and tls.key in {}, or set ENABLE_WEBHOOKS=false",
                options.webhook_cert_path.display()
            ),
        }
        let shutdown = async move {
            let _ = stop.wait_for(|stop| *stop).await;
            tokio::time::sleep(WEBHOOK_DRAIN_DELAY).await;
        };
        let server = servers::webhooks(listener, certificate, options.memcached_image.clone(), shutdown);
        tokio::spawn(async move {
            if let Err(error) = server.await {
                // The manager may have stopped already.
                let _ = fail.send(error);
            }
            drain.send_replace(true);
        });
        Ok(Self { failed, drained })
    }

    /// Returns the error that ended the server, if it ever fails.
    async fn failed(&mut self) -> anyhow::Error {
        match (&mut self.failed).await {
            Ok(error) => error,
            Err(_) => pending().await,
        }
    }

    /// Waits until all requests have been answered, for at most `grace`.
    async fn drained(&mut self, grace: Duration) {
        if tokio::time::timeout(grace, self.drained.wait_for(|drained| *drained)).await.is_err() {
            tracing::warn!("the graceful shutdown timed out with admission requests still running");
        }
    }
}

/// Returns the names under which a Service of the manager is reached in the cluster.
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

/// Returns the name of this manager in the Lease and in events: its pod's, or one that is unique on the network.
fn identity(options: &Options) -> String {
    if !options.pod_name.is_empty() {
        return options.pod_name.clone();
    }
    let hostname = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    format!("{}-{}", hostname.trim(), std::process::id())
}

fn settings(options: &Options, identity: &str, openshift: bool) -> Settings {
    let namespaces = options.watch_namespace.split(',').map(str::trim).filter(|name| !name.is_empty());
    let mut namespaces = namespaces.map(ToOwned::to_owned).collect::<Vec<_>>();
    namespaces.sort();
    namespaces.dedup();
    Settings {
        operand_image: options.memcached_image.clone(),
        owned: options.owned,
        // OpenShift assigns each namespace a range of user IDs and rejects all others.
        run_as_user: (!openshift).then_some(OPERAND_USER),
        sync_period: Duration::from_secs(options.sync_period.into()),
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
            tracing::warn!(%error, "failed to install the SIGTERM handler; only SIGINT stops the manager gracefully");
            let _ = interrupted.await;
        }
    }
}

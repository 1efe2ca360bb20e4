//! The process around the controllers: options, logs, leader election, servers, signals and graceful shutdown.

pub mod certificates;
mod health;
pub(crate) mod issue;
pub mod lease;
mod platform;
pub mod requests;
pub(crate) mod servers;
pub mod tls;

pub use health::bind;

use crate::context::{Context, Stop};
use crate::controller::Launch;
use crate::events::Recorder;
use crate::identity::{Identity, names};
use crate::metrics::Metrics;
use crate::operator::{Operator, Task};
use anyhow::{Context as _, anyhow, bail};
use certificates::{CertificateManager, Target};
use clap::Args;
use futures::FutureExt;
use futures::future::{Either, join_all, pending};
use jiff::{SignedDuration, Timestamp};
use kube::client::ClientBuilder;
use kube::{Client, Config};
use lease::{LeaderElection, LeaseElection};
use requests::{CountRequests, LimitRequests};
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};
use tls::Certificate;
use tokio::sync::{oneshot, watch};
use tracing_subscriber::EnvFilter;

/// Format of log lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
#[non_exhaustive]
pub enum LogFormat {
    /// One JSON object per line.
    Json,
    /// Human-readable text.
    Text,
}

/// Options of `run`; usable by themselves as `#[command(flatten)]`.
#[derive(Args, Clone, Debug)]
pub struct Options {
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
    /// Directory with tls.crt and tls.key for the metrics; without it the manager issues a certificate that clients cannot verify
    #[arg(long, value_name = "DIR")]
    pub metrics_cert_path: Option<PathBuf>,
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
    /// Objects of each kind reconciled at the same time
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
    /// Format of log lines
    #[arg(long, value_enum, default_value = "json")]
    pub log_format: LogFormat,
    /// Log filter, such as `info` or `operator_runtime=debug,kube=warn`
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
pub fn run(operator: Operator, options: Options) -> anyhow::Result<()> {
    start_logging(&options)?;
    // One thread: the manager mostly waits for the API server, and a second thread costs memory and wakes both up.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("failed to start the runtime")?;
    let result = runtime.block_on(serve(operator, options));
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

async fn serve(operator: Operator, options: Options) -> anyhow::Result<()> {
    let identity = operator.identity;
    let metrics = Arc::new(Metrics::new(&identity));
    let client = client(&options, &metrics).await?;
    let namespace = namespace(&options);
    let instance = instance(&options);

    let with_webhooks = options.enable_webhooks && !operator.webhooks.is_empty();
    let (certified, is_certified) = watch::channel(!with_webhooks);
    let (lead, leads) = watch::channel(false);
    let (stop, stopped) = watch::channel(false);
    let (synced, is_synced): (Vec<_>, Vec<_>) =
        operator.controllers.iter().map(|_| watch::channel(false)).unzip();

    let health = health::serve(&options.health_probe_bind_address, is_synced, is_certified).await?;
    let metrics_server = metrics_server(&options, &identity, &client, &metrics, namespace.as_deref()).await?;
    let parts = (&client, &metrics, namespace.as_deref());
    let mut webhooks =
        Webhooks::start(&operator, &options, with_webhooks, parts, certified, stopped.clone()).await?;
    let mut election: Option<Box<dyn LeaderElection>> = match (options.leader_elect, &namespace) {
        (false, _) => None,
        (true, Some(namespace)) => {
            let election = LeaseElection::new(client.clone(), namespace, &identity.lease(), instance.clone());
            Some(Box::new(election))
        }
        (true, None) => {
            bail!("--leader-elect requires a namespace: set POD_NAMESPACE, or run in a pod")
        }
    };
    tracing::info!(version = identity.version, identity = instance, "starting");

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
        let controllers = async {
            let Some(platform) = platform::detect(&client, stopped.clone()).await else {
                return Ok(());
            };
            let context = Context {
                client: client.clone(),
                identity,
                platform,
                namespaces: namespaces(&options.watch_namespace),
                metrics: Arc::clone(&metrics),
                recorder: Arc::new(Recorder::new(client.clone(), &identity, instance.clone())),
            };
            run_all(&operator, &options, &context, synced, &leads, &stopped).await
        };
        // Whichever ends first drops the others; a controller, once dropped, makes no further request.
        tokio::select! {
            result = controllers => result,
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

/// Runs all controllers and tasks until they are stopped.
async fn run_all(
    operator: &Operator,
    options: &Options,
    context: &Context,
    synced: Vec<watch::Sender<bool>>,
    leads: &watch::Receiver<bool>,
    stopped: &watch::Receiver<bool>,
) -> anyhow::Result<()> {
    let controllers = operator.controllers.iter().zip(synced).map(|(controller, synced)| {
        let launch = Launch {
            context: context.clone(),
            concurrency: options.max_concurrent_reconciles,
            sync_period: Duration::from_secs(options.sync_period.into()),
            synced,
            leads: leads.clone(),
            stop: stopped.clone(),
            probe: None,
        };
        let name = controller.info().name.clone();
        controller.run(launch).map(move |result| result.with_context(|| format!("controller {name}")))
    });
    let tasks = operator.tasks.iter().map(|task| run_task(task, context, leads.clone(), stopped.clone()));
    let stop = Stop(stopped.clone());
    let (ended, _, ()) =
        futures::future::join3(futures::future::try_join_all(controllers), join_all(tasks), stop.wait())
            .await;
    context.recorder.flush().await;
    ended.map(drop)
}

/// Runs a task while the manager leads; returns when it is stopped.
pub(crate) async fn run_task(
    task: &Task,
    context: &Context,
    mut leads: watch::Receiver<bool>,
    stopped: watch::Receiver<bool>,
) {
    let stop = Stop(stopped);
    let leading = tokio::select! {
        biased;
        () = stop.clone().wait() => false,
        leads = leads.wait_for(|leads| *leads) => leads.is_ok(),
    };
    if leading {
        (task.start)(context.clone(), stop.clone()).await;
        tracing::info!(task = task.name, "a task ended");
    }
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
    identity: &Identity,
    client: &Client,
    metrics: &Arc<Metrics>,
    namespace: Option<&str>,
) -> anyhow::Result<impl Future<Output = anyhow::Result<()>> + use<>> {
    if matches!(options.metrics_bind_address.as_str(), "0" | "") {
        return Ok(Either::Left(pending()));
    }
    let listener = bind(&options.metrics_bind_address).await?;
    let certificate =
        if options.metrics_secure { Some(metrics_certificate(options, identity, namespace)?) } else { None };
    Ok(Either::Right(servers::metrics(listener, certificate, client.clone(), Arc::clone(metrics))))
}

/// Returns the certificate of the metrics: that of the given files, which is read again when they change, or one of the manager's own.
fn metrics_certificate(
    options: &Options,
    identity: &Identity,
    namespace: Option<&str>,
) -> anyhow::Result<Certificate> {
    let certificate = Certificate::default();
    if let Some(directory) = &options.metrics_cert_path {
        let read = |name: &str| std::fs::read(directory.join(name));
        read("tls.crt")
            .and_then(|chain| Ok((chain, read("tls.key")?)))
            .map_err(anyhow::Error::new)
            .and_then(|(chain, key)| certificate.set(&chain, &key))
            .with_context(|| format!("failed to load tls.crt and tls.key of {}", directory.display()))?;
        let (ready, _) = watch::channel(true);
        tokio::spawn(certificates::follow_files(directory.clone(), certificate.clone(), ready));
        return Ok(certificate);
    }
    // Clients do not verify it (as with the Go scaffold's ServiceMonitor), so it need not outlive the process.
    let names = service_names(identity, names::METRICS_SERVICE, namespace);
    let now = Timestamp::now();
    let authority = issue::authority(identity, now)?;
    let pair = issue::serving(identity, &authority, &names, now, SignedDuration::from_hours(24 * 3650))?;
    certificate.set(pair.certificate.as_bytes(), pair.key.as_bytes())?;
    Ok(certificate)
}

/// The webhook server, in a task of its own: it outlives the controller during shutdown.
struct Webhooks {
    failed: oneshot::Receiver<anyhow::Error>,
    drained: watch::Receiver<bool>,
}

impl Webhooks {
    async fn start(
        operator: &Operator,
        options: &Options,
        enabled: bool,
        (client, metrics, namespace): (&Client, &Arc<Metrics>, Option<&str>),
        certified: watch::Sender<bool>,
        mut stop: watch::Receiver<bool>,
    ) -> anyhow::Result<Self> {
        let (fail, failed) = oneshot::channel();
        let (drain, drained) = watch::channel(!enabled);
        if !enabled {
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
                    identity: operator.identity,
                    names: service_names(&operator.identity, names::WEBHOOK_SERVICE, Some(namespace)),
                    namespace: namespace.to_owned(),
                    lifetime: SignedDuration::from_secs(i64::from(options.webhook_cert_lifetime)),
                    targets: operator
                        .configurations()
                        .into_iter()
                        .map(|(resource, name)| Target::new(resource, &name))
                        .collect(),
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
        let server = servers::webhooks(listener, certificate, &operator.webhooks, shutdown);
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
fn service_names(identity: &Identity, service: &str, namespace: Option<&str>) -> Vec<String> {
    let namespace = namespace.unwrap_or("default");
    let name = format!("{}.{namespace}", identity.prefixed(service));
    vec![format!("{name}.svc"), format!("{name}.svc.cluster.local"), "localhost".to_owned()]
}

fn namespace(options: &Options) -> Option<String> {
    let file = "/var/run/secrets/kubernetes.io/serviceaccount/namespace";
    let given = Some(options.namespace.clone()).filter(|name| !name.is_empty());
    given.or_else(|| std::fs::read_to_string(file).ok()).map(|name| name.trim().to_owned())
}

/// Returns the name of this manager in the Lease and in events: its pod's, or one that is unique on the network.
fn instance(options: &Options) -> String {
    if !options.pod_name.is_empty() {
        return options.pod_name.clone();
    }
    let hostname = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    format!("{}-{}", hostname.trim(), std::process::id())
}

/// Returns the namespaces of a comma-separated list, such as that of the annotation `olm.targetNamespaces`.
fn namespaces(list: &str) -> Vec<String> {
    let namespaces = list.split(',').map(str::trim).filter(|name| !name.is_empty());
    let mut namespaces = namespaces.map(ToOwned::to_owned).collect::<Vec<_>>();
    namespaces.sort();
    namespaces.dedup();
    namespaces
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn watched_namespaces_are_a_sorted_list_without_blanks() {
        assert_eq!(namespaces(""), Vec::<String>::new());
        assert_eq!(namespaces(" b, a,,b"), ["a", "b"]);
    }

    #[test]
    fn services_have_the_names_under_which_the_api_server_reaches_them() {
        let names = service_names(&crate::testing::sample::IDENTITY, "webhook-service", Some("ns"));
        assert_eq!(names[0], "test-operator-webhook-service.ns.svc");
    }

    #[derive(clap::Parser)]
    struct Cli {
        #[command(flatten)]
        options: Options,
    }

    #[tokio::test]
    async fn metrics_have_the_given_certificate_or_one_of_the_manager() {
        let identity = crate::testing::sample::IDENTITY;
        let parse = |arguments: &[&str]| <Cli as clap::Parser>::parse_from(arguments).options;
        let own = metrics_certificate(&parse(&["a"]), &identity, Some("ns")).unwrap();
        assert!(own.is_set());

        let directory = tempfile::tempdir().unwrap();
        let now = Timestamp::now();
        let authority = issue::authority(&identity, now).unwrap();
        let names = ["metrics.example.com".to_owned()];
        let pair = issue::serving(&identity, &authority, &names, now, SignedDuration::from_hours(1)).unwrap();
        std::fs::write(directory.path().join("tls.crt"), &pair.certificate).unwrap();
        let options = parse(&["a", "--metrics-cert-path", directory.path().to_str().unwrap()]);
        let error = metrics_certificate(&options, &identity, None).unwrap_err();
        assert!(error.to_string().starts_with("failed to load tls.crt and tls.key of "), "{error:#}");
        std::fs::write(directory.path().join("tls.key"), &pair.key).unwrap();
        let given = metrics_certificate(&options, &identity, None).unwrap();
        assert!(given.serves(pair.certificate.as_bytes()));
    }
}

//! The process around the controllers: options, logs, leader election, servers, signals and graceful shutdown.

pub mod certificates;
pub mod client_layers;
mod error;
mod health;
pub mod lease;
pub(crate) mod pki;
mod platform;
pub mod serve;
pub(crate) mod servers;
pub mod tls;

pub use error::Error;
pub use health::bind;

use crate::context::{Context, ShutdownSignal};
use crate::controller::{self, ControllerSettings};
use crate::events::Recorder;
use crate::identity::{Identity, names};
use crate::metrics::Metrics;
use crate::operator::{Operator, Task};
use crate::webhook_url::WebhookUrl;
use certificates::{CertificateManager, CertificateStorage, WebhookTarget};
use clap::Args;
use client_layers::{CountRequests, LimitRequests};
use futures::future::{BoxFuture, pending, try_join_all, try_join3};
use futures::{FutureExt, TryFutureExt};
use jiff::{SignedDuration, Timestamp};
use kube::client::ClientBuilder;
use kube::{Client, Config};
use lease::{LeaderElection, LeaseElection};
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};
use tls::Certificate;
use tokio::sync::watch;
use tokio::task::JoinSet;
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
///
/// The default is what the command line has without an argument and in an empty environment.
#[derive(Args, Clone, Debug)]
#[non_exhaustive]
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
    /// Address of /metrics and of the operator's own routes; `0` disables them
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
    /// URL at which the API server calls the webhooks of a manager outside the cluster; install CRDs with the same --webhook-url. The
    /// manager issues a certificate for the host and keeps it in memory
    #[arg(long, value_name = "URL")]
    pub webhook_url: Option<WebhookUrl>,
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
    /// Interval in seconds at which everything is listed and reconciled again, with a jitter of 10%
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

impl Default for Options {
    fn default() -> Self {
        Self {
            watch_namespace: String::new(),
            leader_elect: false,
            health_probe_bind_address: ":8081".to_owned(),
            metrics_bind_address: "0".to_owned(),
            metrics_secure: true,
            metrics_cert_path: None,
            enable_webhooks: true,
            webhook_bind_address: ":9443".to_owned(),
            webhook_url: None,
            webhook_cert_path: PathBuf::from("/tmp/k8s-webhook-server/serving-certs"),
            webhook_cert_lifetime: 90 * 24 * 3600,
            max_concurrent_reconciles: 8,
            sync_period: 10 * 3600,
            request_timeout: 60,
            graceful_shutdown_timeout: 8,
            log_format: LogFormat::Json,
            log_level: "info".to_owned(),
            namespace: String::new(),
            pod_name: String::new(),
        }
    }
}

/// Runs the manager until SIGTERM or SIGINT, with a tokio runtime and a tracing subscriber of its own.
///
/// [`Manager`] runs it in a program that has these already.
///
/// # Errors
/// When an option is invalid, and those of [`Manager::run`].
pub fn run(operator: Operator, options: Options) -> Result<(), Error> {
    start_logging(&options)?;
    // One thread: the manager mostly waits for the API server, and a second thread costs memory and wakes both up.
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Error::Runtime)?;
    let result = runtime.block_on(Manager::new(operator, options).run());
    // Whatever is left, such as a probe's connection, is not worth waiting for.
    runtime.shutdown_background();
    result
}

fn start_logging(options: &Options) -> Result<(), Error> {
    let filter = EnvFilter::try_new(&options.log_level)
        .map_err(|source| Error::LogLevel { value: options.log_level.clone(), source })?;
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

/// A manager, for programs that have their own tokio runtime and tracing subscriber; they may bring their own client of the
/// API server, leader election and signals, too.
///
/// ```no_run
/// use operator_runtime::manager::{Error, Manager, Options};
/// use operator_runtime::{Identity, Operator};
///
/// const IDENTITY: Identity = Identity {
///     name: "greeting-operator",
///     group: "example.com",
///     version: "1.0.0",
///     about: "Greets",
///     image: "example.com/greeting-operator",
/// };
///
/// async fn run(client: kube::Client, stop: tokio::sync::oneshot::Receiver<()>) -> Result<(), Error> {
///     let mut options = Options::default();
///     options.leader_elect = true;
///     options.namespace = "greetings".into();
///     Manager::new(Operator::new(IDENTITY), options)
///         .client(client)
///         .stop_on(async {
///             let _ = stop.await;
///         })
///         .run()
///         .await
/// }
/// ```
pub struct Manager {
    operator: Operator,
    options: Options,
    metrics: Arc<Metrics>,
    client: Option<Client>,
    election: Option<Box<dyn LeaderElection>>,
    stop: BoxFuture<'static, ()>,
}

impl std::fmt::Debug for Manager {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Manager")
            .field("operator", &self.operator)
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

impl Manager {
    /// Returns the manager of an operator. The options `log_format` and `log_level` have no effect.
    #[must_use]
    pub fn new(operator: Operator, options: Options) -> Self {
        let metrics = Arc::new(Metrics::new(&operator.identity));
        Self { operator, options, metrics, client: None, election: None, stop: termination().boxed() }
    }

    /// Uses this client of the API server instead of one from `KUBECONFIG` or the pod's service account. The layers in
    /// [`client_layers`] give it the limits and the metrics of the manager's own one.
    #[must_use]
    pub fn client(self, client: Client) -> Self {
        Self { client: Some(client), ..self }
    }

    /// Uses this leader election instead of the one that the option `leader_elect` enables.
    #[must_use]
    pub fn election(self, election: impl LeaderElection + 'static) -> Self {
        Self { election: Some(Box::new(election)), ..self }
    }

    /// Shuts down when this completes instead of on SIGTERM or SIGINT.
    #[must_use]
    pub fn stop_on(self, stop: impl Future<Output = ()> + Send + 'static) -> Self {
        Self { stop: stop.boxed(), ..self }
    }

    /// Returns the metrics of the manager, to register further ones or for [`client_layers::CountRequests`].
    #[must_use]
    pub fn metrics(&self) -> &Arc<Metrics> {
        &self.metrics
    }

    /// Runs the manager until it is stopped.
    ///
    /// # Errors
    /// When the operator is invalid, no API server is configured, an address is in use, a controller or a task fails, or
    /// leader election is lost.
    pub async fn run(self) -> Result<(), Error> {
        let Self { operator, options, metrics, client, mut election, stop: stop_requested } = self;
        operator.validate()?;
        let identity = operator.identity;
        let client = match client {
            Some(client) => client,
            None => infer_client(&options, &metrics).await?,
        };
        let namespace = namespace(&options);
        let instance = instance(&options);
        metrics.leads(false);

        let is_asked = options.enable_webhooks || options.webhook_url.is_some();
        let with_webhooks = is_asked && !operator.webhooks.is_empty();
        let (certified, is_certified) = watch::channel(!with_webhooks);
        let (lead, leads) = watch::channel(false);
        let (stop, stopped) = watch::channel(false);
        let (synced, is_synced): (Vec<_>, Vec<_>) =
            operator.controllers.iter().map(|_| watch::channel(false)).unzip();

        // What ends together with the manager.
        let mut tasks = JoinSet::new();
        tasks.spawn(health::serve(&options.health_probe_bind_address, is_synced, is_certified).await?);
        let parts = (&client, &metrics, namespace.as_deref());
        start_metrics(&options, &operator, parts, &mut tasks).await?;
        let mut webhooks = if with_webhooks {
            start_webhooks(&operator, &options, parts, certified, stopped.clone(), &mut tasks).await?
        } else {
            watch::channel(true).1
        };
        if election.is_none() && options.leader_elect {
            let namespace = namespace.as_deref().ok_or(Error::NoNamespace)?;
            let lease = LeaseElection::new(client.clone(), namespace, &identity.lease(), instance.clone());
            election = Some(Box::new(lease));
        }
        tracing::info!(version = identity.version, identity = instance, "starting");

        let grace = Duration::from_secs(options.graceful_shutdown_timeout);
        let deadline = Arc::new(OnceLock::new());
        let (stopping, at_latest) = (stop.clone(), Arc::clone(&deadline));
        tasks.spawn(async move {
            stop_requested.await;
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
                () = elected => Err(Error::LeaderElectionLost),
            }
        };
        if let Some(election) = election.filter(|_| !matches!(ended, Err(Error::LeaderElectionLost))).as_mut()
        {
            election.release().await;
        }
        // The webhooks serve whoever leads, so the requests in flight are completed in any case.
        stop.send_replace(true);
        let left =
            deadline.get().map_or(grace, |deadline| deadline.saturating_duration_since(Instant::now()));
        if tokio::time::timeout(left, webhooks.wait_for(|drained| *drained)).await.is_err() {
            tracing::warn!("the graceful shutdown timed out with admission requests still running");
        }
        tracing::info!("stopped");
        ended
    }
}

/// Runs all controllers and tasks until they are stopped, or one of them fails.
async fn run_all(
    operator: &Operator,
    options: &Options,
    context: &Context,
    synced: Vec<watch::Sender<bool>>,
    leads: &watch::Receiver<bool>,
    stopped: &watch::Receiver<bool>,
) -> Result<(), Error> {
    let controllers = operator.controllers.iter().zip(synced).map(|(controller, synced)| {
        let name = operator.name_of(&controller.info().resource);
        let launch = ControllerSettings {
            context: context.clone(),
            name: name.clone(),
            concurrency: options.max_concurrent_reconciles,
            sync_period: Duration::from_secs(options.sync_period.into()),
            synced,
            leads: leads.clone(),
            stop: stopped.clone(),
            probe: None,
        };
        controller.run(launch).map_err(move |source| Error::Controller { name, source: source.into() })
    });
    let tasks = operator.tasks.iter().map(|task| {
        run_task(task, context, leads.clone(), stopped.clone())
            .map_err(|source| Error::Task { name: task.name.clone(), source: source.into() })
    });
    let stop = ShutdownSignal(stopped.clone());
    let ended = try_join3(try_join_all(controllers), try_join_all(tasks), stop.wait().map(Ok)).await;
    // After a failure nothing else limits the time that this takes, and the Lease is held until it ends.
    let grace = Duration::from_secs(options.graceful_shutdown_timeout);
    if tokio::time::timeout(grace, context.recorder.flush()).await.is_err() {
        tracing::warn!("the last events were not sent in time");
    }
    ended.map(drop)
}

/// Runs a task while the manager leads; returns when it ends or the manager is stopped.
pub(crate) async fn run_task(
    task: &Task,
    context: &Context,
    mut leads: watch::Receiver<bool>,
    stopped: watch::Receiver<bool>,
) -> Result<(), controller::Error> {
    let stop = ShutdownSignal(stopped.clone());
    let leading = tokio::select! {
        biased;
        () = stop.clone().wait() => false,
        leads = leads.wait_for(|leads| *leads) => leads.is_ok(),
    };
    if leading {
        (task.start)(context.clone(), stop).await?;
        if *stopped.borrow() {
            tracing::info!(task = task.name, "the task ended");
        } else {
            tracing::warn!(task = task.name, "the task ended although the manager is running");
        }
    }
    Ok(())
}

/// Returns the client that the whole manager shares.
async fn infer_client(options: &Options, metrics: &Arc<Metrics>) -> Result<Client, Error> {
    let mut config = Config::infer().await.map_err(Error::NoApiServer)?;
    config.connect_timeout = Some(Duration::from_secs(10));
    config.write_timeout = Some(Duration::from_secs(30));
    let builder = ClientBuilder::try_from(config).map_err(|error| Error::Client(Box::new(error)))?;
    let timeout = Duration::from_secs(options.request_timeout.into());
    Ok(builder
        .with_layer(&LimitRequests::new(timeout))
        .with_layer(&CountRequests::new(Arc::clone(metrics)))
        .build())
}

/// Starts the server of the metrics and of the operator's own routes, unless it is disabled.
async fn start_metrics(
    options: &Options,
    operator: &Operator,
    (client, metrics, namespace): (&Client, &Arc<Metrics>, Option<&str>),
    tasks: &mut JoinSet<()>,
) -> Result<(), Error> {
    if matches!(options.metrics_bind_address.as_str(), "0" | "") {
        if !operator.routes.is_empty() {
            tracing::warn!(
                "the operator's own routes are not served, because the server of the metrics is disabled"
            );
        }
        return Ok(());
    }
    let listener = bind(&options.metrics_bind_address).await?;
    let certificate = if options.metrics_secure {
        Some(metrics_certificate(options, &operator.identity, namespace, tasks)?)
    } else {
        None
    };
    let metrics = Arc::clone(metrics);
    let server = servers::metrics(listener, certificate.as_ref(), client.clone(), metrics, &operator.routes)?;
    tasks.spawn(server);
    Ok(())
}

/// Returns the certificate of the metrics: that of the given files, which is read again when they change, or one of the manager's own.
fn metrics_certificate(
    options: &Options,
    identity: &Identity,
    namespace: Option<&str>,
    tasks: &mut JoinSet<()>,
) -> Result<Certificate, Error> {
    let certificate = Certificate::default();
    if let Some(directory) = &options.metrics_cert_path {
        certificate
            .load(directory)
            .map_err(|source| Error::Certificate { directory: directory.clone(), source })?;
        let (ready, _) = watch::channel(true);
        tasks.spawn(certificates::follow_files(directory.clone(), certificate.clone(), ready));
        return Ok(certificate);
    }
    // Clients do not verify it (as with the Go scaffold's ServiceMonitor), so it need not outlive the process.
    let names = service_names(identity, names::METRICS_SERVICE, namespace);
    let now = Timestamp::now();
    let pair = pki::new_authority(identity, now)
        .and_then(|authority| {
            pki::new_serving_certificate(
                identity,
                &authority,
                &names,
                now,
                SignedDuration::from_hours(24 * 3650),
            )
        })
        .map_err(|error| Error::Issue(error.into()))?;
    certificate.set(pair.certificate.as_bytes(), pair.key.as_bytes())?;
    Ok(certificate)
}

/// Starts the webhook server, in a task of its own: it outlives the controllers during shutdown. Returns what turns true
/// once all requests have been answered.
async fn start_webhooks(
    operator: &Operator,
    options: &Options,
    (client, metrics, namespace): (&Client, &Arc<Metrics>, Option<&str>),
    certified: watch::Sender<bool>,
    mut stop: watch::Receiver<bool>,
    tasks: &mut JoinSet<()>,
) -> Result<watch::Receiver<bool>, Error> {
    let listener = bind(&options.webhook_bind_address).await?;
    let certificate = Certificate::default();
    let directory = &options.webhook_cert_path;
    let issued = match (&options.webhook_url, namespace) {
        (Some(url), _) => {
            Some((vec![url.host().to_owned()], CertificateStorage::Memory { url: url.clone() }))
        }
        (None, _) if directory.join("tls.crt").exists() => None,
        (None, Some(namespace)) => Some((
            service_names(&operator.identity, names::WEBHOOK_SERVICE, Some(namespace)),
            CertificateStorage::Secret { namespace: namespace.to_owned() },
        )),
        (None, None) => return Err(Error::NoCertificate { directory: directory.clone() }),
    };
    if let Some((names, storage)) = issued {
        let targets = operator.configurations().into_iter();
        let manager = CertificateManager {
            client: client.clone(),
            identity: operator.identity,
            names,
            storage,
            lifetime: SignedDuration::from_secs(i64::from(options.webhook_cert_lifetime)),
            targets: targets.map(|(resource, name)| WebhookTarget::new(resource, &name)).collect(),
            certificate: certificate.clone(),
            metrics: Arc::clone(metrics),
        };
        tasks.spawn(manager.run(certified));
    } else {
        tasks.spawn(certificates::follow_files(directory.clone(), certificate.clone(), certified));
    }
    let draining = stop.clone();
    let shutdown = async move {
        let _ = stop.wait_for(|stop| *stop).await;
        tokio::time::sleep(WEBHOOK_DRAIN_DELAY).await;
    };
    let server = servers::webhooks(listener, &certificate, &operator.webhooks, client, draining, shutdown)?;
    let (drain, drained) = watch::channel(false);
    tasks.spawn(async move {
        server.await;
        drain.send_replace(true);
    });
    Ok(drained)
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
    use crate::admission::{Decision, Webhook};
    use crate::manifests;
    use crate::operator::InvalidOperator;
    use crate::testing::sample::{self, IDENTITY};
    use crate::testing::{ControlPlane, MockApi};
    use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
    use kube::ResourceExt;
    use kube::api::{Api, Patch, PatchParams};
    use serde_json::Value;

    #[test]
    fn watched_namespaces_are_a_sorted_list_without_blanks() {
        assert_eq!(namespaces(""), Vec::<String>::new());
        assert_eq!(namespaces(" b, a,,b"), ["a", "b"]);
    }

    #[test]
    fn services_have_the_names_under_which_the_api_server_reaches_them() {
        let names = service_names(&IDENTITY, "webhook-service", Some("ns"));
        assert_eq!(names[0], "test-operator-webhook-service.ns.svc");
    }

    #[tokio::test]
    async fn manager_outside_of_the_cluster_converts_objects_of_a_control_plane() {
        let Some(plane) = ControlPlane::start().await.unwrap() else { return };
        let operator = sample::operator();
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let url: WebhookUrl = format!("https://127.0.0.1:{port}").parse().unwrap();
        // As `make install`, `make run` and `make deploy` do.
        let crds: Api<CustomResourceDefinition> = Api::all(plane.client().clone());
        let apply = async |url: Option<&WebhookUrl>| {
            for crd in manifests::crds(manifests::Form::Complete, &operator, url).unwrap() {
                let (name, params) = (crd.name_any(), PatchParams::apply("kubectl"));
                crds.patch(&name, &params, &Patch::Apply(crd)).await.unwrap();
            }
        };
        let client_of_crd = async || {
            let crd = crds.get("clusters.example.com").await.unwrap();
            crd.spec.conversion.unwrap().webhook.unwrap().client_config.unwrap()
        };
        apply(Some(&url)).await;
        let options = Options {
            health_probe_bind_address: "0".to_owned(),
            webhook_bind_address: format!("127.0.0.1:{port}"),
            webhook_url: Some(url.clone()),
            ..Options::default()
        };
        let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
        let manager = Manager::new(operator.clone(), options).client(plane.client().clone());
        let running = tokio::spawn(manager.stop_on(stopped.map(drop)).run());
        plane.until("the CRD trusts it", async |_| client_of_crd().await.ca_bundle.is_some()).await;
        let old: Api<sample::old::Cluster> = Api::namespaced(plane.client().clone(), "default");
        let object = sample::old::Cluster::new("a", sample::old::ClusterSpec { replicas: 3 });
        plane
            .until("the old version can be created", async |_| {
                old.patch("a", &PatchParams::apply("kubectl"), &Patch::Apply(&object)).await.is_ok()
            })
            .await;
        let new: Api<sample::Cluster> = Api::namespaced(plane.client().clone(), "default");
        plane
            .until("the controller has written a status", async |_| {
                new.get("a").await.is_ok_and(|found| found.spec.size == 3 && found.status.is_some())
            })
            .await;
        assert_eq!(old.get("a").await.unwrap().spec.replicas, 3);
        stop.send(()).unwrap();
        running.await.unwrap().unwrap();
        apply(None).await;
        let client = client_of_crd().await;
        assert!(client.url.is_none() && client.service.is_some(), "{client:?}");
        apply(Some(&url)).await;
        assert!(client_of_crd().await.service.is_none(), "and back");
    }

    #[derive(clap::Parser)]
    struct Cli {
        #[command(flatten)]
        options: Options,
    }

    #[test]
    fn default_options_are_those_of_the_command_line() {
        let command = <Cli as clap::CommandFactory>::command();
        let command = command.mut_args(|argument| argument.env(clap::builder::Resettable::Reset));
        let matches = command.get_matches_from(["a"]);
        let parsed = <Options as clap::FromArgMatches>::from_arg_matches(&matches).unwrap();
        assert_eq!(format!("{parsed:?}"), format!("{:?}", Options::default()));
    }

    #[tokio::test]
    async fn metrics_have_the_given_certificate_or_one_of_the_manager() {
        let identity = IDENTITY;
        let mut tasks = JoinSet::new();
        let mut options = Options::default();
        let own = metrics_certificate(&options, &identity, Some("ns"), &mut tasks).unwrap();
        assert!(own.is_set());

        let directory = tempfile::tempdir().unwrap();
        let now = Timestamp::now();
        let authority = pki::new_authority(&identity, now).unwrap();
        let names = ["metrics.example.com".to_owned()];
        let pair =
            pki::new_serving_certificate(&identity, &authority, &names, now, SignedDuration::from_hours(1))
                .unwrap();
        std::fs::write(directory.path().join("tls.crt"), &pair.certificate).unwrap();
        options.metrics_cert_path = Some(directory.path().to_owned());
        let error = metrics_certificate(&options, &identity, None, &mut tasks).unwrap_err();
        assert!(error.to_string().starts_with("failed to load tls.crt and tls.key of "), "{error}");
        std::fs::write(directory.path().join("tls.key"), &pair.key).unwrap();
        let given = metrics_certificate(&options, &identity, None, &mut tasks).unwrap();
        assert!(given.serves(pair.certificate.as_bytes()));
    }

    /// Options of a manager that leads by a Lease and serves nothing.
    fn options() -> Options {
        Options {
            leader_elect: true,
            namespace: "default".to_owned(),
            pod_name: "first".to_owned(),
            health_probe_bind_address: "0".to_owned(),
            enable_webhooks: false,
            ..Options::default()
        }
    }

    fn holder(api: &MockApi) -> Value {
        let lease = api.get("leases", "test-operator.example.com").unwrap_or_default();
        lease["spec"]["holderIdentity"].clone()
    }

    /// Runs a manager, which nobody stops, in a runtime of several threads or of one.
    fn start(operator: Operator, client: Client) -> tokio::task::JoinHandle<Result<(), Error>> {
        let manager = Manager::new(operator, options()).client(client).stop_on(pending());
        tokio::spawn(manager.run())
    }

    #[tokio::test(start_paused = true)]
    async fn controller_that_cannot_start_ends_the_manager() {
        let (_api, client) = MockApi::start();
        let broken = Operator::new(IDENTITY).controller(sample::Broken::new);
        let manager = tokio::time::timeout(Duration::from_mins(1), start(broken, client));
        let error = manager.await.expect("it ends").unwrap().unwrap_err();
        assert!(matches!(&error, Error::Controller { name, .. } if name == "cluster"), "{error}");
    }

    #[tokio::test(start_paused = true)]
    async fn task_that_fails_ends_the_manager_and_releases_the_lease() {
        let (api, client) = MockApi::start();
        let operator = sample::operator().task("counter", [], |_, _| async {
            tokio::time::sleep(Duration::from_secs(30)).await;
            Err(controller::Error::other("there is nothing to count"))
        });
        let manager = start(operator, client);
        tokio::time::sleep(Duration::from_secs(10)).await;
        assert_eq!(holder(&api), "first");
        let ended = tokio::time::timeout(Duration::from_mins(1), manager).await.expect("it ends");
        let error = ended.unwrap().unwrap_err();
        assert!(matches!(&error, Error::Task { name, .. } if name == "counter"), "{error}");
        assert_eq!(holder(&api), "");
    }

    #[tokio::test(start_paused = true)]
    async fn task_that_is_done_early_does_not_end_the_manager() {
        let (api, client) = MockApi::start();
        let operator = sample::operator().task("once", [], |_, _| async { Ok(()) });
        let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
        let manager = Manager::new(operator, options()).client(client).stop_on(stopped.map(drop));
        let manager = tokio::spawn(manager.run());
        tokio::time::sleep(Duration::from_mins(1)).await;
        assert_eq!(holder(&api), "first");
        stop.send(()).unwrap();
        manager.await.unwrap().unwrap();
        assert_eq!(holder(&api), "");
    }

    /// An election that is won after a second, and lost after ten.
    struct Short;

    impl LeaderElection for Short {
        fn acquire(&mut self) -> BoxFuture<'_, ()> {
            tokio::time::sleep(Duration::from_secs(1)).boxed()
        }
        fn renew(&mut self) -> BoxFuture<'_, ()> {
            tokio::time::sleep(Duration::from_secs(9)).boxed()
        }
        fn release(&mut self) -> BoxFuture<'_, ()> {
            panic!("nothing to release")
        }
    }

    #[tokio::test(start_paused = true)]
    async fn leader_election_can_be_another_one() {
        let (api, client) = MockApi::start();
        let manager = Manager::new(sample::operator(), options()).client(client).election(Short);
        let ended = manager.stop_on(pending()).run().await;
        assert!(matches!(ended, Err(Error::LeaderElectionLost)), "{ended:?}");
        assert!(api.get("leases", "test-operator.example.com").is_none());
    }

    #[tokio::test]
    async fn operator_that_cannot_run_is_rejected_before_anything_starts() {
        let webhook = || Webhook::validating::<sample::Cluster, _>(async |_, _| Ok(Decision::allowed()));
        let (api, client) = MockApi::start();
        let operator = Operator::new(IDENTITY).webhook(webhook()).webhook(webhook());
        let error = Manager::new(operator, options()).client(client).run().await.unwrap_err();
        assert!(matches!(error, Error::Operator(InvalidOperator::Webhooks { .. })), "{error}");
        assert!(api.calls().is_empty());
    }
}

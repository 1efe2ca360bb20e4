//! A real control plane for tests: kube-apiserver and etcd from programs on this machine, on loopback.
//!
//! There are no nodes and no controllers of Kubernetes: nothing starts pods, and nothing is garbage-collected. The webhooks
//! of an operator are served on loopback.

use super::diagnostics::diagnostics;
use crate::context::{Context, Platform};
use crate::controller::{ControllerSettings, Error as ControllerError};
use crate::conversion::CONVERT_PATH;
use crate::events::Recorder;
use crate::identity::Identity;
use crate::lock::lock;
use crate::manager::pki::{self, PemPair};
use crate::manager::run_task;
use crate::manager::servers;
use crate::manager::tls::Certificate;
use crate::manifests;
use crate::metrics::Metrics;
use crate::operator::{InvalidOperator, Operator};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::ByteString;
use k8s_openapi::api::admissionregistration::v1::{
    MutatingWebhookConfiguration, ValidatingWebhookConfiguration, WebhookClientConfig,
};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1 as apiextensions;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::{Api, Patch, PatchParams};
use kube::config::AuthInfo;
use kube::core::{ApiResource, DynamicObject, GroupVersionKind};
use kube::{Client, Config};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tempfile::TempDir;
use tokio::process::{Child, Command};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

/// How long the programs may take to start, and a condition to become true.
const TIMEOUT: Duration = Duration::from_mins(5);
/// How long a webhook may take: the tests share the machine with each other.
const WEBHOOK_TIMEOUT_SECONDS: i32 = 30;
/// Lines of a program's log in an error.
const LOG_LINES: usize = 20;
/// Whom all certificates are issued by.
const AUTHORITY: Identity = Identity { name: "testing", group: "", version: "", about: "", image: "" };
/// The token of the cluster's administrator; the server listens on loopback only.
const TOKEN: &str = "operator-runtime-testing";

/// Why a control plane could not be started or used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LaunchError {
    /// No programs are set, and the tests run in CI.
    #[error(
        "no control plane to test on: set KUBEBUILDER_ASSETS, or TEST_ASSET_KUBE_APISERVER and TEST_ASSET_ETCD \
         (tests are skipped without them only where CI is not set)"
    )]
    NoPrograms,
    /// The operator cannot run as it is.
    #[error(transparent)]
    Operator(#[from] InvalidOperator),
    /// A file could not be written, or a port not found.
    #[error("failed to prepare the control plane: {0}")]
    Prepare(#[from] std::io::Error),
    /// A certificate could not be issued or read.
    #[error("failed to issue the API server's certificate: {0}")]
    Certificate(String),
    /// A program could not be started.
    #[error("failed to start {program}: {source}")]
    Start {
        /// The program.
        program: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// The API server did not become ready.
    #[error("the API server is not ready after {} s; last lines of its log:\n{log}", TIMEOUT.as_secs())]
    NotReady {
        /// The end of the log.
        log: String,
    },
    /// The API server rejected a request.
    #[error(transparent)]
    Api(#[from] kube::Error),
    /// A CRD could not be generated.
    #[error(transparent)]
    Crd(#[from] crate::crd::Error),
    /// A sample is not an object of a generated CRD.
    #[error("the sample {0} is not an object of the operator's CRDs")]
    Sample(String),
}

/// A running API server with its etcd; both end when it is dropped.
pub struct ControlPlane {
    client: Client,
    authority: PemPair,
    /// The servers of webhooks.
    servers: Mutex<JoinSet<()>>,
    /// The kinds of the operators that were installed.
    kinds: Mutex<Vec<ApiResource>>,
    _programs: [Child; 2],
    _directory: TempDir,
}

impl std::fmt::Debug for ControlPlane {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ControlPlane").finish_non_exhaustive()
    }
}

impl ControlPlane {
    /// Starts a control plane from the programs that the environment names: `TEST_ASSET_KUBE_APISERVER` and
    /// `TEST_ASSET_ETCD`, or `kube-apiserver` and `etcd` in the directory `KUBEBUILDER_ASSETS`, or from the newest version that
    /// `setup-envtest use` has installed. An empty variable counts as unset. Returns `None` if there are none, so that tests can be skipped; in CI, where `CI` is
    /// set, nobody would notice that, and it is an error.
    ///
    /// # Errors
    /// When a program does not start or become ready, or none is set in CI.
    pub async fn start() -> Result<Option<Self>, LaunchError> {
        let installed = || newest_of_setup_envtest(&installed_by_setup_envtest()?);
        match programs(|name| std::env::var_os(name), installed) {
            Some([apiserver, etcd]) => Self::launch(&apiserver, &etcd).await.map(Some),
            None => skipped(std::env::var_os("CI").as_deref()).map(|()| None),
        }
    }

    /// Starts a control plane from these programs.
    ///
    /// # Errors
    /// When a program does not start or become ready.
    pub async fn launch(apiserver: &Path, etcd: &Path) -> Result<Self, LaunchError> {
        let directory = tempfile::tempdir()?;
        let path = |name: &str| directory.path().join(name);
        let (authority, serving) = certificates()?;
        fs::write(path("tls.crt"), &serving.certificate)?;
        fs::write(path("tls.key"), &serving.key)?;
        // Any key will do for the tokens of service accounts.
        fs::write(path("accounts.key"), &authority.key)?;
        fs::write(path("accounts.crt"), &authority.certificate)?;
        fs::write(path("tokens.csv"), format!("{TOKEN},administrator,administrator,system:masters\n"))?;
        let [client_port, peer_port, port] = free_ports()?;
        let (client_url, peer_url) =
            (format!("http://127.0.0.1:{client_port}"), format!("http://127.0.0.1:{peer_port}"));
        let flag = |name: &str, file: &str| format!("--{name}={}", path(file).display());
        let etcd = spawn(
            etcd,
            &path("etcd.log"),
            &[
                flag("data-dir", "etcd"),
                format!("--listen-client-urls={client_url}"),
                format!("--advertise-client-urls={client_url}"),
                format!("--listen-peer-urls={peer_url}"),
                format!("--initial-advertise-peer-urls={peer_url}"),
                format!("--initial-cluster=default={peer_url}"),
                "--unsafe-no-fsync".to_owned(),
            ],
        )?;
        let log = path("apiserver.log");
        let server = spawn(
            apiserver,
            &log,
            &[
                format!("--etcd-servers={client_url}"),
                "--bind-address=127.0.0.1".to_owned(),
                "--advertise-address=127.0.0.1".to_owned(),
                format!("--secure-port={port}"),
                flag("tls-cert-file", "tls.crt"),
                flag("tls-private-key-file", "tls.key"),
                flag("token-auth-file", "tokens.csv"),
                "--authorization-mode=RBAC".to_owned(),
                "--service-account-issuer=https://kubernetes.default.svc".to_owned(),
                flag("service-account-key-file", "accounts.crt"),
                flag("service-account-signing-key-file", "accounts.key"),
                "--service-cluster-ip-range=10.96.0.0/24".to_owned(),
                // No controller creates service accounts.
                "--disable-admission-plugins=ServiceAccount".to_owned(),
            ],
        )?;
        let client = client(port, &authority)?;
        let servers = Mutex::default();
        let kinds = Mutex::default();
        let plane =
            Self { client, authority, servers, kinds, _programs: [server, etcd], _directory: directory };
        let deadline = Instant::now() + TIMEOUT;
        while !plane.is_ready().await {
            if Instant::now() >= deadline {
                let log = fs::read_to_string(&log).unwrap_or_default();
                let lines = log.lines().collect::<Vec<_>>();
                let last = lines[lines.len().saturating_sub(LOG_LINES)..].join("\n");
                return Err(LaunchError::NotReady { log: last });
            }
            sleep(Duration::from_millis(200)).await;
        }
        Ok(plane)
    }

    async fn is_ready(&self) -> bool {
        let request = axum::http::Request::get("/readyz").body(Vec::new());
        match request {
            Ok(request) => self.client.request_text(request).await.is_ok(),
            Err(_) => false,
        }
    }

    /// Returns a client with all permissions.
    #[must_use]
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// Installs the operator's CRDs and webhooks, and waits until the CRDs are served.
    ///
    /// # Errors
    /// When the operator is invalid, or a CRD or a webhook configuration is rejected.
    pub async fn install(&self, operator: &Operator) -> Result<(), LaunchError> {
        operator.validate()?;
        let webhooks = self.serve_webhooks(operator).await?;
        let params = PatchParams::apply("operator-runtime-testing");
        let crds: Api<CustomResourceDefinition> = Api::all(self.client.clone());
        for crd in &operator.crds {
            let webhook = apiextensions::WebhookClientConfig {
                url: Some(format!("{webhooks}{CONVERT_PATH}")),
                ca_bundle: Some(self.authority_bundle()),
                ..apiextensions::WebhookClientConfig::default()
            };
            let (name, object) = (crd.name(), crd.with_conversion(webhook)?);
            let stored = object.spec.versions.iter().find(|version| version.storage);
            let version = stored.map(|version| version.name.clone()).unwrap_or_default();
            let kind = GroupVersionKind::gvk(crd.group(), &version, crd.kind());
            lock(&self.kinds).push(ApiResource::from_gvk_with_plural(&kind, crd.plural()));
            crds.patch(&name, &params, &Patch::Apply(object)).await?;
            self.until(&format!("{name} is served"), async |_| {
                let found = crds.get(&name).await.ok();
                let conditions = found.and_then(|crd| crd.status).and_then(|status| status.conditions);
                conditions
                    .is_some_and(|list| list.iter().any(|c| c.type_ == "Established" && c.status == "True"))
            })
            .await;
        }
        let reach = |client: &mut WebhookClientConfig,
                     failure_policy: &mut Option<String>,
                     timeout: &mut Option<i32>| {
            let path = client.service.take().and_then(|service| service.path).unwrap_or_default();
            client.url = Some(format!("{webhooks}{path}"));
            client.ca_bundle = Some(self.authority_bundle());
            // A webhook that does not respond fails the test.
            *failure_policy = Some("Fail".to_owned());
            *timeout = Some(WEBHOOK_TIMEOUT_SECONDS);
        };
        let (mut mutating, mut validating) = manifests::webhooks(operator);
        for webhook in mutating.webhooks.iter_mut().flatten() {
            reach(&mut webhook.client_config, &mut webhook.failure_policy, &mut webhook.timeout_seconds);
        }
        for webhook in validating.webhooks.iter_mut().flatten() {
            reach(&mut webhook.client_config, &mut webhook.failure_policy, &mut webhook.timeout_seconds);
        }
        let name = |metadata: &ObjectMeta| metadata.name.clone().unwrap_or_default();
        if operator.has_mutating() {
            let api: Api<MutatingWebhookConfiguration> = Api::all(self.client.clone());
            api.patch(&name(&mutating.metadata), &params, &Patch::Apply(mutating)).await?;
        }
        if operator.has_validating() {
            let api: Api<ValidatingWebhookConfiguration> = Api::all(self.client.clone());
            api.patch(&name(&validating.metadata), &params, &Patch::Apply(validating)).await?;
        }
        Ok(())
    }

    /// Serves the webhooks of an operator until this control plane is dropped; returns their URL without a path.
    async fn serve_webhooks(&self, operator: &Operator) -> Result<String, LaunchError> {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
        let url = format!("https://{}", listener.local_addr()?);
        let failed = |error: String| LaunchError::Certificate(error);
        let (names, now) = (["127.0.0.1".to_owned()], Timestamp::now());
        let lifetime = SignedDuration::from_hours(24);
        let pair = pki::new_serving_certificate(&AUTHORITY, &self.authority, &names, now, lifetime)
            .map_err(|error| failed(error.to_string()))?;
        let certificate = Certificate::default();
        let server = certificate
            .set(pair.certificate.as_bytes(), pair.key.as_bytes())
            .and_then(|()| {
                servers::webhooks(
                    listener,
                    &certificate,
                    &operator.webhooks,
                    &self.client,
                    tokio::sync::watch::channel(false).1,
                    std::future::pending(),
                )
            })
            .map_err(|error| failed(error.to_string()))?;
        lock(&self.servers).spawn(server);
        Ok(url)
    }

    fn authority_bundle(&self) -> ByteString {
        ByteString(self.authority.certificate.clone().into_bytes())
    }

    /// Applies the operator's samples to the namespace `default`.
    ///
    /// # Errors
    /// When a sample is rejected.
    pub async fn create_samples(&self, operator: &Operator) -> Result<(), LaunchError> {
        for (file, sample) in &operator.samples {
            let unknown = || LaunchError::Sample(file.clone());
            let object: DynamicObject = serde_json::from_value(sample.clone()).map_err(|_| unknown())?;
            let types = object.types.clone().ok_or_else(unknown)?;
            let crd = operator.crds.iter().find(|crd| crd.kind() == types.kind).ok_or_else(unknown)?;
            let kind = GroupVersionKind::try_from(&types).map_err(|_| unknown())?;
            let resource = ApiResource::from_gvk_with_plural(&kind, crd.plural());
            let api: Api<DynamicObject> = if crd.is_namespaced() {
                Api::namespaced_with(self.client.clone(), "default", &resource)
            } else {
                Api::all_with(self.client.clone(), &resource)
            };
            let name = object.metadata.name.clone().ok_or_else(unknown)?;
            // The API server may need a moment to serve a kind after its CRD is established.
            let deadline = Instant::now() + TIMEOUT;
            let params = PatchParams::apply("operator-runtime-testing");
            loop {
                match api.patch(&name, &params, &Patch::Apply(&object)).await {
                    Err(kube::Error::Api(status)) if status.is_not_found() && Instant::now() < deadline => {
                        sleep(Duration::from_millis(200)).await;
                    }
                    other => break other.map(drop)?,
                }
            }
        }
        Ok(())
    }

    /// Runs the operator's controllers and tasks against the control plane, as the leader.
    #[must_use]
    pub fn run(&self, operator: &Operator) -> RunningManager {
        let metrics = Arc::new(Metrics::new(&operator.identity));
        let context = Context {
            client: self.client.clone(),
            identity: operator.identity,
            platform: Platform::default(),
            namespaces: Vec::new(),
            recorder: Arc::new(Recorder::new(self.client.clone(), &operator.identity, "test".to_owned())),
            metrics: Arc::clone(&metrics),
        };
        let (lead, leads) = watch::channel(true);
        let (stop, stopped) = watch::channel(false);
        let mut tasks = JoinSet::new();
        for controller in &operator.controllers {
            tasks.spawn(controller.run(ControllerSettings {
                context: context.clone(),
                name: operator.name_of(&controller.info().resource),
                concurrency: 4,
                sync_period: Duration::from_hours(10),
                synced: watch::channel(false).0,
                leads: leads.clone(),
                stop: stopped.clone(),
                probe: None,
            }));
        }
        for task in operator.tasks.clone() {
            let (context, leads, stopped) = (context.clone(), leads.clone(), stopped.clone());
            tasks.spawn(async move { run_task(&task, &context, leads, stopped).await });
        }
        RunningManager { metrics, stop, _lead: lead, tasks }
    }

    /// Waits until a condition holds; fails the test after five minutes, and shows the statuses of the objects of installed operators
    /// and the newest events.
    pub async fn until(&self, what: &str, mut condition: impl AsyncFnMut(Client) -> bool) {
        let waited = timeout(TIMEOUT, async {
            while !condition(self.client.clone()).await {
                sleep(Duration::from_millis(100)).await;
            }
        });
        if waited.await.is_err() {
            let kinds = lock(&self.kinds).clone();
            panic!("{what}: not so after {TIMEOUT:?}\n{}", diagnostics(&self.client, &kinds).await);
        }
    }
}

/// Controllers that run against a control plane.
#[derive(Debug)]
pub struct RunningManager {
    /// Their metrics.
    pub metrics: Arc<Metrics>,
    stop: watch::Sender<bool>,
    _lead: watch::Sender<bool>,
    tasks: JoinSet<Result<(), ControllerError>>,
}

impl RunningManager {
    /// Shuts down, and fails the test if that takes longer than a minute or a controller failed.
    pub async fn stop(self) {
        self.stop.send_replace(true);
        let ended = timeout(Duration::from_mins(1), self.tasks.join_all()).await.expect("it stops in time");
        for result in ended {
            result.expect("the controllers and tasks succeed");
        }
    }
}

/// Returns the API server and etcd that an environment names, where an empty variable counts as unset; `installed` returns the
/// directory of what is installed otherwise. `None` if one of them is missing.
fn programs(
    environment: impl Fn(&str) -> Option<OsString>,
    installed: impl FnOnce() -> Option<PathBuf>,
) -> Option<[PathBuf; 2]> {
    let variable = |name: &str| environment(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let assets = variable("KUBEBUILDER_ASSETS").or_else(installed);
    let program = |name: &str, file: &str| variable(name).or_else(|| Some(assets.as_ref()?.join(file)));
    Some([program("TEST_ASSET_KUBE_APISERVER", "kube-apiserver")?, program("TEST_ASSET_ETCD", "etcd")?])
}

/// Returns where setup-envtest installs programs.
///
/// Source: `DefaultStore` of controller-runtime's `tools/setup-envtest/store`.
fn installed_by_setup_envtest() -> Option<PathBuf> {
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let data = variable("XDG_DATA_HOME").or_else(|| Some(variable("HOME")?.join(".local/share")))?;
    Some(data.join("kubebuilder-envtest/k8s"))
}

/// Returns the directory of the newest version, `VERSION-SYSTEM-ARCHITECTURE`, that has both programs.
fn newest_of_setup_envtest(store: &Path) -> Option<PathBuf> {
    let version = |path: &PathBuf| {
        let (version, _) = path.file_name()?.to_str()?.split_once('-')?;
        version.split('.').map(|number| number.parse::<u32>().ok()).collect::<Option<Vec<_>>>()
    };
    let found = fs::read_dir(store).ok()?.filter_map(|entry| Some(entry.ok()?.path()));
    let complete = found.filter(|path| path.join("kube-apiserver").is_file() && path.join("etcd").is_file());
    complete.filter(|path| version(path).is_some()).max_by_key(version)
}

/// Whether tests may be skipped for lack of programs, given the variable `CI`.
fn skipped(ci: Option<&OsStr>) -> Result<(), LaunchError> {
    if ci.is_some_and(|ci| !ci.is_empty() && ci != "false") { Err(LaunchError::NoPrograms) } else { Ok(()) }
}

fn certificates() -> Result<(PemPair, PemPair), LaunchError> {
    let now = Timestamp::now();
    let failed = |error: rcgen::Error| LaunchError::Certificate(error.to_string());
    let authority = pki::new_authority(&AUTHORITY, now).map_err(failed)?;
    let names = ["127.0.0.1".to_owned()];
    let serving =
        pki::new_serving_certificate(&AUTHORITY, &authority, &names, now, SignedDuration::from_hours(24))
            .map_err(failed)?;
    Ok((authority, serving))
}

fn client(port: u16, authority: &PemPair) -> Result<Client, LaunchError> {
    let url = format!("https://127.0.0.1:{port}");
    let url = url.parse().map_err(|_| LaunchError::Certificate(format!("invalid URL {url}")))?;
    let mut config = Config::new(url);
    let authority = CertificateDer::from_pem_slice(authority.certificate.as_bytes());
    config.root_cert =
        Some(vec![authority.map_err(|error| LaunchError::Certificate(error.to_string()))?.to_vec()]);
    config.auth_info = AuthInfo { token: Some(TOKEN.to_owned().into()), ..AuthInfo::default() };
    Ok(Client::try_from(config)?)
}

/// Returns ports that are free now.
fn free_ports<const N: usize>() -> Result<[u16; N], std::io::Error> {
    let mut ports = [0; N];
    let mut listeners = Vec::new();
    for port in &mut ports {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        *port = listener.local_addr()?.port();
        listeners.push(listener);
    }
    Ok(ports)
}

fn spawn(program: &Path, log: &Path, arguments: &[String]) -> Result<Child, LaunchError> {
    let log = fs::File::create(log)?;
    let started = Command::new(program)
        .args(arguments)
        .stdout(log.try_clone()?)
        .stderr(log)
        .stdin(std::process::Stdio::null())
        .kill_on_drop(true)
        .spawn();
    started.map_err(|source| LaunchError::Start { program: program.to_owned(), source })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_those_of_variables_that_are_not_empty() {
        let found = |variables: &[(&str, &str)], installed: Option<&str>| {
            let value =
                |name: &str| variables.iter().find(|(own, _)| *own == name).map(|(_, value)| value.into());
            let paths = programs(value, || installed.map(PathBuf::from))?;
            Some(paths.map(|path| path.display().to_string()))
        };
        let both =
            |directory: &str| Some(["kube-apiserver", "etcd"].map(|name| format!("{directory}/{name}")));
        assert_eq!(found(&[], None), None);
        assert_eq!(found(&[("KUBEBUILDER_ASSETS", ""), ("TEST_ASSET_ETCD", "")], None), None);
        assert_eq!(found(&[("KUBEBUILDER_ASSETS", "")], Some("/installed")), both("/installed"));
        assert_eq!(found(&[("KUBEBUILDER_ASSETS", "/assets")], Some("/installed")), both("/assets"));
        assert_eq!(found(&[("TEST_ASSET_ETCD", "/own/etcd")], None), None);
        let one = found(&[("TEST_ASSET_ETCD", "/own/etcd"), ("KUBEBUILDER_ASSETS", "/assets")], None);
        assert_eq!(one, Some(["/assets/kube-apiserver".to_owned(), "/own/etcd".to_owned()]));
    }

    #[test]
    fn newest_version_of_setup_envtest_is_found() {
        let store = tempfile::tempdir().unwrap();
        assert_eq!(newest_of_setup_envtest(&store.path().join("none")), None);
        for (version, programs) in [("1.9.1", 2), ("1.34.1", 2), ("1.35.0", 1), ("other", 2)] {
            let directory = store.path().join(format!("{version}-linux-amd64"));
            fs::create_dir(&directory).unwrap();
            for program in ["kube-apiserver", "etcd"].iter().take(programs) {
                fs::write(directory.join(program), "").unwrap();
            }
        }
        let newest = store.path().join("1.34.1-linux-amd64");
        assert_eq!(newest_of_setup_envtest(store.path()), Some(newest));
    }

    #[test]
    fn tests_without_a_control_plane_are_skipped_only_outside_of_ci() {
        for (ci, may_skip) in [(None, true), (Some(""), true), (Some("false"), true), (Some("true"), false)] {
            assert_eq!(skipped(ci.map(OsStr::new)).is_ok(), may_skip, "{ci:?}");
        }
    }
}

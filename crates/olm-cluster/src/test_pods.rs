//! Runs scorecard tests that come as images, each in a pod.
//!
//! Labels, environment and the bundle's directory are those of `internal/scorecard` of operator-sdk v1.42. operator-sdk unpacks the
//! bundle with an image of its own; here, it is mounted from `ConfigMap`s.

use std::collections::BTreeSet;
use std::hash::{BuildHasher as _, RandomState};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::client::{Cluster, Error, MANAGER, Select, Write};
use super::diagnose::{self, Diagnosis, Scope};
use super::kinds::{self, Kind};
use super::manifests::{MANAGED_BY, MAX_CONFIG_MAP, TEST_APP};
use super::snapshot::{Snapshot, list, name_of, number, string};
use super::test_storage::{self, Gathered};
use olm_model::{Bundle, version};

/// The label of the pods and `ConfigMap`s of one run; its value is the name of the run.
const RUN_LABEL: &str = "testrun";
/// Maximum size in bytes of what a test prints.
const MAX_LOG: usize = 4 << 20;
/// The time between two looks at a pod.
const INTERVAL: Duration = Duration::from_millis(500);
/// The maximum time that a sidecar takes to end: Kubernetes gives it 30 s, and kills it then.
const GATHER_TIMEOUT: Duration = Duration::from_secs(40);
/// The maximum time to delete the objects of one kind.
const CLEANUP_TIMEOUT: Duration = Duration::from_secs(30);

/// How the pods of a run are created.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The namespace.
    pub namespace: String,
    /// The service account of the pods.
    pub service_account: String,
    /// The image of the sidecar that gathers what tests write to their storage; without it, that is lost.
    pub storage_image: Option<String>,
    /// Whether the pods meet the Pod Security level `restricted`.
    pub restricted: bool,
    /// The maximum time for all tests.
    pub timeout: Duration,
}

/// A test in an image.
#[derive(Debug, Clone, Copy)]
pub struct PodTest<'t> {
    /// The image.
    pub image: &'t str,
    /// The command in the image; the image's own if it is empty.
    pub command: &'t [String],
    /// A directory that the test may write to, if it asks for one.
    pub storage: Option<&'t str>,
}

/// How a test ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// What it printed, at most 4 MiB, or why it could not be run.
    pub printed: Result<String, String>,
    /// What it wrote to its storage, if it ended and that is to be gathered.
    pub gathered: Option<Gathered>,
}

impl Outcome {
    fn not_run(reason: impl Into<String>) -> Self {
        Self { printed: Err(reason.into()), gathered: None }
    }
}

/// Why a bundle cannot be mounted.
#[derive(Debug, thiserror::Error)]
#[error(
    "file {file} of the bundle has {size} bytes, which exceed the limit of {MAX_CONFIG_MAP} bytes of a ConfigMap; deselect the \
     tests in images with --selector"
)]
pub struct TooLarge {
    /// The file's path in the bundle.
    pub file: String,
    /// Its size in bytes.
    pub size: usize,
}

/// Returns a random number, so that runs beside each other differ. The keys of hash maps are the standard library's only source of
/// randomness; nothing here has to be unpredictable.
fn random() -> u32 {
    let hash = RandomState::new().hash_one(());
    u32::try_from(hash >> 32).unwrap_or_default()
}

/// One run of the tests of a bundle.
pub struct TestRun<'c> {
    cluster: &'c Cluster,
    settings: Settings,
    name: String,
    config_maps: Vec<Value>,
    /// The sources of the volume of the bundle: the path of each key of the `ConfigMap`s.
    sources: Vec<Value>,
    /// The files and directories at the top of the bundle.
    top: BTreeSet<String>,
    deadline: Instant,
}

impl<'c> TestRun<'c> {
    /// Prepares a run. Nothing is created yet.
    ///
    /// # Errors
    /// A file of the bundle exceeds a `ConfigMap`.
    pub fn new(cluster: &'c Cluster, settings: Settings, bundle: &Bundle) -> Result<Self, TooLarge> {
        let name = format!("scorecard-{:08x}", random());
        let mut run = Self {
            cluster,
            deadline: Instant::now() + settings.timeout,
            settings,
            name,
            config_maps: Vec::new(),
            sources: Vec::new(),
            top: BTreeSet::new(),
        };
        run.mount(bundle)?;
        Ok(run)
    }

    /// Creates what the pods mount.
    ///
    /// # Errors
    /// The API server rejects it, does not respond, or is too old for what the settings require.
    pub async fn prepare(&self) -> Result<(), Error> {
        if self.settings.storage_image.is_some()
            && let Ok(version) = version::tolerant(&self.cluster.version().await?)
            && let Some(reason) = test_storage::unsupported(&version)
        {
            return Err(Error::Response { action: "prepare the tests".to_owned(), reason });
        }
        for config_map in &self.config_maps {
            self.cluster.apply(kinds::CONFIG_MAP, config_map, Write::Stored).await?;
        }
        Ok(())
    }

    /// Runs one test, the `index`th of the run. A test whose pod the API server rejects cannot be run.
    ///
    /// # Errors
    /// The API server does not respond.
    pub async fn run(&self, index: usize, test: PodTest<'_>) -> Result<Outcome, Error> {
        match self.outcome(index, test).await {
            Err(error @ Error::Rejected { .. }) => Ok(Outcome::not_run(error.to_string())),
            outcome => outcome,
        }
    }

    async fn outcome(&self, index: usize, test: PodTest<'_>) -> Result<Outcome, Error> {
        if Instant::now() >= self.deadline {
            return Ok(Outcome::not_run(self.too_late()));
        }
        let pod = self.pod(index, test);
        let name = name_of(&pod);
        self.cluster.apply(kinds::POD, &pod, Write::Stored).await?;
        Ok(match self.wait(name).await? {
            End::Ended(printed) => {
                let is_gathered = test.storage.is_some() && self.settings.storage_image.is_some();
                let gathered = if is_gathered { Some(self.collect_results(name).await) } else { None };
                Outcome { printed, gathered }
            }
            End::NotEnded(reason) => Outcome::not_run(reason),
        })
    }

    /// Returns what a test that has ended wrote to its storage.
    async fn collect_results(&self, name: &str) -> Gathered {
        let namespace = &self.settings.namespace;
        let end = Instant::now() + GATHER_TIMEOUT;
        loop {
            let is_late = Instant::now() >= end;
            let error = match self.cluster.get(kinds::POD, namespace, name).await {
                Ok(None) => return Gathered::nothing("the pod of the test was deleted"),
                Ok(Some(pod)) if test_storage::has_ended(&pod) => {
                    let limit = test_storage::MAX_PRINTED;
                    match self.cluster.log(namespace, name, test_storage::SIDECAR, limit).await {
                        Ok(printed) => return test_storage::parse_results(&printed),
                        Err(error) => Some(error),
                    }
                }
                Ok(Some(_)) => None,
                Err(error) => Some(error),
            };
            match error {
                Some(error) if is_late || !error.is_temporary() => {
                    return Gathered::nothing(error.to_string());
                }
                None if is_late => {
                    return Gathered::nothing(format!(
                        "the sidecar did not terminate within {} s; does the pod have another container?",
                        GATHER_TIMEOUT.as_secs()
                    ));
                }
                _ => tokio::time::sleep(INTERVAL).await,
            }
        }
    }

    /// Deletes what was created; returns what could not be deleted, with the reasons.
    pub async fn clean_up(&self) -> Vec<String> {
        let namespace = &self.settings.namespace;
        let selector = format!("{RUN_LABEL}={}", self.name);
        let select = Select { labels: &selector, ..Select::default() };
        let mut left = Vec::new();
        for kind in [kinds::POD, kinds::CONFIG_MAP] {
            let deleting = async {
                loop {
                    let mut left = self.cluster.list(kind, Some(namespace), &select).await?;
                    left.retain(|object| string(object, "/metadata/deletionTimestamp").is_empty());
                    if left.is_empty() {
                        return Ok::<_, Error>(());
                    }
                    for object in &left {
                        self.cluster.delete(kind, namespace, name_of(object)).await?;
                    }
                }
            };
            match tokio::time::timeout(CLEANUP_TIMEOUT, deleting).await {
                Ok(Ok(())) => {}
                Ok(Err(error)) => left.push(self.left(kind, &error.to_string())),
                Err(_) => left.push(self.left(kind, "the API server does not respond in time")),
            }
        }
        left
    }

    /// Returns how to delete what is left of a kind.
    fn left(&self, kind: Kind, reason: &str) -> String {
        format!(
            "{reason}; delete what is left: kubectl delete {} -n {} -l {RUN_LABEL}={}",
            kind.plural, self.settings.namespace, self.name
        )
    }

    fn too_late(&self) -> String {
        let seconds = self.settings.timeout.as_secs();
        format!(
            "the test did not finish within {seconds} s of the start of the run; set a longer --wait-time"
        )
    }

    /// Waits until a test has ended, cannot start, or takes too long.
    async fn wait(&self, name: &str) -> Result<End, Error> {
        let namespace = &self.settings.namespace;
        let fields = format!("involvedObject.name={name}");
        let select = Select { fields: &fields, ..Select::default() };
        let scope = Scope { namespace: Some(namespace.clone()), ..Scope::default() };
        let mut seen: Option<(Instant, &'static str)> = None;
        loop {
            let now = Instant::now();
            match self.cluster.get(kinds::POD, namespace, name).await {
                Ok(Some(pod)) => {
                    if let Some(terminated) = terminated(&pod) {
                        return self.ended(name, terminated).await.map(End::Ended);
                    }
                    let mut snapshot = Snapshot::default();
                    snapshot.extend(kinds::POD, [pod]);
                    // Without events, there are fewer reasons.
                    let events = self.cluster.list(kinds::EVENT, Some(namespace), &select).await;
                    snapshot.extend(kinds::EVENT, events.unwrap_or_default());
                    let problem = diagnose::pod_problems(&snapshot, &scope).into_iter().next();
                    seen = problem.as_ref().map(|problem| match seen {
                        Some((since, reason)) if reason == problem.reason => (since, reason),
                        _ => (now, problem.reason),
                    });
                    if let (Some(problem), Some((since, _))) = (&problem, seen)
                        && (since.elapsed().as_secs() >= problem.patience || now >= self.deadline)
                    {
                        return Ok(End::NotEnded(explained(problem)));
                    }
                }
                Ok(None) => return Ok(End::NotEnded("the pod of the test was deleted".to_owned())),
                Err(error) if error.is_temporary() && now < self.deadline => {}
                Err(error) => return Err(error),
            }
            if now >= self.deadline {
                return Ok(End::NotEnded(self.too_late()));
            }
            tokio::time::sleep(INTERVAL).await;
        }
    }

    /// Returns what a test printed; one that failed without a word was not run.
    async fn ended(&self, name: &str, terminated: &Value) -> Result<Result<String, String>, Error> {
        let printed = self.cluster.log(&self.settings.namespace, name, TEST_APP, MAX_LOG).await?;
        let status = number(terminated, "/exitCode");
        if status == 0 || !printed.trim().is_empty() {
            return Ok(Ok(printed));
        }
        let message = string(terminated, "/message").trim();
        let colon = if message.is_empty() { "" } else { ": " };
        Ok(Err(format!("the test printed nothing and exited with status {status}{colon}{message}")))
    }

    fn metadata(&self, name: &str) -> Value {
        json!({
            "name": name,
            "namespace": self.settings.namespace,
            "labels": {"app": TEST_APP, RUN_LABEL: self.name, MANAGED_BY: MANAGER},
        })
    }

    /// Puts the files of a bundle into as many `ConfigMap`s as they need. A file's key is its number, because keys are no paths.
    fn mount(&mut self, bundle: &Bundle) -> Result<(), TooLarge> {
        let mut room = 0;
        for (index, file) in bundle.files.iter().enumerate().filter(|(_, file)| !file.bytes.is_empty()) {
            let size = file.bytes.len();
            if size > MAX_CONFIG_MAP {
                return Err(TooLarge { file: file.path.clone(), size });
            }
            if size > room {
                let name = format!("{}-{}", self.name, self.config_maps.len());
                self.sources.push(json!({"configMap": {"name": name, "items": []}}));
                self.config_maps.push(json!({
                    "apiVersion": "v1", "kind": "ConfigMap", "metadata": self.metadata(&name), "immutable": true,
                }));
                room = MAX_CONFIG_MAP;
            }
            room -= size;
            let (Some(config_map), Some(source)) = (self.config_maps.last_mut(), self.sources.last_mut())
            else {
                continue;
            };
            let key = format!("file-{index}");
            if let Some(items) = source["configMap"]["items"].as_array_mut() {
                items.push(json!({"key": key, "path": file.path}));
            }
            match std::str::from_utf8(&file.bytes) {
                Ok(text) => config_map["data"][key] = text.into(),
                Err(_) => config_map["binaryData"][key] = STANDARD.encode(&file.bytes).into(),
            }
            self.top.extend(file.path.split('/').next().map(str::to_owned));
        }
        Ok(())
    }

    fn pod(&self, index: usize, test: PodTest<'_>) -> Value {
        // The volume's own root has links to a hidden directory, which tests that walk /bundle would not follow.
        let mut mounts: Vec<Value> = self
            .top
            .iter()
            .map(|name| json!({"name": "bundle", "mountPath": format!("/bundle/{name}"), "subPath": name, "readOnly": true}))
            .collect();
        let mut volumes = vec![json!({"name": "bundle", "projected": {"sources": self.sources}})];
        let namespace = json!({"fieldRef": {"fieldPath": "metadata.namespace"}});
        let mut variables = vec![json!({"name": "SCORECARD_NAMESPACE", "valueFrom": namespace})];
        let mut sidecars = Vec::new();
        if let Some(path) = test.storage {
            volumes.push(json!({"name": "storage", "emptyDir": {}}));
            mounts.push(json!({"name": "storage", "mountPath": path}));
            variables.push(json!({"name": test_storage::VARIABLE, "value": path}));
            sidecars.extend(self.settings.storage_image.iter().map(|image| test_storage::sidecar(image)));
        }
        let mut container = json!({
            "name": TEST_APP,
            "image": test.image,
            "imagePullPolicy": "IfNotPresent",
            "env": variables,
            "volumeMounts": mounts,
        });
        if !test.command.is_empty() {
            container["command"] = test.command.into();
        }
        let mut spec = json!({
            "serviceAccountName": self.settings.service_account,
            "restartPolicy": "Never",
            "volumes": volumes,
        });
        if self.settings.restricted {
            spec["securityContext"] =
                json!({"runAsNonRoot": true, "seccompProfile": {"type": "RuntimeDefault"}});
            for container in sidecars.iter_mut().chain([&mut container]) {
                container["securityContext"] =
                    json!({"allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]}});
            }
        }
        if !sidecars.is_empty() {
            spec["initContainers"] = sidecars.into();
        }
        spec["containers"] = json!([container]);
        json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": self.metadata(&format!("{}-test-{index}", self.name)),
            "spec": spec,
        })
    }
}

/// How waiting for a test ended.
enum End {
    /// The container has ended: what it printed, or why it could not be run.
    Ended(Result<String, String>),
    /// It has not ended, for this reason.
    NotEnded(String),
}

/// Returns how the container of the test ended, if it did.
fn terminated(pod: &Value) -> Option<&Value> {
    let statuses = list(pod, "/status/containerStatuses");
    let status = statuses.iter().find(|status| string(status, "/name") == TEST_APP)?;
    status.pointer("/state/terminated").filter(|terminated| terminated.is_object())
}

fn explained(problem: &Diagnosis) -> String {
    if problem.help.is_empty() {
        problem.message.clone()
    } else {
        format!("{}; {}", problem.message, problem.help)
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use kube::Client;
    use kube::client::Body;

    use super::*;
    use olm_model::read;

    fn settings() -> Settings {
        Settings {
            namespace: "gizmos".into(),
            service_account: "tester".into(),
            storage_image: Some("example.com/busybox:1".into()),
            restricted: true,
            timeout: Duration::from_secs(30),
        }
    }

    /// A cluster that answers a read of the pod with one status after another, the last one for ever; null is an error that
    /// passes.
    fn cluster(statuses: Vec<Value>) -> Cluster {
        let reads = Arc::new(AtomicUsize::new(0));
        let statuses = Arc::new(statuses);
        let service = tower::service_fn(move |request: http::Request<Body>| {
            let path = request.uri().path().to_owned();
            let of_sidecar = request.uri().query().is_some_and(|query| query.contains(test_storage::SIDECAR));
            let (mut code, mut body) = (200, "{\"results\": []}".to_owned());
            if path.ends_with("/log") {
                if of_sidecar {
                    body = "\n-- end --\nno tar\n".to_owned();
                }
            } else if request.method() != http::Method::GET || !path.contains("/pods/") {
                body = json!({"items": []}).to_string();
            } else {
                let status = &statuses[reads.fetch_add(1, Ordering::Relaxed).min(statuses.len() - 1)];
                code = if status.is_null() { 503 } else { 200 };
                body = json!({"metadata": {"name": "pod", "namespace": "gizmos", "labels": {"app": TEST_APP}}, "status": status})
                    .to_string();
            }
            async move {
                Ok::<_, Infallible>(
                    http::Response::builder().status(code).body(Body::from(body.into_bytes())).unwrap(),
                )
            }
        });
        Cluster::through(Client::new(service, "default"))
    }

    fn status(state: &Value) -> Value {
        json!({"phase": "Pending", "containerStatuses": [
            {"name": TEST_APP, "image": "example.com/tests:v1", "state": state}]})
    }

    async fn outcome(test: PodTest<'static>, statuses: Vec<Value>) -> Outcome {
        let cluster = cluster(statuses);
        let run = TestRun::new(&cluster, settings(), &Bundle::default()).unwrap();
        run.run(0, test).await.unwrap()
    }

    const TEST: PodTest<'static> = PodTest { image: "example.com/tests:v1", command: &[], storage: None };

    #[tokio::test(start_paused = true)]
    async fn a_test_that_ends_has_its_log_and_one_that_cannot_has_a_reason() {
        let running = status(&json!({"running": {"startedAt": "2026-01-01T00:00:00Z"}}));
        let ended = status(&json!({"terminated": {"exitCode": 1}}));
        let printed = Outcome { printed: Ok(r#"{"results": []}"#.to_owned()), gathered: None };
        assert_eq!(outcome(TEST, vec![running.clone(), running.clone(), ended]).await, printed);
        let too_late =
            "the test did not finish within 30 s of the start of the run; set a longer --wait-time";
        assert_eq!(outcome(TEST, vec![running]).await, Outcome::not_run(too_late));
        let invalid = status(&json!({"waiting": {"reason": "InvalidImageName", "message": "invalid"}}));
        let invalid_name = "the pod of the test cannot pull image `example.com/tests:v1`; fix the image name";
        assert_eq!(outcome(TEST, vec![invalid]).await, Outcome::not_run(invalid_name));
    }

    #[tokio::test(start_paused = true)]
    async fn what_a_test_wrote_is_gathered_when_the_sidecar_has_ended() {
        let test = PodTest { storage: Some("/output"), ..TEST };
        let ended = status(&json!({"terminated": {"exitCode": 0}}));
        let mut gathered = ended.clone();
        gathered["initContainerStatuses"] = json!([
            {"name": "mesh", "state": {"running": {}}},
            {"name": test_storage::SIDECAR, "state": {"terminated": {"exitCode": 0}}},
        ]);
        let problem = async |statuses| {
            let Outcome { printed, gathered } = outcome(test, statuses).await;
            assert_eq!(printed, Ok(r#"{"results": []}"#.to_owned()));
            gathered.unwrap().problem.unwrap()
        };
        // Errors that pass do not end it.
        assert_eq!(problem(vec![ended.clone(), Value::Null, ended.clone(), gathered]).await, "no tar");
        assert_eq!(
            problem(vec![ended]).await,
            "the sidecar did not terminate within 40 s; does the pod have another container?"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn no_pod_is_created_after_the_end_of_the_run_and_a_rejected_one_is_a_test_that_was_not_run() {
        let requests = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&requests);
        let service = tower::service_fn(move |_: http::Request<Body>| {
            counted.fetch_add(1, Ordering::Relaxed);
            let body = Body::from(br#"{"message": "no such service account"}"#.to_vec());
            async { Ok::<_, Infallible>(http::Response::builder().status(403).body(body).unwrap()) }
        });
        let cluster = Cluster::through(Client::new(service, "default"));
        let run = TestRun::new(&cluster, settings(), &Bundle::default()).unwrap();
        let reason = run.run(0, TEST).await.unwrap().printed.unwrap_err();
        assert!(reason.ends_with("no such service account"), "{reason}");
        tokio::time::advance(Duration::from_secs(31)).await;
        let sent = requests.load(Ordering::Relaxed);
        assert!(run.run(1, TEST).await.unwrap().printed.is_err());
        assert_eq!(requests.load(Ordering::Relaxed), sent);
    }

    #[tokio::test]
    async fn the_files_of_a_bundle_are_mounted_at_their_paths() {
        let contents = [
            ("manifests/a.yaml", vec![b'#'; MAX_CONFIG_MAP / 2 + 1]),
            ("manifests/b.yaml", vec![b'#'; MAX_CONFIG_MAP / 2 + 1]),
            ("manifests/logo.png", vec![0xff]),
            ("tests/scorecard/config.yaml", b"kind: Configuration\n".to_vec()),
        ];
        let contents = contents.map(|(path, bytes)| (path.to_owned(), bytes));
        let bundle = read::bundle::files("gizmo", &contents.into());
        let cluster = cluster(Vec::new());
        let run = TestRun::new(&cluster, settings(), &bundle).unwrap();
        let keys = |config_map: &Value| {
            ["data", "binaryData"].map(|field| config_map[field].as_object().map_or(0, serde_json::Map::len))
        };
        assert_eq!(run.config_maps.iter().map(keys).collect::<Vec<_>>(), [[1, 0], [2, 1]]);
        let test = PodTest {
            image: "example.com/tests:v1",
            command: &["own".to_owned(), "first".to_owned()],
            storage: Some("/output"),
        };
        let pod = serde_json::to_string(&run.pod(2, test)).unwrap().replace(&run.name, "scorecard-0");
        insta::assert_yaml_snapshot!(serde_json::from_str::<Value>(&pod).unwrap());
        let large = [("manifests/a.yaml".to_owned(), vec![b'#'; MAX_CONFIG_MAP + 1])];
        let error =
            TestRun::new(&cluster, settings(), &read::bundle::files("gizmo", &large.into())).err().unwrap();
        assert!(
            error.to_string().starts_with("file manifests/a.yaml of the bundle has 1000001 bytes"),
            "{error}"
        );
    }
}

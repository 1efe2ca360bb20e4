//! Pods that run the tests of a scorecard which are in images.
//!
//! Source: `internal/scorecard` of operator-sdk v1.42, for names, labels and the directory of the bundle. operator-sdk unpacks
//! an archive with an image of its own; here, `ConfigMap`s hold the files.

use std::collections::BTreeSet;
use std::hash::{BuildHasher as _, RandomState};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::client::{Cluster, Error, MANAGER, Select, Write};
use super::diagnose::{self, Problem, Scope};
use super::kinds::{self, Kind};
use super::manifests::{MANAGED_BY, MAX_CONFIG_MAP, TEST_APP};
use super::snapshot::{Snapshot, list, name_of, number, string};
use crate::model::Bundle;

/// The label of the pods and `ConfigMap`s of one run; its value is the name of the run.
pub const RUN_LABEL: &str = "testrun";
/// The time between two looks at a pod.
const INTERVAL: Duration = Duration::from_millis(500);
/// The maximum time to delete one object.
const CLEANUP_TIMEOUT: Duration = Duration::from_secs(30);

/// How the pods of a run are created.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The namespace.
    pub namespace: String,
    /// The service account of the pods.
    pub service_account: String,
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
    /// A file of the bundle exceeds a ConfigMap.
    pub fn new(cluster: &'c Cluster, settings: Settings, bundle: &Bundle) -> Result<Self, TooLarge> {
        let name = format!("scorecard-{:08x}", RandomState::new().hash_one(()) >> 32);
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
    /// The API server rejects it, or does not respond.
    pub async fn prepare(&self) -> Result<(), Error> {
        for config_map in &self.config_maps {
            self.cluster.apply(kinds::CONFIG_MAP, config_map, Write::Stored).await?;
        }
        Ok(())
    }

    /// Runs one test, the `index`th of the run, and returns what it printed; `Err` in it if the test cannot be run.
    ///
    /// # Errors
    /// The API server rejects the pod, or does not respond.
    pub async fn run(&self, index: usize, test: PodTest<'_>) -> Result<Result<String, String>, Error> {
        let pod = self.pod(index, test);
        let name = name_of(&pod);
        self.cluster.apply(kinds::POD, &pod, Write::Stored).await?;
        let terminated = match self.ended(name).await? {
            Ok(terminated) => terminated,
            Err(reason) => return Ok(Err(reason)),
        };
        let printed = self.cluster.log(&self.settings.namespace, name, TEST_APP).await?;
        let status = number(&terminated, "/exitCode");
        if printed.trim().is_empty() && status != 0 {
            let message = string(&terminated, "/message").trim();
            let colon = if message.is_empty() { "" } else { ": " };
            return Ok(Err(format!(
                "the test printed nothing and ended with exit status {status}{colon}{message}"
            )));
        }
        Ok(Ok(printed))
    }

    /// Deletes what was created; returns what could not be deleted, with the reasons.
    pub async fn clean_up(&self) -> Vec<String> {
        let namespace = &self.settings.namespace;
        let selector = format!("{RUN_LABEL}={}", self.name);
        let select = Select { labels: &selector, ..Select::default() };
        let mut left = Vec::new();
        for kind in [kinds::POD, kinds::CONFIG_MAP] {
            let deleting = async {
                for object in self.cluster.list(kind, Some(namespace), &select).await? {
                    self.cluster.delete(kind, namespace, name_of(&object)).await?;
                }
                Ok::<_, Error>(())
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

    /// Waits until the test has ended, and returns how; `Err` in it if it cannot end.
    async fn ended(&self, name: &str) -> Result<Result<Value, String>, Error> {
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
                        return Ok(Ok(terminated.clone()));
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
                        return Ok(Err(explained(problem)));
                    }
                }
                Ok(None) => return Ok(Err("the pod of the test was deleted".to_owned())),
                Err(error) if error.is_temporary() && now < self.deadline => {}
                Err(error) => return Err(error),
            }
            if now >= self.deadline {
                let seconds = self.settings.timeout.as_secs();
                return Ok(Err(format!(
                    "the test has not ended {seconds} s after the start of the run; set a longer --wait-time"
                )));
            }
            tokio::time::sleep(INTERVAL).await;
        }
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
        if let Some(path) = test.storage {
            volumes.push(json!({"name": "storage", "emptyDir": {}}));
            mounts.push(json!({"name": "storage", "mountPath": path}));
        }
        let namespace = json!({"fieldRef": {"fieldPath": "metadata.namespace"}});
        let mut container = json!({
            "name": TEST_APP,
            "image": test.image,
            "imagePullPolicy": "IfNotPresent",
            "env": [{"name": "SCORECARD_NAMESPACE", "valueFrom": namespace}],
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
            container["securityContext"] =
                json!({"allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]}});
        }
        spec["containers"] = json!([container]);
        json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": self.metadata(&format!("{}-test-{index}", self.name)),
            "spec": spec,
        })
    }
}

/// Returns how the container of the test ended, if it did.
fn terminated(pod: &Value) -> Option<&Value> {
    let statuses = list(pod, "/status/containerStatuses");
    let status = statuses.iter().find(|status| string(status, "/name") == TEST_APP)?;
    status.pointer("/state/terminated").filter(|terminated| terminated.is_object())
}

fn explained(problem: &Problem) -> String {
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
    use crate::read;

    fn settings() -> Settings {
        Settings {
            namespace: "gizmos".into(),
            service_account: "tester".into(),
            restricted: true,
            timeout: Duration::from_secs(30),
        }
    }

    /// A cluster that answers a read of the pod with one state after another, the last one for ever.
    fn cluster(states: Vec<Value>) -> Cluster {
        let reads = Arc::new(AtomicUsize::new(0));
        let states = Arc::new(states);
        let service = tower::service_fn(move |request: http::Request<Body>| {
            let path = request.uri().path().to_owned();
            let body = if path.ends_with("/log") {
                "{\"results\": []}".to_owned()
            } else if request.method() != http::Method::GET || !path.contains("/pods/") {
                json!({"items": []}).to_string()
            } else {
                let state = &states[reads.fetch_add(1, Ordering::Relaxed).min(states.len() - 1)];
                let pod_status = json!({"phase": "Pending", "containerStatuses": [
                    {"name": TEST_APP, "image": "example.com/tests:v1", "state": state}]});
                json!({"metadata": {"name": "pod", "namespace": "gizmos", "labels": {"app": TEST_APP}}, "status": pod_status})
                    .to_string()
            };
            async move { Ok::<_, Infallible>(http::Response::new(Body::from(body.into_bytes()))) }
        });
        Cluster::through(Client::new(service, "default"))
    }

    async fn outcome(states: Vec<Value>) -> Result<String, String> {
        let cluster = cluster(states);
        let run = TestRun::new(&cluster, settings(), &Bundle::default()).unwrap();
        let test = PodTest { image: "example.com/tests:v1", command: &[], storage: None };
        run.run(0, test).await.unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn a_test_that_ends_has_its_log_and_one_that_cannot_has_a_reason() {
        let running = json!({"running": {"startedAt": "2026-01-01T00:00:00Z"}});
        let ended = json!({"terminated": {"exitCode": 1}});
        assert_eq!(
            outcome(vec![running.clone(), running.clone(), ended]).await,
            Ok("{\"results\": []}".into())
        );
        assert_eq!(
            outcome(vec![running]).await,
            Err("the test has not ended 30 s after the start of the run; set a longer --wait-time".into())
        );
        let invalid = json!({"waiting": {"reason": "InvalidImageName", "message": "invalid"}});
        assert_eq!(
            outcome(vec![invalid]).await,
            Err("the pod of the test cannot pull image `example.com/tests:v1`; fix the image name".into())
        );
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

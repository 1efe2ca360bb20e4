//! `bundle-tool test upgrade`, against a mock API server on which OLM installs everything at once.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::api_server::ApiServer;
use crate::support::{copy_bundle, utf8};

/// The objects of a cluster, by path.
type Objects = Arc<Mutex<BTreeMap<String, Value>>>;

const OLM: &str = "/apis/apps/v1/namespaces/olm/deployments/catalog-operator";
const CRD: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/gizmos.gadgets.example.com";

/// The parts of a path: the API, the namespace, the plural and the name.
fn parts(path: &str) -> (String, Option<&str>, &str, Option<&str>) {
    let all: Vec<&str> = path.split('/').skip(1).collect();
    let (api, rest) = all.split_at(if all[0] == "api" { 2 } else { 3 });
    let api = format!("/{}", api.join("/"));
    match rest {
        ["namespaces", namespace, plural] => (api, Some(namespace), plural, None),
        ["namespaces", namespace, plural, name] => (api, Some(namespace), plural, Some(name)),
        [plural] => (api, None, plural, None),
        [plural, name] => (api, None, plural, Some(name)),
        _ => panic!("{path}"),
    }
}

/// The UID of a new object.
fn uid() -> Value {
    static LAST: AtomicUsize = AtomicUsize::new(0);
    LAST.fetch_add(1, Ordering::Relaxed).to_string().into()
}

/// What the controllers of a cluster make of an object. `upgrade` is what the upgrade to 1.3.0 does to a gizmo.
fn react(objects: &mut BTreeMap<String, Value>, path: &str, upgrade: fn(&mut Value)) {
    let object = objects.get_mut(path).unwrap();
    match object["kind"].as_str().unwrap() {
        "CatalogSource" => object["status"] = json!({"connectionState": {"lastObservedState": "READY"}}),
        "Deployment" => {
            object["status"] =
                json!({"observedGeneration": 1, "updatedReplicas": 1, "availableReplicas": 1, "replicas": 1});
        }
        "Subscription" => {
            let csv = object["spec"]["startingCSV"].as_str().unwrap().to_owned();
            object["status"] = json!({"installedCSV": csv, "currentCSV": csv});
            let collection = path.replace("subscriptions/gizmo-operator", "clusterserviceversions");
            objects.retain(|path, _| !path.starts_with(&collection));
            let namespace = parts(path).1.unwrap();
            objects.insert(
                format!("{collection}/{csv}"),
                json!({
                    "apiVersion": "operators.coreos.com/v1alpha1", "kind": "ClusterServiceVersion",
                    "metadata": {"name": csv, "namespace": namespace}, "status": {"phase": "Succeeded"},
                    "spec": {"customresourcedefinitions": {"owned": [{"name": "gizmos.gadgets.example.com"}]}},
                }),
            );
            objects.insert(
                CRD.to_owned(),
                json!({"metadata": {"name": "gizmos.gadgets.example.com"}, "spec": {
                    "group": "gadgets.example.com", "names": {"plural": "gizmos", "kind": "Gizmo"},
                    "versions": [{"name": "v1", "served": true}]}}),
            );
            if csv.ends_with("1.3.0") {
                objects.values_mut().filter(|one| one["kind"] == "Gizmo").for_each(upgrade);
            }
        }
        _ => {}
    }
}

fn respond(
    objects: &mut BTreeMap<String, Value>,
    request: &str,
    body: &str,
    ready: &str,
    upgrade: fn(&mut Value),
) -> (u16, Value) {
    let missing = (404, json!({"message": "not found"}));
    let (method, path) = request.split_once(' ').unwrap();
    match path {
        "/version" => return (200, json!({"gitVersion": "v1.34.0"})),
        "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews" => {
            return (201, json!({"status": {"allowed": true}}));
        }
        "/apis" => return (200, json!({"groups": [{"name": "operators.coreos.com"}]})),
        "/apis/operators.coreos.com/v1alpha1" => {
            let names = ["catalogsources", "subscriptions", "installplans", "clusterserviceversions"];
            return (200, json!({"resources": names.map(|name| json!({"name": name}))}));
        }
        "/apis/gadgets.example.com/v1" if objects.contains_key(CRD) => {
            return (200, json!({"resources": [{"name": "gizmos", "kind": "Gizmo", "namespaced": true}]}));
        }
        "/apis/gadgets.example.com/v1" => return missing,
        _ => {}
    }
    let (api, namespace, plural, name) = parts(path);
    match (method, name) {
        ("GET", Some(_)) => objects.get(path).map_or(missing, |object| (200, object.clone())),
        ("GET", None) => {
            let items: Vec<&Value> = objects
                .iter()
                .filter(|(path, _)| {
                    let (other, within, kind, _) = parts(path);
                    (other, kind) == (api.clone(), plural) && (namespace.is_none() || namespace == within)
                })
                .map(|(_, object)| object)
                .collect();
            (200, json!({"items": items}))
        }
        ("POST", None) => {
            let mut object: Value = serde_json::from_str(body).unwrap();
            let path = format!("{path}/{}", object["metadata"]["name"].as_str().unwrap());
            object["metadata"]["uid"] = uid();
            object["status"] =
                json!({"conditions": [{"type": "Ready", "status": ready, "reason": "Tested"}]});
            objects.insert(path, object.clone());
            (201, object)
        }
        ("PATCH", Some(_)) => {
            let object: Value = serde_json::from_str(body).unwrap();
            let status = if objects.contains_key(path) { 200 } else { 201 };
            if object["kind"].is_string() {
                objects.insert(path.to_owned(), object);
                objects.get_mut(path).unwrap()["metadata"]["generation"] = 1.into();
                react(objects, path, upgrade);
            }
            (status, objects[path].clone())
        }
        ("DELETE", Some(name)) => {
            let Some(object) = objects.remove(path) else { return missing };
            match plural {
                "namespaces" => objects.retain(|path, _| parts(path).1 != Some(name)),
                "customresourcedefinitions" => objects.retain(|path, _| parts(path).2 != "gizmos"),
                _ => {}
            }
            (200, object)
        }
        _ => panic!("{request}"),
    }
}

/// A cluster with OLM, two versions of a bundle, and a kubeconfig.
struct Fixture {
    directory: tempfile::TempDir,
    objects: Objects,
    server: ApiServer,
}

impl Fixture {
    fn new(ready: &'static str, upgrade: fn(&mut Value)) -> Self {
        Self::failing(ready, upgrade, |_| None)
    }

    /// A cluster that answers some requests with another status.
    fn failing(ready: &'static str, upgrade: fn(&mut Value), fails: fn(&str) -> Option<u16>) -> Self {
        let directory = tempfile::tempdir().unwrap();
        copy_bundle(directory.path().join("bundles/old"));
        version(&directory.path().join("bundles/new"), "1.3.0");
        let catalog_operator = json!({
            "kind": "Deployment",
            "metadata": {"name": "catalog-operator", "namespace": "olm", "labels": {"app": "catalog-operator"}},
            "spec": {"template": {"spec": {"containers": [{"args": ["--opmImage=registry.example.com/opm:v1"]}]}}},
            "status": {"availableReplicas": 1},
        });
        let objects: Objects = Arc::new(Mutex::new(BTreeMap::from([(OLM.to_owned(), catalog_operator)])));
        let all = objects.clone();
        let server = ApiServer::start(move |request, body| match fails(request) {
            Some(status) => (status, json!({"message": "it fails"})),
            None => respond(&mut all.lock().unwrap(), request, body, ready, upgrade),
        });
        server.kubeconfig(&directory.path().join("kubeconfig"));
        Self { directory, objects, server }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_bundle-tool"));
        command.args(["test", "upgrade"]).args(arguments).current_dir(self.directory.path());
        command.env("KUBECONFIG", self.path("kubeconfig")).env("HOME", "/nonexistent");
        command
    }

    fn run(&self, arguments: &[&str]) -> (Option<i32>, String, String) {
        let output = self.command(arguments).output().unwrap();
        (output.status.code(), utf8(&output.stdout), utf8(&output.stderr))
    }

    /// Writes a catalog whose channel has these entries, with their bundles.
    fn catalog(&self, entries: &str) {
        let text = "---\nschema: olm.package\nname: gizmo-operator\ndefaultChannel: stable\n\
             ---\nschema: olm.channel\nname: stable\npackage: gizmo-operator\nentries:\n"
            .to_owned();
        let versions = ["1.2.0", "1.2.5", "1.3.0", "1.4.0"].into_iter();
        let named = versions.filter(|version| entries.contains(&format!("name: gizmo-operator.v{version}")));
        let blobs: String = named.map(bundle_blob).collect();
        std::fs::write(self.path("catalog.yaml"), text + entries + &blobs).unwrap();
    }

    /// The objects that are left, beside OLM.
    fn left(&self) -> Vec<String> {
        self.objects.lock().unwrap().keys().filter(|path| *path != OLM).cloned().collect()
    }
}

/// Copies the bundle as another version.
fn version(to: &Path, version: &str) {
    let csv = copy_bundle(to.to_owned()).join("manifests/gizmo-operator.clusterserviceversion.yaml");
    let text = std::fs::read_to_string(&csv).unwrap().replace("1.2.0", version);
    std::fs::write(&csv, text).unwrap();
}

const ALL_EDGES: [&str; 5] = ["--catalog", "catalog.yaml", "--bundles", "bundles", "--all-edges"];

/// Entries of a channel with three upgrades: 1.2.0 -> 1.3.0, 1.2.5 -> 1.3.0 and 1.3.0 -> 1.4.0.
const THREE_UPGRADES: &str = "- name: gizmo-operator.v1.2.0\n- name: gizmo-operator.v1.2.5\n\
    - {name: gizmo-operator.v1.3.0, replaces: gizmo-operator.v1.2.0, skips: [gizmo-operator.v1.2.5]}\n\
    - {name: gizmo-operator.v1.4.0, replaces: gizmo-operator.v1.3.0}\n";

const SAMPLE: &str = "/apis/gadgets.example.com/v1/namespaces/gizmo-operator-upgrade-test/gizmos/sample";

#[test]
fn upgrade_that_keeps_everything_passes_and_leaves_nothing() {
    let fixture = Fixture::new("True", |gizmo| gizmo["spec"]["color"] = "red".into());
    let (status, out, err) = fixture.run(&["bundles/old", "bundles/new"]);
    assert_eq!(status, Some(0), "{out}{err}");
    assert_eq!(
        out,
        "gizmo-operator.v1.2.0 -> gizmo-operator.v1.3.0: passed\n  Gizmo `sample`: unchanged and ready\n\
         upgrades: 1; passed: 1, failed: 0, not tested: 0\n"
    );
    assert_eq!(fixture.left(), Vec::<String>::new(), "{err}");
    let requests = fixture.server.requests();
    let order: Vec<_> = requests.iter().filter(|request| request.contains("sample")).collect();
    // The sample is removed before the operator that may have to remove its finalizers.
    let at = |request: String| requests.iter().position(|one| *one == request).expect(&request);
    assert!(at(format!("DELETE {SAMPLE}")) < at(format!("DELETE {CRD}")), "{order:?}");
}

#[test]
fn losses_are_reported_for_every_edge_of_a_channel() {
    let fixture = Fixture::new("True", |gizmo| {
        gizmo["spec"].as_object_mut().unwrap().remove("size");
    });
    fixture.catalog("- name: gizmo-operator.v1.2.0\n- {name: gizmo-operator.v1.3.0, skipRange: <1.3.0}\n");
    let (status, out, err) = fixture.run(&[&ALL_EDGES[..], &["-o", "json"]].concat());
    assert_eq!(status, Some(1), "{out}{err}");
    let document: Value = serde_json::from_str(&out).unwrap();
    let expected = json!({
        "version": 1, "package": "gizmo-operator",
        "upgrades": [{
            "from": "gizmo-operator.v1.2.0", "to": "gizmo-operator.v1.3.0", "edge": "skipRange <1.3.0",
            "verdict": "failed", "reason": null, "cleanupError": null, "problem": null, "notes": [],
            "samples": [{
                "object": "Gizmo `sample`", "ready": true, "losses": ["`spec.size` was lost; its value was `3`"],
            }],
        }],
    });
    assert_eq!(document, expected);
    assert_eq!(fixture.left(), Vec::<String>::new(), "{err}");
}

#[test]
fn edges_after_one_that_cannot_be_tried_are_tested() {
    let fixture = Fixture::new("True", |_| {});
    version(&fixture.path("bundles/invalid"), "1.2.5");
    std::fs::remove_file(fixture.path("bundles/invalid/manifests/gizmos.gadgets.example.com.crd.yaml"))
        .unwrap();
    version(&fixture.path("bundles/newest"), "1.4.0");
    fixture.catalog(THREE_UPGRADES);
    let (status, out, err) = fixture.run(&ALL_EDGES);
    assert_eq!(status, Some(2), "{out}{err}");
    let lines: Vec<&str> = out.lines().filter(|line| line.contains(" -> ")).collect();
    assert_eq!(lines.len(), 3, "{out}{err}");
    assert!(lines[0].ends_with("v1.2.0 -> gizmo-operator.v1.3.0 (replaces): passed"), "{out}");
    assert!(lines[1].starts_with("bundles/invalid -> bundles/new (skips): not tested: bundle "), "{out}");
    assert!(lines[2].ends_with("v1.3.0 -> gizmo-operator.v1.4.0 (replaces): passed"), "{out}");
    assert!(out.ends_with("upgrades: 3; passed: 2, failed: 0, not tested: 1\n"), "{out}");
    assert_eq!(fixture.left(), Vec::<String>::new(), "{err}");
}

/// A server that does not delete the CRD.
fn keeps_crd(request: &str) -> Option<u16> {
    (request == format!("DELETE {CRD}")).then_some(403)
}

#[test]
fn temporary_errors_do_not_end_the_removal() {
    let fixture = Fixture::failing(
        "True",
        |_| {},
        |request| {
            static FAILURES: AtomicUsize = AtomicUsize::new(0);
            let (sample, crd) = (format!("DELETE {SAMPLE}"), format!("DELETE {CRD}"));
            let status = if request == sample { 409 } else { 500 };
            let bit = if request == sample { 1 } else { 2 };
            let fails = [sample, crd].iter().any(|one| one == request);
            (fails && FAILURES.fetch_or(bit, Ordering::Relaxed) & bit == 0).then_some(status)
        },
    );
    let (status, out, err) = fixture.run(&["bundles/old", "bundles/new"]);
    assert_eq!(status, Some(0), "{out}{err}");
    assert_eq!(err.matches(": it fails; trying again\n").count(), 2, "{err}");
    assert_eq!(fixture.left(), Vec::<String>::new(), "{err}");
}

/// An upgrade that loses a field of the sample.
fn loses_size(gizmo: &mut Value) {
    gizmo["spec"].as_object_mut().unwrap().remove("size");
}

fn a_failed_removal_is_reported(upgrade: fn(&mut Value), expected: i32, verdict: &str) {
    let fixture = Fixture::failing("True", upgrade, keeps_crd);
    let (status, out, err) = fixture.run(&["bundles/old", "bundles/new"]);
    assert_eq!(status, Some(expected), "{out}{err}");
    let first = format!("gizmo-operator.v1.2.0 -> gizmo-operator.v1.3.0: {verdict}\n");
    assert!(out.starts_with(&first), "{out}");
    let reason = "failed to delete CustomResourceDefinition `gizmos.gadgets.example.com`: it fails\n";
    assert!(out.contains(&format!("\n  not removed: {reason}")), "{out}");
    assert!(err.contains(&format!("error: {reason}")) && err.contains("note: not removed: "), "{err}");
}

#[test]
fn failed_removal_after_a_failed_upgrade_changes_no_verdict() {
    a_failed_removal_is_reported(loses_size, 1, "failed");
}

#[test]
fn failed_removal_after_an_upgrade_changes_no_verdict() {
    a_failed_removal_is_reported(|_| {}, 2, "passed");
}

#[test]
fn failed_removal_ends_the_test_of_all_edges() {
    let fixture = Fixture::failing("True", loses_size, keeps_crd);
    fixture.catalog(THREE_UPGRADES);
    version(&fixture.path("bundles/other"), "1.2.5");
    version(&fixture.path("bundles/newest"), "1.4.0");
    let (status, out, err) = fixture.run(&ALL_EDGES);
    assert_eq!(status, Some(2), "{out}{err}");
    let rest = "not tested: the objects of the previous upgrade were not removed\n";
    assert!(out.contains("v1.3.0 (replaces): failed\n") && out.matches(rest).count() == 2, "{out}");
}

#[test]
fn lost_cluster_still_reports_all_edges() {
    let fixture = Fixture::failing("True", |_| {}, |request| request.starts_with("POST ").then_some(0));
    fixture.catalog(THREE_UPGRADES);
    version(&fixture.path("bundles/other"), "1.2.5");
    version(&fixture.path("bundles/newest"), "1.4.0");
    let (status, out, err) = fixture.run(&ALL_EDGES);
    assert_eq!(status, Some(2), "{out}{err}");
    assert!(out.contains("v1.3.0 (replaces): not tested: the API server http://127.0.0.1:"), "{out}");
    let rest = "not tested: the cluster no longer responds\n";
    assert_eq!(out.matches(rest).count(), 2, "{out}{err}");
}

/// Never answers.
fn stall() -> ! {
    loop {
        std::thread::park();
    }
}

#[test]
fn cluster_that_does_not_answer_ends_the_test_with_its_timeout() {
    const EXPECTED: &str =
        "error: timed out after 1 s, and nothing was created; set a longer --step-timeout\n";
    let stalls: [fn(&str) -> Option<u16>; 2] = [
        |request| if request == "GET /version" { stall() } else { None },
        |request| if request.ends_with("/gizmo-operator-upgrade-test") { stall() } else { None },
    ];
    for fails in stalls {
        let fixture = Fixture::failing("True", |_| {}, fails);
        let (status, out, err) = fixture.run(&["bundles/old", "bundles/new", "--step-timeout", "1s"]);
        assert_eq!(status, Some(2), "{out}{err}");
        assert_eq!(err.matches(EXPECTED).count(), 1, "{out}{err}");
        assert!(fixture.left().is_empty(), "{:?}", fixture.left());
    }
}

#[test]
fn recreated_sample_counts_as_lost() {
    let fixture = Fixture::new("True", |gizmo| gizmo["metadata"]["uid"] = uid());
    let (status, out, err) = fixture.run(&["bundles/old", "bundles/new"]);
    assert_eq!(status, Some(1), "{out}{err}");
    assert!(
        out.contains("  Gizmo `sample`: changed by the upgrade\n    it was deleted and created again\n"),
        "{out}"
    );
    assert_eq!(fixture.left(), Vec::<String>::new(), "{err}");
}

#[test]
fn installed_operator_in_the_namespace_is_kept() {
    const API: &str = "/apis/operators.coreos.com/v1alpha1/namespaces/gizmos";
    for (path, object) in [
        (
            "subscriptions/mine",
            json!({"metadata": {"name": "mine", "namespace": "gizmos"}, "spec": {"name": "gizmo-operator"}}),
        ),
        (
            "clusterserviceversions/gizmo-operator.v1.3.0",
            json!({"metadata": {"name": "gizmo-operator.v1.3.0", "namespace": "gizmos"}}),
        ),
    ] {
        let fixture = Fixture::new("True", |_| {});
        let insert = |path: String, object| fixture.objects.lock().unwrap().insert(path, object);
        insert("/api/v1/namespaces/gizmos".into(), json!({"metadata": {"name": "gizmos"}}));
        insert(format!("{API}/{path}"), object.clone());
        let (status, out, err) =
            fixture.run(&["bundles/old", "bundles/new", "--force", "--namespace", "gizmos"]);
        assert_eq!(status, Some(2), "{out}{err}");
        let name = object["metadata"]["name"].as_str().unwrap();
        assert!(
            err.contains(&format!("`{name}` exists in namespace `gizmos`, and nothing was created")),
            "{err}"
        );
        let requests = fixture.server.requests();
        assert!(requests.iter().all(|request| request.starts_with("GET ")), "{requests:?}");
    }
}

fn bundle_blob(version: &str) -> String {
    format!(
        "---\nschema: olm.bundle\nname: gizmo-operator.v{version}\npackage: gizmo-operator\n\
         image: registry.example.com/gizmo-bundle:v{version}\nproperties:\n\
         - {{type: olm.package, value: {{packageName: gizmo-operator, version: {version}}}}}\n"
    )
}

#[test]
fn existing_objects_prevent_the_test() {
    let fixture = Fixture::new("True", |_| {});
    let exists =
        |path: &str| fixture.objects.lock().unwrap().insert(path.to_owned(), json!({"metadata": {}}));
    exists(CRD);
    let (status, out, err) = fixture.run(&["bundles/old", "bundles/new"]);
    assert_eq!(status, Some(2), "{out}{err}");
    assert!(err.contains("error: CRD `gizmos.gadgets.example.com` exists on the cluster"), "{err}");
    exists("/api/v1/namespaces/gizmo-operator-upgrade-test");
    let (status, _, err) = fixture.run(&["bundles/old", "bundles/new"]);
    assert_eq!(status, Some(2));
    assert!(err.contains("namespace `gizmo-operator-upgrade-test` exists"), "{err}");
    let (status, _, err) = fixture.run(&["bundles/old", "bundles/old"]);
    assert_eq!(status, Some(2));
    assert!(err.contains("expected two versions"), "{err}");
    let (status, _, err) = fixture.run(&["bundles/old", "bundles/new", "--pull-secret-name", "a"]);
    assert_eq!(status, Some(2));
    assert!(err.contains("require --namespace"), "{err}");
    let requests = fixture.server.requests();
    assert!(requests.iter().all(|request| request.starts_with("GET ")), "{requests:?}");
}

#[test]
fn sample_that_is_never_ready_cannot_be_tested() {
    let fixture = Fixture::new("False", |_| {});
    let (status, out, err) = fixture.run(&["bundles/old", "bundles/new", "--step-timeout", "2s"]);
    assert_eq!(status, Some(2), "{out}{err}");
    assert!(out.contains("not tested: the samples cannot be used with gizmo-operator.v1.2.0"), "{out}");
    assert!(err.contains("Gizmo `sample` is not ready after 2 s: condition Ready: Tested: "), "{err}");
    assert_eq!(fixture.left(), Vec::<String>::new(), "{err}");
    let samples = fixture.path("samples.yaml");
    for (text, expected) in [
        ("kind: Gizmo\n", "sample 1 of samples.yaml has no apiVersion"),
        (
            "{apiVersion: gadgets.example.com/v1, kind: Other, metadata: {name: a}}",
            "does not serve kind `Other`",
        ),
        (
            "{apiVersion: gadgets.example.com/v1, kind: Gizmo, metadata: {name: a, namespace: b}}",
            "Gizmo `a` is in namespace `b`",
        ),
        ("", "contains 0 samples"),
    ] {
        std::fs::write(&samples, text).unwrap();
        let (status, _, err) = fixture.run(&["bundles/old", "bundles/new", "--samples", "samples.yaml"]);
        assert_eq!(status, Some(2), "{err}");
        assert!(err.contains(expected), "{err}");
        assert_eq!(fixture.left(), Vec::<String>::new(), "{err}");
    }
}

#[test]
fn interrupted_test_names_leftovers_and_reports_all_edges() {
    let fixture = Fixture::new("False", |_| {});
    fixture.catalog(THREE_UPGRADES);
    version(&fixture.path("bundles/other"), "1.2.5");
    version(&fixture.path("bundles/newest"), "1.4.0");
    let mut command = fixture.command(&ALL_EDGES);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut err = BufReader::new(child.stderr.take().unwrap());
    let mut printed = String::new();
    while !printed.contains("Gizmo `sample` is not ready") {
        assert!(err.read_line(&mut printed).unwrap() > 0, "{printed}");
    }
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    err.read_to_string(&mut printed).unwrap();
    let mut out = String::new();
    child.stdout.take().unwrap().read_to_string(&mut out).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(2), "{printed}");
    assert_eq!(out.matches(": not tested: interrupted\n").count(), 3, "{out}");
    assert!(out.ends_with("upgrades: 3; passed: 0, failed: 0, not tested: 3\n"), "{out}");
    assert!(printed.ends_with("error: interrupted\n"), "{printed}");
    assert!(printed.contains("note: not removed: package `gizmo-operator` with its CRDs"), "{printed}");
    assert!(
        printed.contains(
            "bundle-tool cleanup gizmo-operator -n gizmo-operator-upgrade-test --delete-crds`, then `kubectl delete namespace"
        ),
        "{printed}"
    );
    assert!(fixture.left().iter().any(|path| path == SAMPLE), "{:?}", fixture.left());
}

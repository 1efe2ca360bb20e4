//! Commands that use a cluster, as far as they can be tested without one.

use std::path::Path;
use std::process::{Command, Output};

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use serde_json::json;

use crate::api_server::ApiServer;
use crate::push::Registry;
use crate::support::{copy_bundle, utf8};

fn tool(arguments: &[&str], kubeconfig: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_bundle-tool"))
        .args(arguments)
        .env("KUBECONFIG", kubeconfig)
        .env("HOME", "/nonexistent")
        .env_remove("KUBERNETES_SERVICE_HOST")
        .output()
        .unwrap()
}

const COMMANDS: [&[&str]; 5] = [
    &["doctor"],
    &["olm", "migrate", "gizmo-operator"],
    &["cleanup", "gizmo-operator"],
    &["run", "bundle", "tests/fixtures/bundle"],
    &["run", "bundle-upgrade", "tests/fixtures/bundle"],
];

#[test]
fn commands_without_a_cluster_report_one_error() {
    let directory = tempfile::tempdir().unwrap();
    let server = directory.path().join("closed");
    std::fs::write(
        &server,
        "apiVersion: v1\nkind: Config\ncurrent-context: a\ncontexts: [{name: a, context: {cluster: a, user: a}}]\n\
         clusters: [{name: a, cluster: {server: \"https://127.0.0.1:1\"}}]\nusers: [{name: a, user: {token: SECRET}}]\n",
    )
    .unwrap();
    let invalid = directory.path().join("invalid");
    std::fs::write(&invalid, "users:\n- name: a\n  user:\n    token: \"SECRET\nclusters: []\n").unwrap();
    for (kubeconfig, expected) in [
        (directory.path().join("missing"), "missing: no such file or directory"),
        (invalid, "invalid: not a valid kubeconfig at line "),
        (server, "the API server https://127.0.0.1:1/ does not respond"),
    ] {
        for command in COMMANDS {
            let output = tool(command, &kubeconfig);
            let err = utf8(&output.stderr);
            assert_eq!(output.status.code(), Some(2), "{command:?}: {err}");
            let errors: Vec<_> = err.lines().filter(|line| line.starts_with("error: ")).collect();
            assert_eq!(errors.len(), 1, "{command:?}: {err}");
            assert!(errors[0].contains(expected), "{command:?}: {err}");
            assert!(!err.contains("SECRET") && output.stdout.is_empty(), "{command:?}: {err}");
        }
    }
}

#[test]
fn invalid_kubeconfig_and_namespace_are_one_error() {
    let directory = tempfile::tempdir().unwrap();
    let fifo = directory.path().join("fifo");
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let large = directory.path().join("large");
    std::fs::File::create(&large).unwrap().set_len((16 << 20) + 1).unwrap();
    for (kubeconfig, expected) in [
        (fifo.as_path(), "fifo: expected a regular file, found a FIFO"),
        (Path::new("/dev/zero"), "/dev/zero: expected a regular file, found a device"),
        (&large, "large: the file exceeds the limit of 16777216 bytes"),
    ] {
        for command in COMMANDS {
            let output = tool(command, kubeconfig);
            let err = utf8(&output.stderr);
            assert_eq!(output.status.code(), Some(2), "{command:?}: {err}");
            assert!(err.contains("error: failed to read kubeconfig ") && err.contains(expected), "{err}");
            let given = kubeconfig.display().to_string();
            let given = [command, &["--kubeconfig", &given]].concat();
            assert_eq!(utf8(&tool(&given, Path::new("/nonexistent")).stderr), err);
        }
    }
    for command in COMMANDS {
        let output = tool(&[command, &["-n", "A/b"]].concat(), Path::new("/nonexistent"));
        let err = utf8(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{command:?}: {err}");
        assert!(err.starts_with("error: invalid namespace `A/b`: "), "{err}");
    }
    let early = ["run", "bundle", "missing", "--olm", "v1", "--push-to"];
    for (arguments, expected) in
        [(&early[..5], "--olm v1 requires --push-to"), (&[&early[..], &["A b"]].concat(), "invalid")]
    {
        let output = tool(arguments, Path::new("/nonexistent"));
        assert!(utf8(&output.stderr).contains(expected), "{}", utf8(&output.stderr));
        assert!(!utf8(&output.stderr).contains("reading"), "{}", utf8(&output.stderr));
    }
}

#[test]
fn run_bundle_checks_what_is_local_before_the_cluster() {
    for reference in ["nosuch", "oci:nosuch", "oci-archive:nosuch.tar"] {
        let output = tool(&["run", "bundle", reference], Path::new("/nonexistent"));
        let err = utf8(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{err}");
        assert!(err.contains("nosuch") && !err.contains("kubeconfig"), "{err}");
    }
}

/// Installs a bundle into a namespace that does not exist.
const IN_NEW_NAMESPACE: [&str; 8] = [
    "run",
    "bundle",
    "tests/fixtures/bundle",
    "-n",
    "gizmos",
    "--create-namespace",
    "--opm-image",
    "quay.io/operator-framework/opm:v1.73.0",
];

#[test]
fn client_dry_run_prints_manifests_without_a_cluster() {
    let offline = ["--dry-run", "--install-mode", "OwnNamespace"];
    let output = tool(&[&IN_NEW_NAMESPACE[..], &offline].concat(), Path::new("/nonexistent"));
    assert!(output.status.success(), "{}", utf8(&output.stderr));
    let printed = utf8(&output.stdout);
    let kinds: Vec<_> = printed.lines().filter_map(|line| line.strip_prefix("kind: ")).collect();
    assert_eq!(
        kinds,
        ["Namespace", "ConfigMap", "Deployment", "Service", "CatalogSource", "OperatorGroup", "Subscription"]
    );
}

#[test]
fn cluster_that_does_not_answer_times_out() {
    let directory = tempfile::tempdir().unwrap();
    let kubeconfig = directory.path().join("kubeconfig");
    // Nobody accepts what connects.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let config = format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: c\nclusters: [{{name: c, cluster: {{server: 'http://{}'}}}}]\n\
         contexts: [{{name: c, context: {{cluster: c, user: c}}}}]\nusers: [{{name: c, user: {{}}}}]\n",
        listener.local_addr().unwrap()
    );
    std::fs::write(&kubeconfig, config).unwrap();
    for command in [&["doctor"][..], &["olm", "status"]] {
        let output = tool(&[command, &["--timeout", "1s"]].concat(), &kubeconfig);
        assert_eq!(output.status.code(), Some(2));
        assert_eq!(
            utf8(&output.stderr),
            "error: reading the cluster took longer than 1 s; check the API server, or set a longer --timeout\n"
        );
    }
    // With the time for everything, nothing has more time than that.
    for (command, expected) in [
        (&["run", "bundle", "tests/fixtures/bundle", "-n", "gizmos"][..], "nothing was created"),
        (&["olm", "uninstall"], "nothing was removed"),
        (&["cleanup", "gizmo", "-n", "gizmos"], "nothing was deleted"),
    ] {
        let output = tool(&[command, &["--timeout", "1s"]].concat(), &kubeconfig);
        let err = utf8(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{err}");
        let expected = format!("error: timed out after 1 s, and {expected}; set a longer --timeout\n");
        assert!(err.ends_with(&expected), "{err}");
    }
}

#[test]
fn run_bundle_rejects_labels_that_differ_from_annotations() {
    let directory = tempfile::tempdir().unwrap();
    let layout = format!("oci:{}", directory.path().join("layout").display());
    let labels: Vec<String> = [
        ("package.v1", "another"),
        ("channels.v1", "stable"),
        ("mediatype.v1", "registry+v1"),
        ("manifests.v1", "manifests/"),
        ("metadata.v1", "metadata/"),
    ]
    .iter()
    .map(|(name, value)| format!("--label=operators.operatorframework.io.bundle.{name}={value}"))
    .collect();
    let mut arguments = vec![
        "push",
        "image",
        "quay.io/example/gizmo:v1",
        "--platform",
        "linux/amd64",
        "--to",
        &layout,
        "tests/fixtures/bundle/manifests=/manifests",
        "tests/fixtures/bundle/metadata=/metadata",
    ];
    arguments.extend(labels.iter().map(String::as_str));
    let none = Path::new("/nonexistent");
    let output = tool(&arguments, none);
    assert!(output.status.success(), "{}", utf8(&output.stderr));
    let arguments = ["run", "bundle", &layout, "-n", "gizmos", "--dry-run=client", "--opm-image", "opm"];
    let output = tool(&arguments, none);
    assert_eq!(output.status.code(), Some(2));
    let err = utf8(&output.stderr).replace(&layout, "LAYOUT");
    assert_eq!(
        err.lines().last().unwrap(),
        "error: label `operators.operatorframework.io.bundle.package.v1` of LAYOUT is `another`, but \
         metadata/annotations.yaml has `gizmo-operator`; push the bundle again with `bundle-tool push bundle`"
    );
}

#[test]
fn doctor_reads_a_must_gather() {
    let gather = |arguments: &[&str]| {
        tool(&[&["doctor", "--must-gather"], arguments].concat(), Path::new("/nonexistent"))
    };
    let directory = tempfile::tempdir().unwrap();
    let namespace = directory.path().join("namespaces/ns");
    std::fs::create_dir_all(&namespace).unwrap();
    std::fs::copy("../crates/olm-cluster/tests/fixtures/cluster/crash.json", namespace.join("all.json"))
        .unwrap();
    std::fs::write(namespace.join("broken.yaml"), "a: [").unwrap();
    std::os::unix::fs::symlink("nowhere", namespace.join("dangling.yaml")).unwrap();
    std::os::unix::fs::symlink("/dev/zero", namespace.join("device.yaml")).unwrap();
    let path = directory.path().display().to_string();
    let output = gather(&[&path]);
    assert_eq!(output.status.code(), Some(1), "{}", utf8(&output.stderr));
    let err = utf8(&output.stderr);
    assert!(err.starts_with("warning: skipped a file: "), "{err}");
    for name in ["broken.yaml", "dangling.yaml", "device.yaml"] {
        assert!(err.contains(name), "{err}");
    }
    insta::assert_snapshot!("doctor-must-gather", utf8(&output.stdout));
    let output = gather(&[&path, "-o", "json", "gizmo-crash"]);
    let found: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(found["problems"][0]["reason"], "container-crashes");
    // With the log of the container, where must-gather puts it.
    let problem = &found["problems"][0];
    let pod = problem["object"].as_str().unwrap().split('`').nth(1).unwrap().rsplit('/').next().unwrap();
    let logs = namespace.join(format!("pods/{pod}/manager/manager/logs"));
    std::fs::create_dir_all(&logs).unwrap();
    std::fs::write(logs.join("current.log"), "\n").unwrap();
    let lines: String = (0..5000).map(|line| format!("line {line}\n")).collect();
    std::fs::write(logs.join("previous.log"), lines + "no such flag\n").unwrap();
    let output = utf8(&gather(&[&path]).stdout);
    assert!(output.contains("| no such flag") && output.contains("| line 4991"), "{output}");
    assert!(!output.contains("line 4990"), "{output}");
    // A link out of the must-gather.
    std::fs::write(directory.path().with_extension("secret"), "password\n").unwrap();
    std::fs::remove_file(logs.join("previous.log")).unwrap();
    std::os::unix::fs::symlink(directory.path().with_extension("secret"), logs.join("previous.log")).unwrap();
    std::fs::remove_file(logs.join("current.log")).unwrap();
    std::os::unix::fs::symlink(directory.path().with_extension("secret"), logs.join("current.log")).unwrap();
    let output = utf8(&gather(&[&path]).stdout);
    std::fs::remove_file(directory.path().with_extension("secret")).unwrap();
    assert!(!output.contains("password"), "{output}");
    let output = gather(&[&path, "another"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(utf8(&output.stderr).contains("no subscription or cluster extension for package `another`"));
    let empty = tempfile::tempdir().unwrap();
    let output = gather(&[&empty.path().display().to_string()]);
    assert_eq!(output.status.code(), Some(2));
    assert!(utf8(&output.stderr).contains("contains no objects"));
}

/// A cluster with OLM v1, where every object becomes ready; `is_there` is whether bundle-tool has installed the gizmo operator.
fn olm_v1(is_there: bool) -> ApiServer {
    olm_v1_after(0, is_there)
}

/// The same, where the API server closes the connections of a number of writes before.
fn olm_v1_after(unavailable: usize, is_there: bool) -> ApiServer {
    let unavailable = AtomicUsize::new(unavailable);
    let deleted = std::sync::Mutex::new(std::collections::BTreeSet::new());
    ApiServer::start(move |request, body| {
        let (method, path) = request.split_once(' ').unwrap();
        let labels = json!({"app.kubernetes.io/managed-by": "bundle-tool", "app.kubernetes.io/part-of": "gizmo-operator"});
        let name = path.rsplit('/').next().unwrap();
        let object = json!({
            "metadata": {"name": name, "generation": 1, "labels": labels}, "spec": {"namespace": "gizmos"},
            "status": {"install": {"bundle": {"name": "gizmo-operator.v1.2.0"}}, "conditions": [
                {"type": "Serving", "status": "True"}, {"type": "Installed", "status": "True"}]}});
        let missing = (404, json!({"message": "not found"}));
        match (method, path) {
            ("GET", "/apis/olm.operatorframework.io/v1") => {
                (200, json!({"resources": [{"name": "clustercatalogs"}, {"name": "clusterextensions"}]}))
            }
            ("GET", "/api/v1/namespaces/gizmos") => (200, object),
            ("GET", "/apis/olm.operatorframework.io/v1/clusterextensions") if is_there => {
                let mut one = object;
                one["metadata"]["name"] = "gizmo-operator".into();
                (200, json!({"items": [one]}))
            }
            ("GET", "/apis/olm.operatorframework.io/v1/clustercatalogs") if is_there => {
                let mut one = object;
                one["metadata"]["name"] = "gizmo-operator-catalog".into();
                (200, json!({"items": [one]}))
            }
            ("PATCH", _)
                if unavailable
                    .try_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1))
                    .is_ok() =>
            {
                (0, json!(null))
            }
            ("DRY-RUN", _) => (200, serde_json::from_str(body).unwrap()),
            ("PATCH", _) => {
                let applied: serde_json::Value = serde_json::from_str(body).unwrap();
                deleted.lock().unwrap().insert(format!("applied {name}"));
                (200, applied)
            }
            ("DELETE", _) => {
                deleted.lock().unwrap().insert(name.to_owned());
                (200, object)
            }
            ("GET", path) if path.starts_with("/apis/olm.operatorframework.io/v1/") => {
                let seen = deleted.lock().unwrap();
                let exists = is_there || seen.contains(&format!("applied {name}"));
                if exists && !seen.contains(name) { (200, object) } else { missing }
            }
            ("GET", path) if path.ends_with('s') => (200, json!({"items": []})),
            _ => missing,
        }
    })
}

#[test]
fn olm_v1_installs_from_what_is_pushed() {
    let directory = tempfile::tempdir().unwrap();
    let kubeconfig = directory.path().join("kubeconfig");
    let server = olm_v1(false);
    server.kubeconfig(&kubeconfig);
    let registry = Registry::start(directory.path());
    let push_to = format!("{}/gizmo-bundle", registry.address);
    let arguments = [
        "run",
        "bundle",
        "tests/fixtures/bundle",
        "--olm",
        "v1",
        "-n",
        "gizmos",
        "--push-to",
        &push_to,
        "--use-http",
    ];
    let output = tool(&[&arguments[..], &["--install-mode", "SingleNamespace=team-a"]].concat(), &kubeconfig);
    let err = utf8(&output.stderr);
    assert!(output.status.success(), "{err}");
    assert_eq!(utf8(&output.stdout), "gizmo-operator.v1.2.0 is installed in namespace gizmos by OLM v1\n");
    let writes: Vec<String> =
        server.requests().into_iter().filter(|request| request.starts_with("PATCH ")).collect();
    assert_eq!(
        writes,
        [
            "PATCH /apis/olm.operatorframework.io/v1/clustercatalogs/gizmo-operator-catalog",
            "PATCH /apis/olm.operatorframework.io/v1/clusterextensions/gizmo-operator",
        ]
    );
    // An image of a registry is pushed to another repository.
    let (image, copy) = (format!("{push_to}:v1.2.0"), format!("{}/copy", registry.address));
    let arguments =
        ["run", "bundle", &image, "--olm", "v1", "-n", "gizmos", "--push-to", &copy, "--use-http"];
    let output = tool(&[&arguments[..], &["--install-mode", "OwnNamespace"]].concat(), &kubeconfig);
    assert!(output.status.success(), "{}", utf8(&output.stderr));
    let rendered = tool(&["render", &format!("{copy}:v1.2.0"), "--plain-http"], &kubeconfig);
    assert!(rendered.status.success(), "{}", utf8(&rendered.stderr));
}

#[test]
fn unavailable_api_server_is_retried_and_reported_once() {
    let directory = tempfile::tempdir().unwrap();
    let kubeconfig = directory.path().join("kubeconfig");
    olm_v1_after(3, false).kubeconfig(&kubeconfig);
    let registry = Registry::start(directory.path());
    let push_to = format!("{}/gizmo-bundle", registry.address);
    let arguments =
        ["run", "bundle", "tests/fixtures/bundle", "--olm", "v1", "-n", "gizmos", "--push-to", &push_to];
    let output = tool(
        &[&arguments[..], &["--use-http", "--install-mode", "SingleNamespace=team-a"]].concat(),
        &kubeconfig,
    );
    let err = utf8(&output.stderr);
    assert!(output.status.success(), "{err}");
    let reported = err.lines().filter(|line| line.contains("; trying again")).count();
    assert_eq!(reported, 1, "{err}");
}

/// A cluster on which OLM v1 has installed the gizmo operator 1.2.0 with a configuration, and installs whatever is applied.
/// What is applied is appended to the list.
fn olm_v1_with_gizmo(applied: std::sync::Arc<std::sync::Mutex<Vec<serde_json::Value>>>) -> ApiServer {
    ApiServer::start(move |request, body| {
        let (method, path) = request.split_once(' ').unwrap();
        let name = path.rsplit('/').next().unwrap();
        let labels = json!({"app.kubernetes.io/managed-by": "bundle-tool", "app.kubernetes.io/part-of": "gizmo-operator"});
        let mut applied = applied.lock().unwrap();
        let version = applied
            .iter()
            .find(|one| one["kind"] == "ClusterExtension")
            .map_or("1.2.0", |one| one["spec"]["source"]["catalog"]["version"].as_str().unwrap());
        let object = json!({
            "metadata": {"name": name, "labels": labels},
            "spec": {"namespace": "gizmos", "config": {"configType": "Inline", "inline": {"watchNamespace": "team-a"}}},
            "status": {"install": {"bundle": {"name": format!("gizmo-operator.v{version}")}}, "conditions": [
                {"type": "Serving", "status": "True"}, {"type": "Installed", "status": "True"}]}});
        match (method, path) {
            ("GET", "/apis/olm.operatorframework.io/v1") => {
                (200, json!({"resources": [{"name": "clustercatalogs"}, {"name": "clusterextensions"}]}))
            }
            ("DRY-RUN", _) => (200, serde_json::from_str(body).unwrap()),
            ("PATCH", _) => {
                let object: serde_json::Value = serde_json::from_str(body).unwrap();
                applied.push(object.clone());
                (200, object)
            }
            // With a field that the new version does not have.
            ("GET", path) if path.contains("customresourcedefinitions") => {
                let crd =
                    std::fs::read("tests/fixtures/bundle/manifests/gizmos.gadgets.example.com.crd.yaml")
                        .unwrap();
                let documents = olm_model::read::manifests::stream("crd", &*crd).unwrap();
                let mut crd = documents[0].tree.root().to_json();
                let schema = &mut crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
                schema["properties"]["spec"]["properties"]["weight"] = json!({"type": "integer"});
                (200, crd)
            }
            _ => (200, object),
        }
    })
}

#[test]
fn olm_v1_upgrades_what_it_installed() {
    let directory = tempfile::tempdir().unwrap();
    let kubeconfig = directory.path().join("kubeconfig");
    let applied = std::sync::Arc::default();
    olm_v1_with_gizmo(std::sync::Arc::clone(&applied)).kubeconfig(&kubeconfig);
    let registry = Registry::start(directory.path());
    let bundle = copy_bundle(directory.path().join("bundle"));
    let csv = bundle.join("manifests/gizmo-operator.clusterserviceversion.yaml");
    std::fs::write(&csv, std::fs::read_to_string(&csv).unwrap().replace("1.2.0", "1.3.0")).unwrap();
    let (bundle, push_to) = (bundle.display().to_string(), format!("{}/gizmo-bundle", registry.address));
    let upgrade = [
        "run",
        "bundle-upgrade",
        &bundle,
        "--olm",
        "v1",
        "--push-to",
        &push_to,
        "--use-http",
        "-n",
        "gizmos",
    ];
    let output = tool(&upgrade, &kubeconfig);
    let err = utf8(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{err}");
    assert!(
        err.contains("weight") && err.contains("OLM v1 rejects the upgrade because of its CRDs"),
        "{err}"
    );
    assert!(applied.lock().unwrap().is_empty());
    let output = tool(&[&upgrade[..], &["--force"]].concat(), &kubeconfig);
    assert!(output.status.success(), "{}", utf8(&output.stderr));
    assert_eq!(utf8(&output.stdout), "gizmo-operator.v1.3.0 is installed in namespace gizmos by OLM v1\n");
    let extension = applied.lock().unwrap().pop().unwrap();
    assert_eq!(extension["spec"]["source"]["catalog"]["version"], "1.3.0");
    assert_eq!(extension["spec"]["config"]["inline"], json!({"watchNamespace": "team-a"}));
    assert_eq!(extension["spec"]["install"]["preflight"]["crdUpgradeSafety"]["enforcement"], "None");
    // The catalog permits the upgrade from the installed bundle.
    let index = format!("{push_to}:v1.3.0-index");
    let rendered = tool(&["render", &index, "--plain-http"], &kubeconfig);
    assert!(
        utf8(&rendered.stdout).contains(r#""replaces": "gizmo-operator.v1.2.0""#),
        "{}",
        utf8(&rendered.stderr)
    );
    let output = tool(&[&upgrade[..9], &["other"]].concat(), &kubeconfig);
    assert!(
        utf8(&output.stderr)
            .contains("package `gizmo-operator` is installed in namespace `gizmos`, not in `other`"),
        "{}",
        utf8(&output.stderr)
    );
}

#[test]
fn failed_olm_v1_install_suggests_removal_of_new_installations_only() {
    let directory = tempfile::tempdir().unwrap();
    let kubeconfig = directory.path().join("kubeconfig");
    let registry = Registry::start(directory.path());
    let push_to = format!("{}/gizmo-bundle", registry.address);
    let bundle = copy_bundle(directory.path().join("bundle"));
    let csv = bundle.join("manifests/gizmo-operator.clusterserviceversion.yaml");
    std::fs::write(&csv, std::fs::read_to_string(&csv).unwrap().replace("1.2.0", "1.3.0")).unwrap();
    let bundle = bundle.display().to_string();
    for (command, is_there, expected) in [
        (
            "bundle",
            false,
            "note: created and not removed: ClusterCatalog `gizmo-operator-catalog`, ClusterExtension `gizmo-operator`\n\
             help: remove the installation with `bundle-tool cleanup gizmo-operator -n gizmos --delete-crds`, or run the same \
             command again to continue\n",
        ),
        (
            "bundle-upgrade",
            true,
            "note: changed and not reverted: ClusterCatalog `gizmo-operator-catalog`, ClusterExtension `gizmo-operator`\n\
             help: run the same command again to continue, or find the cause with `bundle-tool doctor gizmo-operator -n gizmos`\n",
        ),
    ] {
        let is_applied = AtomicBool::new(false);
        let server = ApiServer::start(move |request, body| {
            let (method, path) = request.split_once(' ').unwrap();
            let name = path.rsplit('/').next().unwrap();
            let labels = json!({"app.kubernetes.io/managed-by": "bundle-tool", "app.kubernetes.io/part-of": "gizmo-operator"});
            if method == "PATCH" {
                is_applied.store(true, Ordering::Relaxed);
            }
            let is_applied = is_applied.load(Ordering::Relaxed);
            let progressing = if is_applied { "Blocked" } else { "Succeeded" };
            let object = json!({
                "metadata": {"name": name, "labels": labels}, "spec": {"namespace": "gizmos"},
                "status": {"install": {"bundle": {"name": "gizmo-operator.v1.2.0"}}, "conditions": [
                    {"type": "Serving", "status": "True"},
                    {"type": "Progressing", "reason": progressing, "message": "no"}]}});
            match (method, path) {
                ("GET", "/apis/olm.operatorframework.io/v1") => {
                    (200, json!({"resources": [{"name": "clustercatalogs"}, {"name": "clusterextensions"}]}))
                }
                ("DRY-RUN", _) => (200, serde_json::from_str(body).unwrap()),
                ("PATCH", _) => (if is_there { 200 } else { 201 }, serde_json::from_str(body).unwrap()),
                ("GET", "/api/v1/namespaces/gizmos") => (200, object),
                ("GET", path) if path.contains("olm.operatorframework.io") && (is_there || is_applied) => {
                    (200, object)
                }
                _ => (404, json!({"message": "not found"})),
            }
        });
        server.kubeconfig(&kubeconfig);
        let arguments =
            ["run", command, &bundle, "--olm", "v1", "-n", "gizmos", "--push-to", &push_to, "--use-http"];
        let output = tool(&arguments, &kubeconfig);
        let err = utf8(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{err}");
        assert!(
            err.ends_with(&format!("{expected}error: gizmo-operator.v1.3.0 is not installed\n")),
            "{err}"
        );
    }
}

#[test]
fn olm_v1_checks_before_it_creates_anything() {
    let directory = tempfile::tempdir().unwrap();
    let kubeconfig = directory.path().join("kubeconfig");
    let without = ApiServer::start(|_, _| (404, json!({"message": "not found"})));
    let run = ["run", "bundle", "tests/fixtures/bundle", "--olm", "v1", "-n", "gizmos"];
    let pushed = ["--push-to", "127.0.0.1:1/gizmo-bundle"];
    let foreign = ApiServer::start(|request, _| match request {
        "GET /apis/olm.operatorframework.io/v1" => {
            (200, json!({"resources": [{"name": "clustercatalogs"}, {"name": "clusterextensions"}]}))
        }
        _ => (200, json!({"metadata": {"name": "gizmo-operator"}})),
    });
    for (server, arguments, expected) in [
        (&without, &pushed[..], "the cluster has no OLM v1"),
        (&without, &[], "--olm v1 requires --push-to"),
        (
            &without,
            &["--push-to", "127.0.0.1:1/a", "--install-mode", "MultiNamespace=a,b"],
            "does not support install mode",
        ),
        (
            &without,
            &["--push-to", "127.0.0.1:1/a", "--index-image", "b"],
            "--index-image applies to OLM v0 only",
        ),
        (
            &foreign,
            &pushed,
            "ClusterExtension `gizmo-operator` already exists and was not created by bundle-tool",
        ),
    ] {
        server.kubeconfig(&kubeconfig);
        let output = tool(&[&run[..], arguments].concat(), &kubeconfig);
        let err = utf8(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{err}");
        assert_eq!(err.lines().filter(|line| line.starts_with("error: ")).count(), 1, "{err}");
        assert!(err.contains(expected) && output.stdout.is_empty(), "{arguments:?}: {err}");
        assert!(
            server.requests().iter().all(|request| request.starts_with("GET ")),
            "{:?}",
            server.requests()
        );
    }
    let arguments = [&run[..], &pushed, &["--create-namespace", "--dry-run=client"]].concat();
    let output = tool(&arguments, Path::new("/nonexistent"));
    let printed = utf8(&output.stdout);
    let kinds: Vec<_> = printed.lines().filter_map(|line| line.strip_prefix("kind: ")).collect();
    assert_eq!(kinds, ["Namespace", "ClusterCatalog", "ClusterExtension"], "{}", utf8(&output.stderr));
}

#[test]
fn cleanup_removes_olm_v1_installations_only_with_their_crds() {
    let directory = tempfile::tempdir().unwrap();
    let kubeconfig = directory.path().join("kubeconfig");
    let server = olm_v1(true);
    server.kubeconfig(&kubeconfig);
    let cleanup = ["cleanup", "gizmo-operator", "-n", "gizmos"];
    let deletions = || {
        let requests = server.requests().into_iter();
        requests.filter(|request| !request.starts_with("GET ")).collect::<Vec<_>>()
    };
    let output = tool(&cleanup, &kubeconfig);
    assert_eq!(output.status.code(), Some(2));
    assert!(utf8(&output.stderr).contains("pass --delete-crds to delete them") && deletions().is_empty());
    let output = tool(&[&cleanup[..], &["--delete-crds", "--output", "json"]].concat(), &kubeconfig);
    assert!(output.status.success(), "{}", utf8(&output.stderr));
    insta::assert_snapshot!("cleanup-json", utf8(&output.stdout));
    assert_eq!(
        deletions(),
        [
            "DELETE /apis/olm.operatorframework.io/v1/clusterextensions/gizmo-operator",
            "DELETE /apis/olm.operatorframework.io/v1/clustercatalogs/gizmo-operator-catalog",
        ]
    );
}

/// A cluster with OLM and without objects, where the user may create anything but one kind.
fn olm_v0(denied: &'static str) -> ApiServer {
    olm_v0_on("v1.34.1", denied)
}

/// As [`olm_v0`], on a version of Kubernetes.
fn olm_v0_on(version: &'static str, denied: &'static str) -> ApiServer {
    ApiServer::start(move |request, body| {
        let names = |names: &[&str]| names.iter().map(|name| json!({"name": name})).collect::<Vec<_>>();
        match request {
            "GET /version" => (200, json!({"gitVersion": version})),
            "GET /apis" => (200, json!({"groups": names(&["operators.coreos.com"])})),
            "GET /apis/operators.coreos.com/v1alpha1" => {
                let kinds = ["catalogsources", "subscriptions", "installplans", "clusterserviceversions"];
                (200, json!({"resources": names(&kinds)}))
            }
            "GET /apis/apps/v1/deployments" => {
                let deployment = |name: &str| {
                    json!({
                        "metadata": {"name": name, "namespace": "olm", "labels": {"app": name}},
                        "status": {"availableReplicas": 1},
                    })
                };
                (200, json!({"items": [deployment("olm-operator"), deployment("catalog-operator")]}))
            }
            "POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews" => {
                let review: serde_json::Value = serde_json::from_str(body).unwrap();
                let attributes = &review["spec"]["resourceAttributes"];
                let allowed = attributes["resource"] != denied || attributes["namespace"] != "gizmos";
                (201, json!({"status": {"allowed": allowed}}))
            }
            request if request.starts_with("GET ") => (200, json!({"items": []})),
            _ => (500, json!({"message": "unexpected"})),
        }
    })
}

#[test]
fn missing_permissions_are_reported_before_the_namespace_is_created() {
    let directory = tempfile::tempdir().unwrap();
    let kubeconfig = directory.path().join("kubeconfig");
    let server = olm_v0("deployments");
    server.kubeconfig(&kubeconfig);
    let output = tool(&IN_NEW_NAMESPACE, &kubeconfig);
    assert_eq!(output.status.code(), Some(2));
    insta::assert_snapshot!(
        utf8(&output.stderr)
            .lines()
            .skip_while(|line| !line.starts_with("error"))
            .collect::<Vec<_>>()
            .join("\n")
    );
    let writes: Vec<_> =
        server.requests().into_iter().filter(|request| request.starts_with("PATCH ")).collect();
    assert!(writes.is_empty(), "{writes:?}");
}

#[test]
fn run_bundle_validates_for_the_version_of_the_cluster() {
    let directory = tempfile::tempdir().unwrap();
    let kubeconfig = directory.path().join("kubeconfig");
    let bundle = copy_bundle(directory.path().join("bundle"));
    let crd = bundle.join("manifests/gizmos.gadgets.example.com.crd.yaml");
    let text_of_crd = std::fs::read_to_string(&crd).unwrap();
    // Kubernetes accepts this rule since 1.34.
    let rule =
        "color: {x-kubernetes-validations: [{rule: 'isSemver(self) || true', message: x}], type: string,";
    std::fs::write(&crd, text_of_crd.replacen("color: {type: string,", rule, 1)).unwrap();
    let name = bundle.display().to_string();
    let run = |version| {
        let server = olm_v0_on(version, "deployments");
        server.kubeconfig(&kubeconfig);
        let mut arguments = IN_NEW_NAMESPACE;
        arguments[2] = &name;
        let output = tool(&arguments, &kubeconfig);
        assert_eq!(output.status.code(), Some(2));
        utf8(&output.stderr)
    };
    let rejected = run("v1.33.7-gke.1");
    assert!(
        rejected.contains("error[schema-rule-invalid]") && rejected.contains("was not installed"),
        "{rejected}"
    );
    let accepted = run("v1.34.1+k3s1");
    assert!(!accepted.contains("schema-rule-invalid"), "{accepted}");
    assert!(accepted.contains("you are not allowed to create deployments"), "{accepted}");
}

/// Returns whether the registry below a directory has the repository of the bundle.
fn is_pushed(directory: &Path) -> bool {
    let entries = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    entries.filter(|path| path.is_dir()).any(|path| path.ends_with("gizmo-bundle") || is_pushed(&path))
}

/// Fails unless a command failed with this in its last line, and pushed nothing to the registry.
fn assert_nothing_pushed(output: &Output, last: &str, directory: &Path) {
    let err = utf8(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{err}");
    assert!(err.lines().last().unwrap().contains(last), "{err}");
    assert!(!err.contains("pushed and not removed"), "{err}");
    assert!(!is_pushed(directory), "{err}");
}

#[test]
fn run_bundle_checks_before_it_pushes() {
    let directory = tempfile::tempdir().unwrap();
    let kubeconfig = directory.path().join("kubeconfig");
    let registry = Registry::start(directory.path());
    let push_to = format!("{}/gizmo-bundle", registry.address);
    let arguments = ["--push-to", &push_to, "--use-http"];
    let server = olm_v0("catalogsources");
    server.kubeconfig(&kubeconfig);
    let output = tool(&[&IN_NEW_NAMESPACE[..], &arguments].concat(), &kubeconfig);
    let denied = "nothing was created: you are not allowed to create catalogsources.operators.coreos.com in namespace `gizmos`";
    assert_nothing_pushed(&output, denied, directory.path());
    // OLM v1 on a cluster that rejects the catalog.
    let server = ApiServer::start(|request, _| match request.split_once(' ').unwrap() {
        ("GET", "/apis/olm.operatorframework.io/v1") => {
            (200, json!({"resources": [{"name": "clustercatalogs"}, {"name": "clusterextensions"}]}))
        }
        ("GET", "/api/v1/namespaces/gizmos") => (200, json!({"metadata": {"name": "gizmos"}})),
        ("DRY-RUN", path) if path.contains("/clustercatalogs/") => (422, json!({"message": "no such field"})),
        ("DRY-RUN" | "PATCH", _) => (200, json!({"metadata": {}})),
        _ => (404, json!({"message": "not found"})),
    });
    server.kubeconfig(&kubeconfig);
    let run = ["run", "bundle", "tests/fixtures/bundle", "--olm", "v1", "-n", "gizmos"];
    let output = tool(&[&run[..], &["--install-mode", "OwnNamespace"], &arguments].concat(), &kubeconfig);
    let rejected =
        "nothing was created: failed to create ClusterCatalog `gizmo-operator-catalog`: no such field";
    assert_nothing_pushed(&output, rejected, directory.path());
    let requests = server.requests();
    assert!(requests.iter().all(|request| !request.starts_with("PATCH ")), "{requests:?}");
    assert!(requests.iter().any(|request| request.ends_with("selfsubjectaccessreviews")), "{requests:?}");
}

#[test]
fn failed_installation_names_pushed_images() {
    let directory = tempfile::tempdir().unwrap();
    let kubeconfig = directory.path().join("kubeconfig");
    let registry = Registry::start(directory.path());
    let push_to = format!("{}/gizmo-bundle", registry.address);
    let server = ApiServer::start(|request, body| match request.split_once(' ').unwrap() {
        ("GET", "/apis/olm.operatorframework.io/v1") => {
            (200, json!({"resources": [{"name": "clustercatalogs"}, {"name": "clusterextensions"}]}))
        }
        ("GET", "/api/v1/namespaces/gizmos") => (200, json!({"metadata": {"name": "gizmos"}})),
        ("DRY-RUN", _) => (200, serde_json::from_str(body).unwrap()),
        ("PATCH", _) => (403, json!({"message": "no"})),
        _ => (404, json!({"message": "not found"})),
    });
    server.kubeconfig(&kubeconfig);
    let run = ["run", "bundle", "tests/fixtures/bundle", "--olm", "v1", "-n", "gizmos"];
    let more = ["--install-mode", "OwnNamespace", "--push-to", &push_to, "--use-http"];
    let output = tool(&[&run[..], &more].concat(), &kubeconfig);
    let err = utf8(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{err}");
    let pushed = format!("note: pushed and not removed: {push_to}:v1.2.0, {push_to}:v1.2.0-index\n");
    let error = "error: failed to create ClusterCatalog `gizmo-operator-catalog`: no\n";
    assert!(err.ends_with(&format!("{pushed}{error}")) && is_pushed(directory.path()), "{err}");
}

/// A cluster with OLM's CRDs, until they are deleted; listing deployments has this status.
fn crds_of_olm(deployments: u16) -> ApiServer {
    let deleted = std::sync::Mutex::new(std::collections::BTreeSet::new());
    ApiServer::start(move |request, _| {
        let (method, path) = request.split_once(' ').unwrap();
        let mut deleted = deleted.lock().unwrap();
        match (method, path) {
            ("GET", "/apis/apps/v1/deployments") => (deployments, json!({"message": "no", "items": []})),
            ("GET", path) if path.ends_with("/customresourcedefinitions") => {
                let names = [
                    "catalogsources",
                    "clusterserviceversions",
                    "installplans",
                    "olmconfigs",
                    "operatorconditions",
                    "operatorgroups",
                    "operators",
                    "subscriptions",
                ];
                let names = names.map(|name| format!("{name}.operators.coreos.com"));
                let names = names.iter().filter(|name| !deleted.contains(&format!("{path}/{name}")));
                let items: Vec<_> = names.map(|name| json!({"metadata": {"name": name}})).collect();
                (200, json!({"items": items}))
            }
            ("GET", path) if path.ends_with('s') => (200, json!({"items": []})),
            ("DELETE", _) => {
                deleted.insert(path.to_owned());
                (200, json!({}))
            }
            _ => (404, json!({"message": "not found"})),
        }
    })
}

#[test]
fn olm_uninstall_keeps_an_unknown_namespace() {
    let directory = tempfile::tempdir().unwrap();
    let kubeconfig = directory.path().join("kubeconfig");
    for status in [403, 500] {
        let server = crds_of_olm(status);
        server.kubeconfig(&kubeconfig);
        let output = tool(&["olm", "uninstall"], &kubeconfig);
        assert_eq!(output.status.code(), Some(2));
        assert_eq!(
            utf8(&output.stderr),
            "error: the state of OLM cannot be read: Deployment: failed to list deployments: no\n"
        );
        let requests = server.requests();
        assert!(requests.iter().all(|request| request.starts_with("GET ")), "{requests:?}");
    }
    let server = crds_of_olm(200);
    server.kubeconfig(&kubeconfig);
    let output = tool(&["olm", "uninstall"], &kubeconfig);
    let err = utf8(&output.stderr);
    assert!(output.status.success(), "{err}");
    let note = "note: the cluster has no deployment of OLM, so its namespace is unknown and is not removed\n";
    assert!(err.contains(note), "{err}");
    let requests = server.requests();
    let deleted = |path: &str| requests.iter().any(|request| request.starts_with(&format!("DELETE {path}")));
    assert!(deleted("/apis/apiextensions.k8s.io/") && !deleted("/api/v1/namespaces/"), "{requests:?}");
}

#[test]
fn doctor_says_what_it_skipped() {
    let directory = tempfile::tempdir().unwrap();
    let kubeconfig = directory.path().join("kubeconfig");
    let server = ApiServer::start(|request, _| match request.split_once(' ').unwrap().1 {
        "/apis" => (200, json!({"groups": [{"name": "operators.coreos.com"}]})),
        "/apis/operators.coreos.com/v1alpha1/namespaces/gizmos/subscriptions" => {
            let subscription = |index: usize| {
                json!({
                    "metadata": {"name": format!("s{index}"), "namespace": "gizmos"},
                    "spec": {"name": "gizmo", "sourceNamespace": format!("catalogs-{index}")},
                })
            };
            (200, json!({"items": (0..22).map(subscription).collect::<Vec<_>>()}))
        }
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions" => {
            (200, json!({"metadata": {"continue": "more"}, "items": [{"metadata": {"name": "a"}}]}))
        }
        _ => (200, json!({"items": []})),
    });
    server.kubeconfig(&kubeconfig);
    let output = tool(&["doctor", "-n", "gizmos"], &kubeconfig);
    let out = utf8(&output.stdout);
    for expected in [
        "note: not all Pod objects could be read: skipped the pods of catalogs in `catalogs-8`, `catalogs-9`\n",
        "note: not all CustomResourceDefinition objects could be read: failed to list customresourcedefinitions: only the first \
         16 objects were read, and there are more\n",
    ] {
        assert!(out.contains(expected), "{out}{}", utf8(&output.stderr));
    }
}

#[test]
fn status_of_a_cluster_without_olm_is_a_document() {
    let directory = tempfile::tempdir().unwrap();
    let kubeconfig = directory.path().join("kubeconfig");
    let server = ApiServer::start(|_, _| (200, json!({"items": []})));
    server.kubeconfig(&kubeconfig);
    let output = tool(&["olm", "status", "--output", "json"], &kubeconfig);
    assert_eq!(output.status.code(), Some(1), "{}", utf8(&output.stderr));
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        [&document["version"], &document["installed"], &document["olmVersion"], &document["namespace"]],
        [&json!(1), &json!(false), &json!(null), &json!(null)]
    );
}

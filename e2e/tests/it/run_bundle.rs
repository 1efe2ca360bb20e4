//! `run bundle`, `doctor` and `cleanup`: installations that succeed, and what is said of each way to fail.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use e2e::{Cluster, Namespace, Programs, Registry, Restarter, TIMEOUT, skip, wait_for};
use futures::{StreamExt as _, stream};
use kube::api::ListParams;
use serde_json::{Value, json};

const V1ALPHA1: &str = "operators.coreos.com/v1alpha1";

/// The number of cases that run at the same time.
const PARALLEL: usize = 3;

/// A certificate authority that has signed nothing, as base64 of PEM.
const ANOTHER_AUTHORITY: &str = "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCk1JSUJlekNDQVNHZ0F3SUJBZ0lVTGxvKzZCSVN2NUJ0NU40QXRVeWh1YTZrNkxB\
    d0NnWUlLb1pJemowRUF3SXcKRWpFUU1BNEdBMVVFQXd3SFlXNXZkR2hsY2pBZ0Z3MHlOakV4TWpJeE1UVTNNemRhR0E4eU1USTJN\
    VEF5T1RFeApOVGN6TjFvd0VqRVFNQTRHQTFVRUF3d0hZVzV2ZEdobGNqQlpNQk1HQnlxR1NNNDlBZ0VHQ0NxR1NNNDlBd0VICkEw\
    SUFCSXBERURHTnNIVEtCelIyS2dweVF5YUV0R1EyLzJhSHlFeDZjRG5ETlBHc2dkblk3WW5Xb3E0ZWR6dzMKdUhsS3llNWJ4Tmxu\
    cXlDWGxQV21iZ21tNFUralV6QlJNQjBHQTFVZERnUVdCQlNjaXhyWHJsQ1ZUc1ZGdVViagpYbnc3b3Z0U016QWZCZ05WSFNNRUdE\
    QVdnQlNjaXhyWHJsQ1ZUc1ZGdVVialhudzdvdnRTTXpBUEJnTlZIUk1CCkFmOEVCVEFEQVFIL01Bb0dDQ3FHU000OUJBTUNBMGdB\
    TUVVQ0lGSlpsdXRDdThieHpzMDBDSlBuNGtCUUpqVVQKOW9GSDNSU1V2RGJEMEJoT0FpRUF2S2lmYVRtaTdTME9CSTJrc2pkbXZC\
    WDU2V1dER2dzb21XdDNoSFJRR2JBPQotLS0tLUVORCBDRVJUSUZJQ0FURS0tLS0tCg==";

/// What a run of the program printed.
struct Run {
    status: i32,
    out: String,
    err: String,
    seconds: f64,
}

async fn tool(programs: &Programs, arguments: &[&str]) -> Result<Run> {
    let start = Instant::now();
    let output = tokio::process::Command::new(programs.path("bundle-tool"))
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .await
        .context("failed to start bundle-tool")?;
    Ok(Run {
        status: output.status.code().unwrap_or(-1),
        out: String::from_utf8(output.stdout)?,
        err: String::from_utf8(output.stderr)?,
        seconds: start.elapsed().as_secs_f64(),
    })
}

/// A bundle of its own name, so that cases share no CRD.
struct Gizmo {
    directory: PathBuf,
    package: String,
}

impl Gizmo {
    /// Writes the bundle; `edits` are replaced in its manifests.
    fn write(name: &str, image: &str, edits: &[(&str, &str)]) -> Result<Self> {
        let source = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/bundles/gizmo"));
        let directory = std::env::temp_dir().join(format!("run-bundle-{name}-{}", std::process::id()));
        for file in ["manifests/csv.yaml", "manifests/crd.yaml", "metadata/annotations.yaml"] {
            let mut text = std::fs::read_to_string(source.join(file))?;
            for (old, new) in edits {
                text = text.replace(old, new);
            }
            text = text
                .replace("OPERATOR_IMAGE", image)
                .replace("gizmo-operator", &format!("gizmo-{name}"))
                .replace("gadgets.example.com", &format!("{name}.example.com"));
            let target = directory.join(file);
            std::fs::create_dir_all(target.parent().context("no parent")?)?;
            std::fs::write(target, text)?;
        }
        Ok(Self { directory, package: format!("gizmo-{name}") })
    }

    fn path(&self) -> String {
        self.directory.display().to_string()
    }
}

impl Drop for Gizmo {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

/// A way to fail.
struct Case {
    /// Its name, which becomes part of the names of all objects.
    name: &'static str,
    /// What is done.
    fault: &'static str,
    /// Replacements in the bundle's manifests.
    edits: Vec<(&'static str, &'static str)>,
    /// Objects that exist before; `NAMESPACE` is replaced.
    before: Vec<Value>,
    /// Further arguments.
    arguments: Vec<String>,
    /// The Pod Security level of the namespace.
    level: &'static str,
    /// What `run bundle` says.
    says: &'static str,
    /// The reason that `doctor` gives; empty where nothing was created.
    reason: &'static str,
}

impl Case {
    fn new(name: &'static str, fault: &'static str, says: &'static str, reason: &'static str) -> Self {
        Self {
            name,
            fault,
            edits: Vec::new(),
            before: Vec::new(),
            arguments: Vec::new(),
            level: "baseline",
            says,
            reason,
        }
    }

    fn edit(mut self, old: &'static str, new: &'static str) -> Self {
        self.edits.push((old, new));
        self
    }

    fn before(mut self, object: Value) -> Self {
        self.before.push(object);
        self
    }

    fn argument(mut self, argument: impl Into<String>) -> Self {
        self.arguments.push(argument.into());
        self
    }
}

fn object(api_version: &str, kind: &str, name: &str, rest: &Value) -> Value {
    let mut object = json!({
        "apiVersion": api_version, "kind": kind, "metadata": {"name": name, "namespace": "NAMESPACE"},
    });
    if let (Some(object), Some(rest)) = (object.as_object_mut(), rest.as_object()) {
        object.extend(rest.clone());
    }
    object
}

fn cases(registry: &Registry) -> Vec<Case> {
    let group = |name: &str, spec: &Value| {
        object("operators.coreos.com/v1", "OperatorGroup", name, &json!({"spec": spec}))
    };
    let quota =
        |pods: &str| object("v1", "ResourceQuota", "pods", &json!({"spec": {"hard": {"pods": pods}}}));
    let secure = "securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}";
    let sleep = r#"command: [/bin/sleep, "100000"]"#;
    vec![
        Case::new("image", "image of the operator does not exist", "cannot pull image", "image-pull-failed")
            .edit("OPERATOR_IMAGE", "OPERATOR_IMAGE-missing"),
        Case::new("opm", "image of the catalog does not exist", "cannot pull image", "image-pull-failed")
            .argument(format!("--opm-image={}", registry.image("missing:v1"))),
        Case::new("crash", "operator exits at once", "| no such flag", "container-crashes")
            .edit(sleep, r#"command: [/bin/sh, -c, "echo no such flag; exit 3"]"#),
        Case::new("secret", "secret of the operator does not exist", "secret \"token\" not found", "container-not-created")
            .edit(sleep, "command: [/bin/sleep, \"100000\"]\n                env: [{name: A, valueFrom: {secretKeyRef: {name: token, key: a}}}]"),
        Case::new("program", "program of the operator does not exist", "cannot start container `manager`", "container-not-created")
            .edit("/bin/sleep", "/bin/none"),
        Case::new("node", "no node fits", "cannot be scheduled", "pod-unschedulable")
            .edit("terminationGracePeriodSeconds: 1", "terminationGracePeriodSeconds: 1\n              nodeSelector: {nowhere: \"true\"}"),
        Case::new("quota", "quota of 0 pods", "exceeded quota", "").before(quota("0")),
        Case::new("second", "quota of 1 pod", "exceeded quota", "quota-exceeded").before(quota("1")),
        Case {
            level: "restricted",
            ..Case::new("security", "namespace restricted, operator not", "violates PodSecurity", "")
                .edit(secure, "securityContext: {privileged: true}")
        },
        Case {
            level: "restricted",
            ..Case::new("privileged", "namespace restricted, operator not, --force", "violates PodSecurity", "pod-security-violation")
                .edit(secure, "securityContext: {privileged: true}")
                .argument("--force")
        },
        Case::new("webhook", "webhook without a server rejects pods", "failed calling webhook", "webhook-failed").before(json!({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
            "metadata": {"name": "run-bundle-e2e"},
            "webhooks": [{
                "name": "pods.example.com", "admissionReviewVersions": ["v1"], "sideEffects": "None",
                "clientConfig": {"service": {"name": "none", "namespace": "NAMESPACE"}},
                "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "NAMESPACE"}},
                "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}],
            }],
        })),
        Case::new("certificate", "webhook with the wrong certificate authority", "certificate signed by unknown authority", "webhook-failed").before(json!({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
            "metadata": {"name": "run-bundle-certificate"},
            "webhooks": [{
                "name": "pods.example.com", "admissionReviewVersions": ["v1"], "sideEffects": "None",
                "clientConfig": {
                    // OLM's, whose certificate is of another authority.
                    "service": {"name": "packageserver-service", "namespace": "olm", "port": 5443},
                    "caBundle": ANOTHER_AUTHORITY,
                },
                "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "NAMESPACE"}},
                "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}],
            }],
        })),
        Case::new("rights", "service account of the OperatorGroup has no permissions", "forbidden", "permission-denied")
            .before(object("v1", "ServiceAccount", "installer", &json!({})))
            .before(group("scoped", &json!({"serviceAccountName": "installer", "targetNamespaces": ["NAMESPACE"]}))),
        Case::new("groups", "two OperatorGroups", "has 2 OperatorGroups", "operator-groups-conflict")
            .before(group("one", &json!({})))
            .before(group("two", &json!({}))),
        Case::new("mode", "OperatorGroup for all namespaces, operator for its own", "requires install mode `AllNamespaces`", "")
            .before(group("all", &json!({})))
            .edit("{type: AllNamespaces, supported: true}", "{type: AllNamespaces, supported: false}"),
        Case::new("breaks", "CRD exists and its objects would be invalid", "breaks existing objects", "").before(json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": "gizmos.breaks.example.com"},
            "spec": {
                "group": "breaks.example.com", "scope": "Namespaced",
                "names": {"kind": "Gizmo", "plural": "gizmos"},
                "versions": [{
                    "name": "v1", "served": true, "storage": true,
                    "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": {"type": "string"}}}},
                }],
            },
        })),
        Case::new("invalid", "bundle is invalid", "is invalid and was not installed", "")
            .edit("strategy: deployment", "strategy: magic"),
        Case::new("crd", "required CRD does not exist", "requires CRD `parts.other.example.com`", "")
            .edit("    owned:\n", "    required:\n    - {name: parts.other.example.com, kind: Part, version: v1}\n    owned:\n"),
        Case::new("version", "required version of a CRD is not served", "requires version `v9` of CRD `subscriptions.operators.coreos.com`", "")
            .edit("    owned:\n", "    required:\n    - {name: subscriptions.operators.coreos.com, kind: Subscription, version: v9}\n    owned:\n"),
        Case::new("forced", "required CRD does not exist, --force", "cannot resolve subscription", "resolution-failed")
            .edit("    owned:\n", "    required:\n    - {name: parts.other.example.com, kind: Part, version: v1}\n    owned:\n")
            .argument("--force"),
        Case::new("index", "index image does not exist", "failed to read", "")
            .argument(format!("--index-image={}", registry.image("missing:v1"))),
    ]
}

/// The row of a case in the table, or why it failed. What it created is removed in either case, so that no other test meets it.
async fn fail(cluster: &Cluster, programs: &Programs, registry: &Registry, case: Case) -> Result<String> {
    let bundle = Gizmo::write(case.name, &registry.operand(), &case.edits)?;
    let namespace = cluster.namespace_for(&format!("run-{}", case.name), case.level).await?;
    for object in &case.before {
        let object: Value = serde_json::from_str(&object.to_string().replace("NAMESPACE", &namespace.name))?;
        cluster.apply(&object).await?;
        if object["kind"] == "ResourceQuota" {
            // Until the controller has written the status, no quota is enforced.
            let quotas = cluster.api("v1", "ResourceQuota", &namespace.name).await?;
            wait_for("the quota is enforced", TIMEOUT, async || {
                let quota = quotas.get("pods").await?;
                ensure!(quota.data["status"]["hard"]["pods"].is_string(), "it has no status");
                Ok(())
            })
            .await?;
        }
    }
    let row = explained(cluster, programs, registry, &case, &bundle, &namespace).await;
    let cleanup =
        tool(programs, &["cleanup", &bundle.package, "-n", &namespace.name, "--delete-crds"]).await?;
    for object in case.before.iter().filter(|object| object["metadata"]["namespace"].is_null()) {
        cluster.delete(object).await?;
    }
    namespace.delete().await?;
    let nothing = cleanup.err.contains("is not installed");
    let row = row?;
    ensure!(cleanup.status == 0 || nothing, "{}: cleanup: {}", case.name, cleanup.err);
    Ok(row)
}

/// What `run bundle` and `doctor` say of a case.
async fn explained(
    cluster: &Cluster,
    programs: &Programs,
    registry: &Registry,
    case: &Case,
    bundle: &Gizmo,
    namespace: &Namespace,
) -> Result<String> {
    let path = bundle.path();
    let mut arguments = vec!["run", "bundle", &path, "-n", &namespace.name, "--timeout", "3m"];
    arguments.extend(case.arguments.iter().map(String::as_str));
    arguments.extend(registry.flags());
    let run = tool(programs, &arguments).await?;
    let said = || format!("{}: status {}\n{}{}", case.name, run.status, run.out, run.err);
    ensure!(run.status == 2, "{}", said());
    ensure!(run.err.contains(case.says), "expected {:?}\n{}", case.says, said());
    ensure!(run.err.contains("help: ") || case.reason.is_empty(), "no help\n{}", said());
    record(cluster, &namespace.name, case.name).await?;
    let doctor = tool(programs, &["doctor", "-n", &namespace.name, "-o", "json"]).await?;
    let found: Value = serde_json::from_str(&doctor.out)?;
    let reason = found["problems"][0]["reason"].as_str().unwrap_or_default().to_owned();
    if case.reason.is_empty() {
        let catalogs = cluster.api(V1ALPHA1, "CatalogSource", &namespace.name).await?;
        ensure!(
            catalogs.list(&ListParams::default()).await?.items.is_empty(),
            "{}: something was created",
            case.name
        );
    } else {
        ensure!(reason == case.reason && doctor.status == 1, "{}: doctor: {found}", case.name);
    }
    let error = run.err.lines().find(|line| line.starts_with("error: ")).unwrap_or_default();
    let error = error.trim_start_matches("error: ").replace('|', "\\|");
    let short: String = error.chars().take(160).collect();
    Ok(format!("| {} | {short} | {:.1} | {reason} |", case.fault, run.seconds))
}

/// Writes the observed objects to the directory of `RUN_BUNDLE_RECORD`: fixtures for the tests of the reasons.
async fn record(cluster: &Cluster, namespace: &str, name: &str) -> Result<()> {
    let Some(directory) = std::env::var_os("RUN_BUNDLE_RECORD") else { return Ok(()) };
    let mut items = Vec::new();
    for (api_version, kind) in [
        (V1ALPHA1, "CatalogSource"),
        (V1ALPHA1, "Subscription"),
        (V1ALPHA1, "InstallPlan"),
        (V1ALPHA1, "ClusterServiceVersion"),
        ("operators.coreos.com/v1", "OperatorGroup"),
        ("v1", "Pod"),
        ("apps/v1", "Deployment"),
        ("v1", "Event"),
    ] {
        for one in cluster.api(api_version, kind, namespace).await?.list(&ListParams::default()).await? {
            let mut one = serde_json::to_value(one)?;
            one["apiVersion"] = api_version.into();
            one["kind"] = kind.into();
            if kind == "Event" && one["type"] != "Warning" {
                continue;
            }
            for (parent, key) in
                [("metadata", "managedFields"), ("metadata", "annotations"), ("status", "plan")]
            {
                if let Some(parent) = one[parent].as_object_mut() {
                    parent.remove(key);
                }
            }
            items.push(one);
        }
    }
    let text = serde_json::to_string(&json!({"items": items}))?.replace(namespace, "ns");
    std::fs::write(Path::new(&directory).join(format!("{name}.json")), text)?;
    Ok(())
}

#[tokio::test]
async fn every_failure_has_its_reason() -> Result<()> {
    let (programs, registry) = (Programs::from_env()?, Registry::from_env()?);
    let cluster = Cluster::from_env().await?;
    let only = std::env::var("RUN_BUNDLE_CASES").unwrap_or_default();
    let chosen = cases(&registry)
        .into_iter()
        .filter(|case| only.is_empty() || only.split(',').any(|one| one == case.name));
    let rows: Vec<Result<String>> = stream::iter(chosen)
        .map(|case| fail(&cluster, &programs, &registry, case))
        .buffered(PARALLEL)
        .collect()
        .await;
    let mut table = "| fault | what `run bundle` says | after (s) | reason that `doctor` gives |\n| --- | --- | --- | --- |\n".to_owned();
    let mut wrong = Vec::new();
    for row in rows {
        match row {
            Ok(row) => writeln!(table, "{row}")?,
            Err(error) => wrong.push(format!("{error:#}")),
        }
    }
    eprintln!("{table}");
    ensure!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    Ok(())
}

/// Starts the program, ends it with a signal once it prints `text`, and returns what it printed; nothing if it was installed
/// before: a stage may be over between two looks at the cluster.
async fn interrupted(programs: &Programs, arguments: &[&str], text: &str) -> Result<Option<String>> {
    use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader};
    let mut child = tokio::process::Command::new(programs.path("bundle-tool"))
        .args(arguments)
        .stdin(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .context("failed to start bundle-tool")?;
    let mut err = BufReader::new(child.stderr.take().context("no standard error")?);
    let mut printed = String::new();
    while !printed.contains(text) {
        if err.read_line(&mut printed).await? == 0 {
            break;
        }
    }
    if let Some(id) = child.id().filter(|_| printed.contains(text)) {
        tokio::process::Command::new("kill").args(["-INT", &id.to_string()]).status().await?;
    }
    err.read_to_string(&mut printed).await?;
    match child.wait().await?.code() {
        Some(0) => {
            eprintln!("not interrupted in stage {text}");
            Ok(None)
        }
        Some(2) if printed.contains(text) => {
            eprintln!("interrupted in stage {text}");
            Ok(Some(printed))
        }
        status => bail!("{status:?}: {printed}"),
    }
}

#[tokio::test]
async fn an_interrupted_installation_names_what_is_left_and_continues() -> Result<()> {
    let (programs, registry) = (Programs::from_env()?, Registry::from_env()?);
    let cluster = Cluster::from_env().await?;
    let namespace = cluster.namespace_for("run-interrupted", "restricted").await?;
    let bundle = Gizmo::write("interrupted", &registry.operand(), &[])?;
    let path = bundle.path();
    let arguments = ["run", "bundle", path.as_str(), "-n", namespace.name.as_str()];
    let mut count = 0;
    for (stage, left) in [
        ("catalog: ", "Deployment `gizmo-interrupted-catalog`"),
        ("resolution: ", "Subscription `gizmo-interrupted`"),
        ("requirements: ", "Subscription `gizmo-interrupted`"),
        ("deployments: ", "Subscription `gizmo-interrupted`"),
    ] {
        if let Some(printed) = interrupted(&programs, &arguments, stage).await? {
            ensure!(printed.contains("not removed") && printed.contains(left), "{stage}: {printed}");
            ensure!(printed.contains("bundle-tool cleanup gizmo-interrupted"), "{printed}");
            count += 1;
        }
        if stage != "catalog: " {
            let cleanup =
                tool(&programs, &["cleanup", &bundle.package, "-n", &namespace.name, "--delete-crds"])
                    .await?;
            ensure!(cleanup.status == 0, "{}", cleanup.err);
        }
    }
    ensure!(count > 0, "no stage was interrupted");
    let run = tool(&programs, &arguments).await?;
    ensure!(run.status == 0, "{}", run.err);
    let cleanup =
        tool(&programs, &["cleanup", &bundle.package, "-n", &namespace.name, "--delete-crds"]).await?;
    ensure!(cleanup.status == 0, "{}", cleanup.err);
    gone(&cluster, namespace).await
}

#[tokio::test]
async fn an_interrupted_unpacking_or_plan_names_what_is_left() -> Result<()> {
    let (programs, registry) = (Programs::from_env()?, Registry::from_env()?);
    let cluster = Cluster::from_env().await?;
    let namespace = cluster.namespace_for("run-unpacking", "baseline").await?;
    let bundle = Gizmo::write("unpacking", &registry.operand(), &[])?;
    let (path, repository) = (bundle.path(), registry.image("run-bundle/unpacking"));
    let mut arguments =
        vec!["run", "bundle", path.as_str(), "-n", namespace.name.as_str(), "--push-to", repository.as_str()];
    arguments.extend(registry.flags());
    let mut count = 0;
    for stage in ["unpacking: ", "approval: ", "install plan: "] {
        if let Some(printed) = interrupted(&programs, &arguments, stage).await? {
            ensure!(printed.contains("not removed"), "{stage}: {printed}");
            ensure!(printed.contains("Subscription `gizmo-unpacking`"), "{stage}: {printed}");
            ensure!(printed.contains("bundle-tool cleanup gizmo-unpacking"), "{stage}: {printed}");
            count += 1;
        }
        let cleanup =
            tool(&programs, &["cleanup", &bundle.package, "-n", &namespace.name, "--delete-crds"]).await?;
        ensure!(cleanup.status == 0, "{stage}: {}", cleanup.err);
    }
    ensure!(count > 0, "no stage was interrupted");
    gone(&cluster, namespace).await
}

#[tokio::test]
async fn the_api_server_is_away_for_30_seconds() -> Result<()> {
    let Some(restarter) = Restarter::from_env() else {
        skip("CLUSTER_RESTART is not set");
        return Ok(());
    };
    let (programs, registry) = (Programs::from_env()?, Registry::from_env()?);
    let cluster = Cluster::from_env().await?;
    let namespace = cluster.namespace_for("run-away", "restricted").await?;
    let bundle = Gizmo::write("away", &registry.operand(), &[])?;
    let path = bundle.path();
    let arguments = ["run", "bundle", path.as_str(), "-n", namespace.name.as_str(), "--timeout", "5m"];
    let run = async {
        // Once something was created.
        let deployments = cluster.api("apps/v1", "Deployment", &namespace.name).await?;
        wait_for("the catalog is created", TIMEOUT, async || {
            deployments.get("gizmo-away-catalog").await?;
            Ok(())
        })
        .await?;
        let away = restarter.api_server(30)?;
        wait_for("the API server is away", TIMEOUT, async || {
            ensure!(cluster.client.apiserver_version().await.is_err(), "it still answers");
            Ok(())
        })
        .await?;
        // Meanwhile, nothing can be asked.
        let doctor = tool(&programs, &["doctor", "-n", &namespace.name]).await?;
        ensure!(
            doctor.status == 2 && doctor.err.contains("does not respond"),
            "{}{}",
            doctor.out,
            doctor.err
        );
        tokio::task::spawn_blocking(|| away.over()).await?
    };
    let (run, away) = futures::join!(tool(&programs, &arguments), run);
    // Whatever came of it is removed, so that no other test meets it.
    cluster.olm_is_back().await?;
    let cleanup =
        tool(&programs, &["cleanup", &bundle.package, "-n", &namespace.name, "--delete-crds"]).await?;
    let run = run?;
    away?;
    ensure!(run.status == 0, "{}", run.err);
    ensure!(run.err.contains("trying again"), "{}", run.err);
    eprintln!("{:6.1} s  installed, with the API server away for 30 s", run.seconds);
    ensure!(cleanup.status == 0, "{}", cleanup.err);
    gone(&cluster, namespace).await
}

#[tokio::test]
async fn olm_that_does_not_run_is_named_before_anything_is_created() -> Result<()> {
    let (programs, registry) = (Programs::from_env()?, Registry::from_env()?);
    let cluster = Cluster::from_env().await?;
    let found = cluster.api("apps/v1", "Deployment", "olm").await?;
    let Ok(operator) = found.get("catalog-operator").await else {
        skip("OLM is not in namespace olm");
        return Ok(());
    };
    let replicas = operator.data["spec"]["replicas"].clone();
    let scale = async |replicas: &Value| {
        let patch = kube::api::Patch::Merge(json!({"spec": {"replicas": replicas}}));
        found.patch("catalog-operator", &kube::api::PatchParams::default(), &patch).await?;
        wait_for(&format!("catalog-operator has {replicas} replicas"), TIMEOUT, async || {
            let status = found.get("catalog-operator").await?.data["status"].clone();
            let available = status["availableReplicas"].as_i64().unwrap_or(0);
            ensure!(Some(available) == replicas.as_i64(), "{status}");
            Ok(())
        })
        .await
    };
    scale(&json!(0)).await?;
    let namespace = cluster.namespace_for("run-half", "restricted").await?;
    let bundle = Gizmo::write("half", &registry.operand(), &[])?;
    let run = tool(&programs, &["run", "bundle", &bundle.path(), "-n", &namespace.name]).await;
    let doctor = tool(&programs, &["doctor", "-n", &namespace.name, "-o", "json"]).await;
    scale(&replicas).await?;
    let (run, doctor) = (run?, doctor?);
    ensure!(
        run.status == 2 && run.err.contains("`catalog-operator` has no available replica"),
        "{}",
        run.err
    );
    ensure!(run.err.contains("nothing was created"), "{} s: {}", run.seconds, run.err);
    ensure!(doctor.status == 1 && doctor.out.contains("\"olm-not-running\""), "{}{}", doctor.out, doctor.err);
    gone(&cluster, namespace).await
}

#[tokio::test]
async fn an_operator_is_upgraded_with_its_objects() -> Result<()> {
    let (programs, registry) = (Programs::from_env()?, Registry::from_env()?);
    let cluster = Cluster::from_env().await?;
    let namespace = cluster.namespace_for("run-upgrade", "restricted").await?;
    // The rule csv-unknown-field says so: from a catalog, a name with other capitalization takes effect.
    let capitals = ("displayName: Gizmo Operator", "DISPLAYNAME: Gizmo Operator");
    let old = Gizmo::write("upgrade", &registry.operand(), &[capitals])?;
    let run = tool(&programs, &["run", "bundle", &old.path(), "-n", &namespace.name]).await?;
    ensure!(run.status == 0, "{}", run.err);
    let csvs = cluster.api(V1ALPHA1, "ClusterServiceVersion", &namespace.name).await?;
    let installed = csvs.get("gizmo-upgrade.v1.2.0").await?;
    ensure!(installed.data["spec"]["displayName"] == "Gizmo Operator", "{}", installed.data["spec"]);
    let gizmo = json!({
        "apiVersion": "upgrade.example.com/v1", "kind": "Gizmo",
        "metadata": {"name": "sample", "namespace": namespace.name}, "spec": {"size": 3},
    });
    cluster.apply(&gizmo).await?;
    drop(old);
    // What breaks objects is refused.
    let breaking = Gizmo::write(
        "upgrade",
        &registry.operand(),
        &[("1.2.0", "1.3.0"), ("    served: true", "    served: false")],
    )?;
    let refused =
        tool(&programs, &["run", "bundle-upgrade", &breaking.path(), "-n", &namespace.name]).await?;
    ensure!(refused.status == 2, "{}", refused.err);
    drop(breaking);
    let new = Gizmo::write("upgrade", &registry.operand(), &[("1.2.0", "1.3.0"), ("cpu: 10m", "cpu: 11m")])?;
    let run = tool(&programs, &["run", "bundle-upgrade", &new.path(), "-n", &namespace.name]).await?;
    ensure!(run.status == 0 && run.out.contains("gizmo-upgrade.v1.3.0 is installed"), "{}", run.err);
    eprintln!("{:6.1} s  upgraded", run.seconds);
    wait_for("the old CSV is gone", TIMEOUT, async || {
        ensure!(csvs.get_opt("gizmo-upgrade.v1.2.0").await?.is_none(), "it is still there");
        Ok(())
    })
    .await?;
    let gizmos = cluster.api("upgrade.example.com/v1", "Gizmo", &namespace.name).await?;
    ensure!(gizmos.get("sample").await?.data["spec"]["size"] == 3, "the object was changed");
    let cleanup = tool(&programs, &["cleanup", &new.package, "-n", &namespace.name, "--delete-crds"]).await?;
    ensure!(cleanup.status == 0, "{}", cleanup.err);
    gone(&cluster, namespace).await
}

/// What an upgrade keeps: `edits` are made in the new version. Returns the run and its report.
async fn test_upgrade(name: &str, edits: &[(&str, &str)]) -> Result<(Run, Value)> {
    let (programs, registry) = (Programs::from_env()?, Registry::from_env()?);
    let cluster = Cluster::from_env().await?;
    let sample = ("\"spec\": {\"size\": 3}", "\"spec\": {\"size\": 3, \"color\": \"green\"}");
    let old = Gizmo::write(name, &registry.operand(), &[sample])?;
    let edits = [&[sample, ("1.2.0", "1.3.0")], edits].concat();
    let new = Gizmo::write(&format!("{name}-new"), &registry.operand(), &edits)?;
    // Both are versions of one package.
    for file in ["manifests/csv.yaml", "manifests/crd.yaml", "metadata/annotations.yaml"] {
        let path = new.directory.join(file);
        std::fs::write(&path, std::fs::read_to_string(&path)?.replace(&format!("{name}-new"), name))?;
    }
    let run = tool(&programs, &["test", "upgrade", &old.path(), &new.path(), "-o", "json"]).await?;
    let report = serde_json::from_str(&run.out).with_context(|| run.err.clone())?;
    eprintln!("{:6.1} s  tested the upgrade of {name}", run.seconds);
    for (kind, api_version, name) in [
        ("Namespace", "v1", format!("{}-upgrade-test", old.package)),
        ("CustomResourceDefinition", "apiextensions.k8s.io/v1", format!("gizmos.{name}.example.com")),
    ] {
        let left = cluster.api(api_version, kind, "default").await?.get_opt(&name).await?;
        ensure!(left.is_none(), "{kind} {name} is left: {}", run.err);
    }
    Ok((run, report))
}

#[tokio::test]
async fn an_upgrade_that_keeps_its_samples_passes() -> Result<()> {
    let (run, report) = test_upgrade("kept", &[("cpu: 10m", "cpu: 11m")]).await?;
    ensure!(run.status == 0 && report["upgrades"][0]["verdict"] == "passed", "{report:#}{}", run.err);
    ensure!(report["upgrades"][0]["samples"][0]["object"] == "Gizmo `sample`", "{report:#}");
    Ok(())
}

#[tokio::test]
async fn an_upgrade_that_prunes_a_field_of_its_samples_fails() -> Result<()> {
    let color = "              color: {type: string, default: red, enum: [red, green], maxLength: 10}\n";
    let rule = "            x-kubernetes-validations:\n            - rule: \"self.size < 5 || has(self.color)\"\n              \
                message: a large gizmo needs a color\n";
    let (run, report) = test_upgrade("pruned", &[(color, ""), (rule, "")]).await?;
    ensure!(run.status == 1 && report["upgrades"][0]["verdict"] == "failed", "{report:#}{}", run.err);
    let losses = &report["upgrades"][0]["samples"][0]["losses"];
    ensure!(*losses == json!(["`spec.color` was lost; its value was `\"green\"`"]), "{report:#}");
    Ok(())
}

#[tokio::test]
async fn finalizers_that_block_cleanup_are_named() -> Result<()> {
    let (programs, registry) = (Programs::from_env()?, Registry::from_env()?);
    let cluster = Cluster::from_env().await?;
    let namespace = cluster.namespace_for("run-finalizer", "restricted").await?;
    let bundle = Gizmo::write("finalizer", &registry.operand(), &[])?;
    let run = tool(&programs, &["run", "bundle", &bundle.path(), "-n", &namespace.name]).await?;
    ensure!(run.status == 0, "{}", run.err);
    let mut gizmo = json!({
        "apiVersion": "finalizer.example.com/v1", "kind": "Gizmo",
        "metadata": {"name": "sample", "namespace": namespace.name, "finalizers": ["example.com/keep"]},
        "spec": {"size": 3},
    });
    cluster.apply(&gizmo).await?;
    let arguments = ["cleanup", &bundle.package, "-n", &namespace.name, "--delete-crds"];
    let blocked = tool(&programs, &[&arguments[..], &["--timeout", "20s"]].concat()).await?;
    ensure!(
        blocked.status == 2 && blocked.err.contains("has finalizers: example.com/keep"),
        "{}{}",
        blocked.out,
        blocked.err
    );
    let doctor = tool(&programs, &["doctor", "-n", &namespace.name, "-o", "json"]).await?;
    ensure!(doctor.status == 1 && doctor.out.contains("deletion-blocked"), "{}", doctor.out);
    gizmo["metadata"]["finalizers"] = json!([]);
    cluster.apply(&gizmo).await?;
    let cleanup = tool(&programs, &arguments).await?;
    ensure!(cleanup.status == 0, "{}", cleanup.err);
    gone(&cluster, namespace).await
}

async fn gone(cluster: &Cluster, namespace: Namespace) -> Result<()> {
    for (api_version, kind) in [
        (V1ALPHA1, "CatalogSource"),
        (V1ALPHA1, "Subscription"),
        (V1ALPHA1, "ClusterServiceVersion"),
        ("operators.coreos.com/v1", "OperatorGroup"),
        ("apps/v1", "Deployment"),
        ("v1", "Service"),
    ] {
        let api = cluster.api(api_version, kind, &namespace.name).await?;
        wait_for(&format!("no {kind} is left"), TIMEOUT, async || {
            let left = api.list(&ListParams::default().labels("!olm.copiedFrom")).await?.items;
            ensure!(left.is_empty(), "{} are left", left.len());
            Ok(())
        })
        .await?;
    }
    namespace.delete().await
}

#[tokio::test]
async fn a_directory_is_installed_without_a_registry_and_removed() -> Result<()> {
    let (programs, registry) = (Programs::from_env()?, Registry::from_env()?);
    let cluster = Cluster::from_env().await?;
    let namespace = cluster.namespace_for("run-directory", "restricted").await?;
    let bundle = Gizmo::write("directory", &registry.operand(), &[])?;
    let run = tool(&programs, &["run", "bundle", &bundle.path(), "-n", &namespace.name]).await?;
    ensure!(run.status == 0, "{}", run.err);
    eprintln!("{:6.1} s  installed by run bundle", run.seconds);
    let doctor = tool(&programs, &["doctor", &bundle.package, "-n", &namespace.name]).await?;
    ensure!(doctor.status == 0 && doctor.out.contains("no problems found"), "{}{}", doctor.out, doctor.err);
    // The same command again finds it installed.
    let again = tool(&programs, &["run", "bundle", &bundle.path(), "-n", &namespace.name]).await?;
    ensure!(again.status == 0, "{}", again.err);
    let cleanup = tool(&programs, &["cleanup", &bundle.package, "-n", &namespace.name]).await?;
    ensure!(
        cleanup.status == 0 && cleanup.out.contains("kept CRD gizmos."),
        "{}{}",
        cleanup.out,
        cleanup.err
    );
    cluster
        .delete(&json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": "gizmos.directory.example.com"},
        }))
        .await?;
    gone(&cluster, namespace).await
}

#[tokio::test]
async fn an_image_is_pushed_and_installed() -> Result<()> {
    let (programs, registry) = (Programs::from_env()?, Registry::from_env()?);
    let cluster = Cluster::from_env().await?;
    let bundle = Gizmo::write("pushed", &registry.operand(), &[])?;
    let repository = registry.image("run-bundle/gizmo");
    let flags = registry.flags();
    let image = format!("{repository}:v1.2.0");
    for arguments in [vec![bundle.path(), "--push-to".into(), repository.clone()], vec![image]] {
        let namespace = cluster.namespace_for("run-pushed", "baseline").await?;
        let mut all = vec!["run", "bundle", "-n", &namespace.name];
        all.extend(arguments.iter().map(String::as_str));
        let run = tool(&programs, &[&all[..], &flags[..]].concat()).await?;
        ensure!(run.status == 0, "{}", run.err);
        eprintln!("{:6.1} s  {}", run.seconds, arguments.join(" "));
        let cleanup =
            tool(&programs, &["cleanup", &bundle.package, "-n", &namespace.name, "--delete-crds"]).await?;
        ensure!(cleanup.status == 0, "{}", cleanup.err);
        gone(&cluster, namespace).await?;
    }
    Ok(())
}

#[tokio::test]
async fn the_options_of_operator_sdk_reach_the_cluster() -> Result<()> {
    let (programs, registry) = (Programs::from_env()?, Registry::from_env()?);
    let cluster = Cluster::from_env().await?;
    let (bundle, other) = (
        Gizmo::write("options", &registry.operand(), &[])?,
        Gizmo::write("indexed", &registry.operand(), &[])?,
    );
    let flags = registry.flags();
    let (image, index) =
        (registry.image("run-bundle/options:v1.2.0"), registry.image("run-bundle/options-index:v1"));
    let catalog = tempfile::tempdir()?;
    let catalog = catalog.path().join("catalog").display().to_string();
    for arguments in [
        vec!["push", "bundle", &bundle.path(), &image],
        vec!["catalog", "add", &catalog, &other.path(), "--image", "example.com/indexed:v1"],
        vec!["push", "catalog", &catalog, &index],
    ] {
        let registry = if arguments[0] == "push" { &flags[..] } else { &[] };
        let run = tool(&programs, &[&arguments[..], registry].concat()).await?;
        ensure!(run.status == 0, "{arguments:?}: {}", run.err);
    }
    let namespace = cluster.namespace_for("run-options", "baseline").await?;
    let watched = cluster.namespace_for("run-options-watched", "baseline").await?;
    let login = r#"{"auths":{"registry.invalid":{"auth":"YTph"}}}"#;
    let certificate = registry.ca_file.as_ref().map(std::fs::read_to_string).transpose()?;
    for object in [
        object("v1", "ServiceAccount", "catalog", &json!({})),
        object(
            "v1",
            "Secret",
            "login",
            &json!({
                "type": "kubernetes.io/dockerconfigjson", "stringData": {".dockerconfigjson": login},
            }),
        ),
        object(
            "v1",
            "Secret",
            "authority",
            &json!({"stringData": {"cert.pem": certificate.clone().unwrap_or_default()}}),
        ),
    ] {
        let text = object.to_string().replace("NAMESPACE", &namespace.name);
        cluster.apply(&serde_json::from_str::<Value>(&text)?).await?;
    }
    let mode = format!("SingleNamespace={}", watched.name);
    let mut arguments = vec![
        "run",
        "bundle",
        &image,
        "-n",
        &namespace.name,
        "--index-image",
        &index,
        "--install-mode",
        &mode,
        "--pull-secret-name",
        "login",
        "--service-account",
        "catalog",
        "--security-context-config",
        "legacy",
    ];
    if certificate.is_some() {
        arguments.extend(["--ca-secret-name", "authority"]);
    }
    let run = tool(&programs, &arguments).await?;
    ensure!(run.status == 0, "{}", run.err);
    let groups = cluster.api("operators.coreos.com/v1", "OperatorGroup", &namespace.name).await?;
    let groups = groups.list(&ListParams::default()).await?.items;
    let targets: Vec<_> = groups.iter().map(|one| &one.data["spec"]["targetNamespaces"]).collect();
    ensure!(targets == [&json!([watched.name])], "{targets:?}");
    let deployments = cluster.api("apps/v1", "Deployment", &namespace.name).await?;
    let pod = deployments.get("gizmo-options-catalog").await?.data["spec"]["template"]["spec"].take();
    ensure!(pod["serviceAccountName"] == "catalog", "{pod}");
    ensure!(pod["imagePullSecrets"] == json!([{"name": "login"}]), "{pod}");
    ensure!(pod["containers"][0]["securityContext"].is_null(), "{pod}");
    // The package of the index image is there, too.
    let packages =
        cluster.api("packages.operators.coreos.com/v1", "PackageManifest", &namespace.name).await?;
    wait_for("the packages of the index image are shown", TIMEOUT, async || {
        packages.get("gizmo-indexed").await.map(|_| ()).map_err(Into::into)
    })
    .await?;
    let cleanup =
        tool(&programs, &["cleanup", &bundle.package, "-n", &namespace.name, "--delete-crds"]).await?;
    ensure!(cleanup.status == 0, "{}", cleanup.err);
    watched.delete().await?;
    gone(&cluster, namespace).await
}

/// Applies what `--dry-run=client` prints and approves the plan, as with kubectl; returns how long that took.
async fn applied(
    cluster: &Cluster,
    programs: &Programs,
    bundle: &Gizmo,
    namespace: &str,
) -> Result<Duration> {
    let path = bundle.path();
    let printed =
        tool(programs, &["run", "bundle", &path, "-n", namespace, "--dry-run=client", "-o", "json"]).await?;
    let list: Value = serde_json::from_str(&printed.out).with_context(|| printed.err.clone())?;
    let start = Instant::now();
    for object in list["items"].as_array().context("no list")? {
        cluster.apply(object).await?;
    }
    let plans = cluster.api(V1ALPHA1, "InstallPlan", namespace).await?;
    let csvs = cluster.api(V1ALPHA1, "ClusterServiceVersion", namespace).await?;
    let name = format!("{}.v1.2.0", bundle.package);
    wait_for("the CSV is Succeeded", TIMEOUT, async || {
        for plan in plans.list(&ListParams::default()).await? {
            if plan.data["status"]["phase"] == "RequiresApproval" {
                let approval = kube::api::Patch::Merge(json!({"spec": {"approved": true}}));
                let plan = plan.metadata.name.context("no name")?;
                plans.patch(&plan, &kube::api::PatchParams::default(), &approval).await?;
            }
        }
        let csv = csvs.get(&name).await?;
        ensure!(csv.data["status"]["phase"] == "Succeeded", "{}", csv.data["status"]);
        Ok(())
    })
    .await?;
    Ok(start.elapsed())
}

#[tokio::test]
async fn installed_by_run_bundle_and_by_its_objects_and_removed_each_time() -> Result<()> {
    let (programs, registry) = (Programs::from_env()?, Registry::from_env()?);
    let cluster = Cluster::from_env().await?;
    // With a probe, `run bundle` does not wait whether the program stays up.
    let probe = "readinessProbe: {exec: {command: [/bin/ls]}}\n                resources: {";
    let bundle = Gizmo::write("speed", &registry.operand(), &[("resources: {", probe)])?;
    let mut times = [Duration::ZERO; 2];
    for (index, time) in times.iter_mut().enumerate() {
        let namespace = cluster.namespace_for("run-speed", "restricted").await?;
        *time = if index == 0 {
            applied(&cluster, &programs, &bundle, &namespace.name).await?
        } else {
            let run = tool(&programs, &["run", "bundle", &bundle.path(), "-n", &namespace.name]).await?;
            ensure!(run.status == 0, "{}", run.err);
            Duration::from_secs_f64(run.seconds)
        };
        let cleanup =
            tool(&programs, &["cleanup", &bundle.package, "-n", &namespace.name, "--delete-crds"]).await?;
        ensure!(cleanup.status == 0, "{}", cleanup.err);
        namespace.delete().await?;
    }
    let [applied, run] = times.map(|time| time.as_secs_f64());
    eprintln!("applied: {applied:.1} s, run bundle: {run:.1} s");
    Ok(())
}

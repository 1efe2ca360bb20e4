//! Problems of OLM v1: of catalogs and extensions, by their conditions.
//!
//! Sources: the conditions of `api/v1` of operator-controller 1.11, and the messages of `resolve/catalog.go`, `applier/`,
//! `config/` and `rukpak/preflights/` below its `internal/operator-controller`, and of `internal/shared/util/image`.

use serde_json::Value;

use super::message;
use super::problem::{self, Diagnosis, Scope, object, shortened};
use crate::kinds;
use crate::kinds::Kind;
use crate::snapshot::{Snapshot, condition, label, list, name_of, string};

/// The label that catalogd puts on each `ClusterCatalog`, with its name.
pub(crate) const CATALOG_NAME: &str = "olm.operatorframework.io/metadata.name";
/// The label of what operator-controller applies, with the kind of the owner.
const OWNER_KIND: &str = "olm.operatorframework.io/owner-kind";
/// The label of what operator-controller applies, with the name of the owner.
const OWNER_NAME: &str = "olm.operatorframework.io/owner-name";

/// The seconds that the controllers have to write a first condition.
const FIRST_CONDITION: u64 = 15;
/// The seconds that the controllers may retry.
const RETRYING: u64 = 60;

/// Returns the extensions that are looked at.
fn extensions<'s>(snapshot: &'s Snapshot, scope: &'s Scope) -> impl Iterator<Item = &'s Value> {
    snapshot.objects(kinds::CLUSTER_EXTENSION).iter().filter(|one| covers(scope, one))
}

/// Returns whether an extension is looked at: it has no namespace, but what it installs has.
pub(crate) fn covers(scope: &Scope, extension: &Value) -> bool {
    let namespace = string(extension, "/spec/namespace");
    let package = string(extension, "/spec/source/catalog/packageName");
    scope.namespace.as_deref().is_none_or(|wanted| wanted == namespace)
        && scope.package.as_deref().is_none_or(|wanted| wanted == package)
}

/// Returns whether a deployment is one that an extension that is looked at has installed.
pub(crate) fn is_of_extension(snapshot: &Snapshot, scope: &Scope, deployment: &Value) -> bool {
    label(deployment, OWNER_KIND) == kinds::CLUSTER_EXTENSION.kind
        && extensions(snapshot, scope).any(|one| name_of(one) == label(deployment, OWNER_NAME))
}

/// Returns whether an extension may take bundles from a catalog. Of its selector, only labels are compared.
fn selects(extension: &Value, catalog: &Value) -> bool {
    let labels = extension.pointer("/spec/source/catalog/selector/matchLabels").and_then(Value::as_object);
    labels.into_iter().flatten().all(|(key, value)| {
        // catalogd may not have labeled a new catalog yet.
        value == label(catalog, key) || (key == CATALOG_NAME && value == name_of(catalog))
    })
}

/// Reports catalogs that catalogd does not serve.
pub(crate) fn catalogs(snapshot: &Snapshot, scope: &Scope, found: &mut Vec<Diagnosis>) {
    let is_limited = scope.namespace.is_some() || scope.package.is_some();
    for catalog in snapshot.objects(kinds::CLUSTER_CATALOG) {
        if is_limited && !extensions(snapshot, scope).any(|one| selects(one, catalog)) {
            continue;
        }
        found.extend(deletion(kinds::CLUSTER_CATALOG, catalog));
        if is_disabled(catalog) {
            found.extend(disabled(snapshot, scope, catalog));
            continue;
        }
        let name = name_of(catalog);
        let Some(progressing) = progressing(catalog) else {
            found.push(unprocessed(kinds::CLUSTER_CATALOG, catalog, "catalogd"));
            continue;
        };
        if !matches!(string(progressing, "/reason"), "Retrying" | "Blocked") {
            continue;
        }
        let image = string(catalog, "/spec/source/image/ref");
        let message = string(progressing, "/message");
        let serves = condition(catalog, "Serving", "True").is_some();
        let instead = if serves { ", and serves what it read before" } else { "" };
        found.push(
            with_conditions(
                Diagnosis::new(
                    "cluster-catalog-failed",
                    object(kinds::CLUSTER_CATALOG, catalog),
                    format!(
                        "catalogd cannot read image `{image}` of ClusterCatalog `{name}`{instead}: {}",
                        shortened(message)
                    ),
                ),
                catalog,
            )
            .help(catalog_help(message, name))
            .patience(patience(progressing)),
        );
    }
}

fn is_disabled(catalog: &Value) -> bool {
    string(catalog, "/spec/availabilityMode") == "Unavailable"
}

/// Returns the problem of a disabled catalog that an extension names.
fn disabled(snapshot: &Snapshot, scope: &Scope, catalog: &Value) -> Option<Diagnosis> {
    let name = name_of(catalog);
    let named = |extension: &&Value| {
        extension
            .pointer("/spec/source/catalog/selector/matchLabels")
            .is_some_and(|labels| labels[CATALOG_NAME] == name)
    };
    let extension = extensions(snapshot, scope).find(named)?;
    let problem = Diagnosis::new(
        "cluster-catalog-disabled",
        object(kinds::CLUSTER_CATALOG, catalog),
        format!(
            "ClusterCatalog `{name}` is disabled, and ClusterExtension `{}` installs from it",
            name_of(extension)
        ),
    )
    .evidence("spec.availabilityMode: Unavailable");
    Some(with_conditions(problem, catalog).help(format!(
        "enable it: kubectl patch clustercatalog {name} --type=merge -p '{{\"spec\":{{\"availabilityMode\":\"Available\"}}}}'"
    )))
}

/// Returns what to do about the condition `Progressing` of a catalog.
pub(crate) fn catalog_help(message: &str, name: &str) -> String {
    image_help(message, "catalogd").unwrap_or_else(|| {
        if message.contains("required label") {
            "push the catalog with `bundle-tool push catalog`, which sets the label".to_owned()
        } else if message.contains("error storing fbc") {
            "validate the catalog: `bundle-tool catalog validate IMAGE` reports what cannot be read"
                .to_owned()
        } else {
            format!("fix spec.source.image.ref: kubectl edit clustercatalog {name}")
        }
    })
}

/// Reports extensions whose bundle is not installed or upgraded.
pub(crate) fn extensions_not_installed(snapshot: &Snapshot, scope: &Scope, found: &mut Vec<Diagnosis>) {
    for extension in extensions(snapshot, scope) {
        found.extend(deletion(kinds::CLUSTER_EXTENSION, extension));
        let Some(progressing) = progressing(extension) else {
            found.push(unprocessed(kinds::CLUSTER_EXTENSION, extension, "operator-controller"));
            continue;
        };
        let reason = string(progressing, "/reason");
        if !matches!(reason, "Retrying" | "Blocked" | "InvalidConfiguration" | "ProgressDeadlineExceeded") {
            continue;
        }
        let explained = explain(extension, progressing);
        let is_resolution = explained.reason == "resolution-failed";
        let mut problem = with_conditions(
            Diagnosis::new(
                explained.reason,
                object(kinds::CLUSTER_EXTENSION, extension),
                format!(
                    "OLM v1 cannot {} ClusterExtension `{}`: {}",
                    verb(extension),
                    name_of(extension),
                    explained.what
                ),
            ),
            extension,
        )
        .help(explained.help)
        .patience(patience(progressing));
        if is_resolution {
            problem = without_catalog(snapshot, extension, problem);
        }
        found.push(problem);
    }
}

/// Says so if an extension has no catalog to resolve from.
fn without_catalog(snapshot: &Snapshot, extension: &Value, problem: Diagnosis) -> Diagnosis {
    if snapshot.unreadable.contains_key(kinds::CLUSTER_CATALOG.kind) {
        return problem;
    }
    let selected: Vec<&Value> =
        snapshot.objects(kinds::CLUSTER_CATALOG).iter().filter(|one| selects(extension, one)).collect();
    let names: Vec<String> = selected.iter().map(|one| format!("`{}`", name_of(one))).collect();
    if selected.is_empty() {
        return problem
            .evidence("no ClusterCatalog matches spec.source.catalog.selector")
            .help("create a ClusterCatalog with the package, or correct spec.source.catalog.selector");
    }
    if selected.iter().all(|one| is_disabled(one) || condition(one, "Serving", "True").is_none()) {
        // The catalogs' own problems are the cause.
        return problem.evidence(format!("not served: ClusterCatalog {}", names.join(", "))).symptom();
    }
    problem.evidence(format!("searched: ClusterCatalog {}", shortened(&names.join(", "))))
}

/// Returns whether the reason of an extension's failure does not pass by itself, although operator-controller retries.
pub(crate) fn is_definite(reason: &str) -> bool {
    matches!(
        reason,
        "bundle-unsupported"
            | "catalogs-conflict"
            | "configuration-invalid"
            | "crd-breaks-objects"
            | "dependency-unsupported"
            | "version-range-invalid"
    )
}

/// What a condition means, and what to do.
pub(crate) struct Explained {
    /// A name of the reason, for programs.
    pub(crate) reason: &'static str,
    /// What is wrong.
    pub(crate) what: String,
    /// What to do about it.
    pub(crate) help: String,
}

/// Returns what the condition `Progressing` of an extension means.
pub(crate) fn explain(extension: &Value, progressing: &Value) -> Explained {
    let message = string(progressing, "/message");
    let name = name_of(extension);
    let namespace = string(extension, "/spec/namespace");
    let package = string(extension, "/spec/source/catalog/packageName");
    let edit = |field: &str| format!("{field}: kubectl edit clusterextension {name}");
    let has = |part: &str| message.contains(part);
    let (reason, help) = if has("in multiple catalogs with the same priority") {
        let help = "set spec.source.catalog.selector to the labels of one catalog, or give the catalogs different spec.priority";
        ("catalogs-conflict", help.to_owned())
    } else if has("no bundles found for package") && has("error upgrading from currently installed version") {
        let help = edit(
            "choose a version that the channel upgrades to from the installed one (`bundle-tool catalog explain-upgrade`), or \
             permit any with spec.source.catalog.upgradeConstraintPolicy `SelfCertified`",
        );
        ("resolution-failed", help)
    } else if has("no bundles found for package") {
        let help = if has("matching version") || has("in channels") {
            edit(&format!(
                "set spec.source.catalog.version and channels to what the catalog has (`bundle-tool catalog graph`) of `{package}`"
            ))
        } else {
            edit("correct spec.source.catalog.packageName, or add a ClusterCatalog that has the package")
        };
        ("resolution-failed", help)
    } else if has("desired version range") {
        ("version-range-invalid", edit("correct spec.source.catalog.version"))
    } else if has("error walking catalogs") {
        let help =
            "check catalogd and its service: kubectl get pods,services -A -l app.kubernetes.io/name=catalogd";
        ("catalog-not-connected", help.to_owned())
    } else if has("has a dependency declared via property") {
        let help = "install what the bundle depends on yourself, and use a version of the bundle that declares no dependencies: \
                    OLM v1 resolves none";
        ("dependency-unsupported", help.to_owned())
    } else if has("unsupported bundle: ") {
        let help =
            "run `bundle-tool validate --suite olmv1` on the bundle, which reports all that OLM v1 rejects";
        ("bundle-unsupported", help.to_owned())
    } else if has("validating upgrade for CRD") {
        let help = edit(
            "keep what the new CRD removes (`bundle-tool diff --all-crd-changes OLD NEW` lists it), or accept the loss with \
             spec.install.preflight.crdUpgradeSafety.enforcement `None`",
        );
        ("crd-breaks-objects", help)
    } else if string(progressing, "/reason") == "InvalidConfiguration" {
        ("configuration-invalid", edit("correct spec.config.inline"))
    } else if has("cannot be imported into the current release") {
        let help = "delete the object that the message names if it is left over, or have OLM v1 adopt it: `bundle-tool olm migrate` \
                    shows the labels and annotations";
        ("object-conflict", help.to_owned())
    } else if has("namespaces \"") && has("not found") {
        ("namespace-missing", format!("create the namespace: kubectl create namespace {namespace}"))
    } else if string(progressing, "/reason") == "ProgressDeadlineExceeded" {
        let help = format!("see why its pods do not become ready: kubectl describe pods -n {namespace}");
        ("progress-deadline-exceeded", help)
    } else if let Some(known) = message::explain_message(message, namespace) {
        known
    } else if let Some(help) = image_help(message, "operator-controller").filter(|_| is_of_image(message)) {
        ("image-pull-failed", help)
    } else {
        let help = "fix what the condition reports; its cause may be in the log: \
                    kubectl logs -n olmv1-system deploy/operator-controller-controller-manager";
        ("cluster-extension-failed", help.to_owned())
    };
    Explained { reason, what: shortened(message), help }
}

/// Returns whether a message is about reading an image: the contexts that `Pull` of the controllers and the library
/// containers/image put before the cause.
fn is_of_image(message: &str) -> bool {
    const CONTEXTS: [&str; 10] = [
        "error parsing image reference",
        "error creating image source",
        "error getting manifest",
        "error copying image",
        "error applying image",
        "error reading image",
        "initializing source docker://",
        "pinging container registry",
        "reading manifest",
        "reading blob",
    ];
    CONTEXTS.iter().any(|context| message.contains(context))
}

/// Returns what to do if a controller cannot read an image; nothing if the message is not about that.
fn image_help(message: &str, controller: &str) -> Option<String> {
    let lower = message.to_lowercase();
    let has = |parts: &[&str]| parts.iter().any(|part| lower.contains(part));
    if has(&["unauthorized", "denied", "authentication required"]) {
        return Some(format!("add credentials of the registry to the global pull secret of {controller}"));
    }
    if has(&["x509", "certificate"]) {
        return Some(format!("have {controller} trust the certificate authority of the registry"));
    }
    if has(&["http response to https client"]) {
        return Some("serve the registry with TLS".to_owned());
    }
    if has(&["manifest unknown", "name unknown", "not found"]) {
        return Some("check the name and the tag of the image, and push it if it is missing".to_owned());
    }
    if has(&["no such host", "connection refused", "i/o timeout"]) {
        return Some(format!("check that {controller} can reach the registry"));
    }
    has(&["error parsing image reference"]).then(|| "correct the name of the image".to_owned())
}

/// Returns the condition `Progressing`, if the controller has seen the object as it is now.
fn progressing(object: &Value) -> Option<&Value> {
    let generation = object["metadata"]["generation"].as_i64().unwrap_or_default();
    list(object, "/status/conditions").iter().find(|one| {
        one["type"] == "Progressing"
            && one["observedGeneration"].as_i64().is_none_or(|observed| observed >= generation)
    })
}

fn verb(extension: &Value) -> &'static str {
    if string(extension, "/status/install/bundle/name").is_empty() { "install" } else { "upgrade" }
}

/// How long a problem may last: a controller that retries may succeed.
fn patience(progressing: &Value) -> u64 {
    if string(progressing, "/reason") == "Retrying" { RETRYING } else { 0 }
}

fn unprocessed(kind: Kind, one: &Value, controller: &str) -> Diagnosis {
    Diagnosis::new(
        "controller-not-running",
        object(kind, one),
        format!("{controller} has not processed the latest generation of {} `{}`", kind.kind, name_of(one)),
    )
    .evidence(format!("metadata.generation: {}", one["metadata"]["generation"]))
    .help(format!("check that it runs: kubectl get pods -A -l app.kubernetes.io/name={controller}"))
    .patience(FIRST_CONDITION)
}

fn deletion(kind: Kind, one: &Value) -> Option<Diagnosis> {
    if string(one, "/metadata/deletionTimestamp").is_empty() {
        return None;
    }
    let message = problem::deletion(&object(kind, one), one);
    let problem = Diagnosis::new("deletion-blocked", object(kind, one), message);
    Some(
        with_conditions(problem, one)
            .help("let the controller that set the finalizers run until it has removed them")
            .patience(20),
    )
}

/// Adds the conditions that say something as evidence.
fn with_conditions(problem: Diagnosis, object: &Value) -> Diagnosis {
    list(object, "/status/conditions")
        .iter()
        .filter(|one| matches!(string(one, "/type"), "Serving" | "Progressing" | "Installed"))
        .fold(problem, Diagnosis::condition)
}

/// Returns the state of an extension in a sentence, for a report without problems.
#[must_use]
pub(crate) fn summary(extension: &Value) -> String {
    let bundle = string(extension, "/status/install/bundle/name");
    let state = if bundle.is_empty() {
        let progress = progressing(extension).map(|one| shortened(string(one, "/message")));
        format!("not installed yet: {}", progress.unwrap_or_default())
    } else {
        format!("{bundle} is installed")
    };
    let deprecated = condition(extension, "Deprecated", "True")
        .map(|one| format!("; deprecated: {}", shortened(string(one, "/message"))))
        .unwrap_or_default();
    format!("{}: {state}{deprecated}", object(kinds::CLUSTER_EXTENSION, extension))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::problems;
    use super::*;

    fn extension(reason: &str, message: &str) -> Value {
        json!({
            "apiVersion": "olm.operatorframework.io/v1", "kind": "ClusterExtension",
            "metadata": {"name": "gizmo", "generation": 2},
            "spec": {"namespace": "gizmos", "source": {"sourceType": "Catalog", "catalog": {
                "packageName": "gizmo-operator", "selector": {"matchLabels": {CATALOG_NAME: "gizmos"}}}}},
            "status": {"conditions": [
                {"type": "Progressing", "status": "True", "reason": reason, "message": message, "observedGeneration": 2},
                {"type": "Installed", "status": "False", "reason": "Failed", "message": "No bundle installed"},
            ]},
        })
    }

    fn catalog(reason: &str, message: &str) -> Value {
        json!({
            "apiVersion": "olm.operatorframework.io/v1", "kind": "ClusterCatalog",
            "metadata": {"name": "gizmos", "generation": 1, "labels": {CATALOG_NAME: "gizmos"}},
            "spec": {"source": {"type": "Image", "image": {"ref": "registry.example.com/catalog:v1"}}},
            "status": {"conditions": [
                {"type": "Progressing", "status": "True", "reason": reason, "message": message, "observedGeneration": 1},
                {"type": "Serving", "status": if reason == "Succeeded" { "True" } else { "False" }, "reason": "R", "message": ""},
            ]},
        })
    }

    fn found(objects: &[Value], scope: &Scope) -> Vec<Diagnosis> {
        let mut snapshot = Snapshot::default();
        for object in objects {
            assert_eq!(snapshot.add(object.clone()), 1);
        }
        problems(&snapshot, scope)
    }

    #[test]
    fn the_reason_why_an_extension_is_not_installed() {
        let served = catalog("Succeeded", "Successfully unpacked");
        let mut lines = Vec::new();
        for (reason, message) in [
            ("Retrying", "no bundles found for package \"gizmo-operator\""),
            (
                "Retrying",
                "no bundles found for package \"gizmo-operator\" matching version \"9.0.0\" in channels [stable]",
            ),
            (
                "Retrying",
                "error upgrading from currently installed version \"1.2.0\": no bundles found for package \"gizmo-operator\" matching version \"1.4.0\"",
            ),
            (
                "Retrying",
                "found bundles for package \"gizmo-operator\" in multiple catalogs with the same priority [a b]",
            ),
            ("Retrying", "desired version range \"x\" is invalid: could not get version from string: \"x\""),
            (
                "Retrying",
                "error walking catalogs: error getting package \"gizmo-operator\" from catalog \"gizmos\": connection refused",
            ),
            (
                "Retrying",
                "validating bundle \"gizmo.v1\": bundle \"gizmo.v1\" has a dependency declared via property \"olm.gvk.required\" which is currently not supported",
            ),
            (
                "Retrying",
                "error for resolved bundle \"gizmo.v1\" with version \"1.0.0\": unsupported bundle: bundle does not support AllNamespaces install mode",
            ),
            (
                "Retrying",
                "error for resolved bundle \"gizmo.v2\" with version \"2.0.0\": validating upgrade for CRD \"gizmos.example.com\": existingFieldRemoval: v1: removed field",
            ),
            (
                "InvalidConfiguration",
                "error for resolved bundle \"gizmo.v1\" with version \"1.0.0\": invalid ClusterExtension configuration: invalid configuration: unknown field \"a\"",
            ),
            (
                "Retrying",
                "Unable to continue with install: Deployment \"gizmo\" in namespace \"gizmos\" exists and cannot be imported into the current release",
            ),
            ("Retrying", "failed to create resource: namespaces \"gizmos\" not found"),
            (
                "ProgressDeadlineExceeded",
                "Revision has not rolled out for 1 minute(s). Last status: Revision 1.0.0 is rolling out.",
            ),
            ("Retrying", "failed to create resource: admission webhook \"w\" denied the request: no"),
            (
                "Retrying",
                "error for resolved bundle \"gizmo.v1\" with version \"1.0.0\": error copying image: reading manifest v1: manifest unknown",
            ),
            (
                "Retrying",
                "error creating image source: pinging container registry registry.example.com: Get \"https://registry.example.com/v2/\": dial tcp: i/o timeout",
            ),
            // Not about images, although they contain words of messages about images.
            ("Retrying", "failed to create resource: roles.rbac.authorization.k8s.io \"gizmo\" not found"),
            ("Retrying", "failed to create resource: the server denied the request"),
            ("Retrying", "Certificate \"gizmo\" is not ready: certificate authority is missing"),
            ("Retrying", "Get \"https://10.96.0.1:443/api/v1\": dial tcp 10.96.0.1:443: i/o timeout"),
            ("Blocked", "something else"),
        ] {
            let problems = found(&[served.clone(), extension(reason, message)], &Scope::default());
            assert_eq!(problems.len(), 1, "{message}");
            lines.push(format!(
                "{}: {}\n  help: {}",
                problems[0].reason, problems[0].message, problems[0].help
            ));
        }
        insta::assert_snapshot!(lines.join("\n"));
        let rolling = extension("RollingOut", "Revision 1.0.0 is rolling out.");
        assert_eq!(found(&[served, rolling], &Scope::default()), []);
    }

    #[test]
    fn a_catalog_that_is_not_served_is_the_cause() {
        let waiting = extension("Retrying", "no bundles found for package \"gizmo-operator\"");
        let failed = catalog(
            "Retrying",
            "source catalog content: error copying image: reading manifest v1: 401 Unauthorized",
        );
        let problems = found(&[failed, waiting.clone()], &Scope::default());
        assert_eq!(problems.iter().map(|one| one.reason).collect::<Vec<_>>(), ["cluster-catalog-failed"]);
        assert_eq!(
            problems[0].message,
            "catalogd cannot read image `registry.example.com/catalog:v1` of ClusterCatalog `gizmos`: source catalog content: \
             error copying image: reading manifest v1: 401 Unauthorized"
        );
        assert_eq!(problems[0].help, "add credentials of the registry to the global pull secret of catalogd");
        let mut disabled = catalog("Succeeded", "");
        disabled["spec"]["availabilityMode"] = "Unavailable".into();
        let problems = found(&[disabled.clone(), waiting.clone()], &Scope::default());
        assert_eq!(problems.iter().map(|one| one.reason).collect::<Vec<_>>(), ["cluster-catalog-disabled"]);
        // A disabled catalog that nothing installs from is no problem.
        assert_eq!(found(&[disabled], &Scope::default()), []);
        let problems = found(&[waiting], &Scope::default());
        assert_eq!(
            problems[0].evidence.last().unwrap(),
            "no ClusterCatalog matches spec.source.catalog.selector"
        );
    }

    #[test]
    fn the_end_of_a_long_message_has_the_reason() {
        let long = format!("error for resolved bundle: {}: ", "a ".repeat(1000));
        let image = format!("{long}error copying image: reading manifest v1: manifest unknown");
        let problems = found(&[extension("Retrying", &image)], &Scope::default());
        assert_eq!(problems[0].reason, "image-pull-failed");
        assert!(problems[0].message.len() < 800, "{}", problems[0].message);
        let failed = catalog("Retrying", &format!("{long}error copying image: 401 Unauthorized"));
        let problems = found(&[failed], &Scope::default());
        assert_eq!(problems[0].help, "add credentials of the registry to the global pull secret of catalogd");
    }

    #[test]
    fn only_extensions_in_scope_are_looked_at() {
        let failed = catalog("Blocked", "error parsing image reference");
        let blocked = extension("Blocked", "a");
        let scope = |namespace: &str, package: &str| Scope {
            namespace: Some(namespace.into()),
            package: Some(package.into()),
            csv: None,
        };
        let objects = [failed, blocked];
        assert_eq!(found(&objects, &scope("gizmos", "gizmo-operator")).len(), 2);
        assert_eq!(found(&objects, &scope("other", "gizmo-operator")), []);
        assert_eq!(found(&objects, &scope("gizmos", "other")), []);
    }

    #[test]
    fn an_object_that_no_controller_processes_and_one_that_is_being_deleted_are_reported() {
        let mut stale = extension("Succeeded", "");
        stale["metadata"]["generation"] = 3.into();
        let mut deleted = catalog("Succeeded", "");
        deleted["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
        deleted["metadata"]["finalizers"] = json!(["olm.operatorframework.io/delete-server-cache"]);
        let problems = found(&[deleted, stale], &Scope::default());
        assert_eq!(
            problems.iter().map(|one| one.message.as_str()).collect::<Vec<_>>(),
            [
                "ClusterCatalog `gizmos` is being deleted and waits for finalizers: olm.operatorframework.io/delete-server-cache",
                "operator-controller has not processed the latest generation of ClusterExtension `gizmo`",
            ]
        );
    }

    #[test]
    fn the_pods_of_an_extension_are_looked_at() {
        let pod = json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {
                "name": "gizmo-5f-abc", "namespace": "gizmos", "labels": {"pod-template-hash": "5f"},
                "ownerReferences": [{"kind": "ReplicaSet", "name": "gizmo-5f"}],
            },
            "status": {"phase": "Pending", "containerStatuses": [{
                "name": "manager", "image": "a", "ready": false,
                "state": {"waiting": {"reason": "ImagePullBackOff", "message": "not found"}}}]},
        });
        let deployment = json!({
            "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "gizmo", "namespace": "gizmos", "labels": {OWNER_KIND: "ClusterExtension", OWNER_NAME: "gizmo"}},
        });
        let rolling = extension("RollingOut", "rolling out");
        let problems = found(&[pod.clone(), deployment, rolling.clone()], &Scope::default());
        assert_eq!(problems.iter().map(|one| one.reason).collect::<Vec<_>>(), ["image-pull-failed"]);
        assert_eq!(found(&[pod, rolling], &Scope::default()), []);
    }

    #[test]
    fn a_summary_has_the_bundle_and_its_deprecation() {
        let mut installed = extension("Succeeded", "Desired state reached");
        installed["status"]["install"] = json!({"bundle": {"name": "gizmo.v1", "version": "1.0.0"}});
        installed["status"]["conditions"][1] =
            json!({"type": "Deprecated", "status": "True", "message": "use gadgets"});
        assert_eq!(
            summary(&installed),
            "ClusterExtension `gizmo`: gizmo.v1 is installed; deprecated: use gadgets"
        );
    }
}

//! Checks before an installation. [`problems`] and [`operator_group`] are pure functions of a bundle and observed objects;
//! [`rejected_pods`] asks the API server with dry runs, [`denied`] with access reviews.

mod permissions;
mod pods;

use std::str::FromStr;

use serde_json::Value;

pub use permissions::denied;
pub use pods::rejected_pods;

use super::diagnose::{Diagnosis, object};
use super::kinds;
use super::manifests::{catalog_name, is_ours};
use super::snapshot::{Snapshot, list, name_of, namespace_of, string, strings};
use olm_model::version;

/// An install mode with its namespaces, as `--install-mode` takes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstallMode {
    /// `AllNamespaces`, `OwnNamespace`, `SingleNamespace` or `MultiNamespace`
    pub kind: String,
    /// The namespaces that are watched, none for all.
    pub namespaces: Vec<String>,
}

impl FromStr for InstallMode {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (kind, rest) = text.split_once('=').unwrap_or((text, ""));
        let namespaces: Vec<String> =
            rest.split(',').map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect();
        let fits = match kind {
            "AllNamespaces" => namespaces.is_empty(),
            "OwnNamespace" => namespaces.len() <= 1,
            "SingleNamespace" => namespaces.len() == 1,
            "MultiNamespace" => !namespaces.is_empty(),
            _ => {
                return Err(
                    "expected AllNamespaces, OwnNamespace, SingleNamespace=NAMESPACE or MultiNamespace=NAMESPACE,…"
                        .into(),
                );
            }
        };
        if fits {
            Ok(Self { kind: kind.to_owned(), namespaces })
        } else {
            Err(match kind {
                "AllNamespaces" => "AllNamespaces takes no namespace".into(),
                "OwnNamespace" => "OwnNamespace takes at most the operator's own namespace".into(),
                "SingleNamespace" => "SingleNamespace takes one namespace: SingleNamespace=NAMESPACE".into(),
                _ => "MultiNamespace takes namespaces: MultiNamespace=NAMESPACE,…".into(),
            })
        }
    }
}

/// What is known of the bundle that is to be installed.
#[derive(Debug, Clone, Default)]
pub struct Candidate {
    /// The package.
    pub package: String,
    /// The name of the CSV.
    pub csv: String,
    /// The namespace.
    pub namespace: String,
    /// The supported install modes.
    pub modes: Vec<String>,
    /// The minimum version of Kubernetes; empty without one.
    pub min_kube_version: String,
    /// The names of the owned CRDs.
    pub owned: Vec<String>,
    /// The required CRDs with the version that is used of each.
    pub required: Vec<(String, String)>,
    /// Packages that the bundle depends on.
    pub packages: Vec<String>,
    /// Whether the namespace is created.
    pub create_namespace: bool,
    /// Whether the bundle replaces an installed one.
    pub is_upgrade: bool,
}

/// Returns the namespaces of the `OperatorGroup` to create, none for all, or `None` to use the one that exists.
///
/// # Errors
/// The install mode does not fit the bundle or the group that exists.
pub fn operator_group(
    snapshot: &Snapshot,
    candidate: &Candidate,
    requested: Option<&InstallMode>,
) -> Result<Option<Vec<String>>, Box<Diagnosis>> {
    let namespace = candidate.namespace.as_str();
    let supports = |mode: &str| candidate.modes.iter().any(|one| one == mode);
    let modes: Vec<_> = candidate.modes.iter().map(|mode| format!("`{mode}`")).collect();
    let modes = if modes.is_empty() { "none".to_owned() } else { modes.join(", ") };
    let csv = format!("CSV `{}`", candidate.csv);
    let wrong = |message: String, help: String| {
        Box::new(Diagnosis::new("install-mode-unsupported", csv.clone(), message).help(help))
    };
    if let Some(mode) = requested {
        if mode.kind == "SingleNamespace" && mode.namespaces.iter().any(|name| name == namespace) {
            return Err(wrong(
                format!("install mode `SingleNamespace={namespace}` names the operator's own namespace"),
                "pass --install-mode OwnNamespace".into(),
            ));
        }
        if mode.kind == "OwnNamespace" && mode.namespaces.iter().any(|name| name != namespace) {
            return Err(wrong(
                format!(
                    "install mode `OwnNamespace` does not allow namespace `{}`",
                    mode.namespaces.join(",")
                ),
                format!("pass --install-mode SingleNamespace={}", mode.namespaces.join(",")),
            ));
        }
        if !supports(&mode.kind) {
            return Err(wrong(
                format!("the bundle does not support install mode `{}`, only {modes}", mode.kind),
                "choose a supported mode with --install-mode".into(),
            ));
        }
    }
    let wanted = requested.map(|mode| match mode.kind.as_str() {
        "OwnNamespace" => vec![namespace.to_owned()],
        _ => mode.namespaces.clone(),
    });
    let groups: Vec<_> = snapshot.within(kinds::OPERATOR_GROUP, namespace).collect();
    let group = match groups.as_slice() {
        [] => {
            return match wanted {
                Some(targets) => Ok(Some(targets)),
                None if supports("AllNamespaces") => Ok(Some(Vec::new())),
                None if supports("OwnNamespace") => Ok(Some(vec![namespace.to_owned()])),
                None => Err(wrong(
                    format!("the bundle supports only install mode {modes}, which needs the namespaces to watch"),
                    "pass --install-mode SingleNamespace=NAMESPACE or --install-mode MultiNamespace=NAMESPACE,…".into(),
                )),
            };
        }
        [group] => *group,
        _ => {
            let names: Vec<_> = groups.iter().map(|group| format!("`{}`", name_of(group))).collect();
            return Err(Box::new(
                Diagnosis::new(
                    "operator-groups-conflict",
                    object(kinds::OPERATOR_GROUP, groups[0]),
                    format!(
                        "namespace `{namespace}` has {} OperatorGroups: {}; OLM installs nothing in it",
                        groups.len(),
                        names.join(", ")
                    ),
                )
                .help(format!("delete all but one: kubectl delete operatorgroup NAME -n {namespace}")),
            ));
        }
    };
    let mut targets: Vec<&str> = strings(group, "/spec/targetNamespaces").collect();
    targets.sort_unstable();
    let selected = group.pointer("/spec/selector").is_some_and(|selector| selector != &serde_json::json!({}));
    let implied = match targets.as_slice() {
        _ if selected => "MultiNamespace",
        [] => "AllNamespaces",
        [one] if *one == namespace => "OwnNamespace",
        [_] => "SingleNamespace",
        _ => "MultiNamespace",
    };
    let name = name_of(group);
    let conflict = |message: String| {
        Box::new(
            Diagnosis::new("install-mode-unsupported", object(kinds::OPERATOR_GROUP, group), message).help(
                format!(
                    "use another namespace, or change it: kubectl edit operatorgroup {name} -n {namespace}"
                ),
            ),
        )
    };
    if !supports(implied) && !selected {
        return Err(conflict(format!(
            "OperatorGroup `{name}` requires install mode `{implied}`, but the bundle supports only {modes}"
        )));
    }
    if let Some(mut wanted) = wanted {
        wanted.sort_unstable();
        if wanted != targets || selected {
            return Err(conflict(format!(
                "OperatorGroup `{name}` selects {}, which does not fit the requested install mode",
                super::diagnose::targets(group)
            )));
        }
    }
    Ok(None)
}

/// Returns what keeps the bundle from being installed. `kube_version` is the version of the API server.
#[must_use]
pub fn problems(snapshot: &Snapshot, candidate: &Candidate, kube_version: &str) -> Vec<Diagnosis> {
    let mut found = Vec::new();
    let (package, namespace) = (candidate.package.as_str(), candidate.namespace.as_str());
    match snapshot.objects(kinds::NAMESPACE).iter().find(|one| name_of(one) == namespace) {
        None if !candidate.create_namespace && !snapshot.unreadable.contains_key(kinds::NAMESPACE.kind) => {
            found.push(
                Diagnosis::new(
                    "namespace-missing",
                    format!("Namespace `{namespace}`"),
                    format!("namespace `{namespace}` does not exist"),
                )
                .help(format!("add --create-namespace, or create it: kubectl create namespace {namespace}")),
            );
            return found;
        }
        Some(one) if !string(one, "/metadata/deletionTimestamp").is_empty() => {
            found.push(
                Diagnosis::new(
                    "namespace-terminating",
                    object(kinds::NAMESPACE, one),
                    format!("namespace `{namespace}` is being deleted"),
                )
                .help("wait until it is gone, or use another namespace"),
            );
            return found;
        }
        _ => {}
    }
    kubernetes(candidate, kube_version, &mut found);
    for subscription in snapshot.within(kinds::SUBSCRIPTION, namespace) {
        let name = name_of(subscription);
        if string(subscription, "/spec/name") != package && name != package {
            continue;
        }
        let installed = string(subscription, "/status/installedCSV");
        if !is_ours(subscription, package) {
            found.push(
                Diagnosis::new(
                    "already-subscribed",
                    object(kinds::SUBSCRIPTION, subscription),
                    format!(
                        "namespace `{namespace}` already has subscription `{name}`, which was not created by this command"
                    ),
                )
                .help(format!(
                    "use another namespace, or uninstall it first: bundle-tool cleanup {package} -n {namespace}"
                )),
            );
        } else if !candidate.is_upgrade && !installed.is_empty() && installed != candidate.csv {
            found.push(
                Diagnosis::new(
                    "already-installed",
                    object(kinds::SUBSCRIPTION, subscription),
                    format!("`{installed}` of the package is already installed"),
                )
                .help(
                    "upgrade it with `bundle-tool run bundle-upgrade`, or remove it first with `bundle-tool cleanup`, \
                     which keeps its CRDs and their objects",
                ),
            );
        }
    }
    let catalog = catalog_name(package);
    for kind in [kinds::CATALOG_SOURCE, kinds::DEPLOYMENT] {
        if let Some(existing) = snapshot.get(kind, namespace, &catalog)
            && !is_ours(existing, package)
        {
            found.push(
                Diagnosis::new(
                    "name-taken",
                    object(kind, existing),
                    format!("{} `{catalog}` exists and was not created by this command", kind.kind),
                )
                .help("use another namespace, or delete it"),
            );
        }
    }
    owners(snapshot, candidate, &mut found);
    required(snapshot, candidate, &mut found);
    // Without all subscriptions, none can be called missing.
    let is_known = !snapshot.unreadable.contains_key(kinds::SUBSCRIPTION.kind);
    for name in candidate.packages.iter().filter(|_| is_known) {
        let is_installed =
            snapshot.objects(kinds::SUBSCRIPTION).iter().any(|one| string(one, "/spec/name") == name);
        if !is_installed {
            found.push(
                Diagnosis::new(
                    "dependency-missing",
                    format!("CSV `{}`", candidate.csv),
                    format!("the bundle depends on package `{name}`, which no subscription of the cluster installs"),
                )
                .help("install it first, or make sure that a catalog of the namespace or of OLM has it; --force continues without it"),
            );
        }
    }
    found
}

/// Reports CRDs that the bundle requires and the cluster does not serve.
///
/// Source: `requirementStatus` of `pkg/controller/operators/olm/requirements.go` of operator-lifecycle-manager.
fn required(snapshot: &Snapshot, candidate: &Candidate, found: &mut Vec<Diagnosis>) {
    if snapshot.unreadable.contains_key(kinds::CRD.kind) {
        return;
    }
    for (name, version) in &candidate.required {
        let served = |one: &&Value| one["name"] == **version && one["served"] == true;
        let (reason, message, help) = match crd(snapshot, name) {
            Some(crd) if list(crd, "/spec/versions").iter().any(|one| served(&one)) => continue,
            Some(_) => (
                "required-crd-version-missing",
                format!(
                    "the bundle requires version `{version}` of CRD `{name}`, which the cluster does not serve"
                ),
                "upgrade the operator that owns it first; --force continues without it",
            ),
            None => (
                "required-crd-missing",
                format!("the bundle requires CRD `{name}`, which the cluster does not have"),
                "install the operator that owns it first, or add its catalog to the namespace; --force continues without it",
            ),
        };
        found.push(Diagnosis::new(reason, format!("CSV `{}`", candidate.csv), message).help(help));
    }
}

fn kubernetes(candidate: &Candidate, kube_version: &str, found: &mut Vec<Diagnosis>) {
    let wanted = candidate.min_kube_version.trim_start_matches('v');
    let (Ok(minimum), Ok(actual)) = (version::tolerant(wanted), version::tolerant(kube_version)) else {
        return;
    };
    // OLM compares without what vendors append.
    if (actual.major, actual.minor, actual.patch) < (minimum.major, minimum.minor, minimum.patch) {
        found.push(
            Diagnosis::new(
                "kubernetes-too-old",
                format!("CSV `{}`", candidate.csv),
                format!("the bundle requires Kubernetes {wanted}, and the cluster runs {kube_version}"),
            )
            .help("upgrade the cluster, or lower spec.minKubeVersion of the CSV"),
        );
    }
}

/// Reports CRDs that another operator owns: an API can have one operator in a namespace.
fn owners(snapshot: &Snapshot, candidate: &Candidate, found: &mut Vec<Diagnosis>) {
    for csv in snapshot.objects(kinds::CSV) {
        if string(csv, "/status/reason") == "Copied" {
            continue;
        }
        if name_of(csv) == candidate.csv {
            if namespace_of(csv) != candidate.namespace && watches(csv, &candidate.namespace) {
                found.push(
                    Diagnosis::new(
                        "already-installed",
                        object(kinds::CSV, csv),
                        format!(
                            "`{}` in namespace `{}` already watches namespace `{}`, where OLM keeps a copy of its CSV",
                            candidate.csv,
                            namespace_of(csv),
                            candidate.namespace
                        ),
                    )
                    .help(format!(
                        "uninstall it first: bundle-tool cleanup {} -n {}",
                        candidate.package,
                        namespace_of(csv)
                    )),
                );
                continue;
            }
            if namespace_of(csv) == candidate.namespace {
                continue;
            }
        }
        let same_package = snapshot.objects(kinds::SUBSCRIPTION).iter().any(|one| {
            namespace_of(one) == namespace_of(csv)
                && string(one, "/status/installedCSV") == name_of(csv)
                && string(one, "/spec/name") == candidate.package
                && namespace_of(one) == candidate.namespace
        });
        if same_package {
            continue;
        }
        for owned in list(csv, "/spec/customresourcedefinitions/owned") {
            let name = string(owned, "/name");
            if candidate.owned.iter().any(|one| one == name) {
                found.push(
                    Diagnosis::new(
                        "api-conflict",
                        object(kinds::CSV, csv),
                        format!("CRD `{name}` is already owned by `{}` in namespace `{}`", name_of(csv), namespace_of(csv)),
                    )
                    .help("uninstall it first; --force continues anyway, which OLM allows if they watch different namespaces"),
                );
                break;
            }
        }
    }
}

/// Returns whether the operator of a CSV watches a namespace, as OLM has annotated it.
fn watches(csv: &Value, namespace: &str) -> bool {
    let targets = csv.pointer("/metadata/annotations/olm.targetNamespaces").and_then(Value::as_str);
    targets.is_some_and(|targets| targets.is_empty() || targets.split(',').any(|one| one == namespace))
}

/// Returns the CRD in the snapshot.
#[must_use]
pub fn crd<'s>(snapshot: &'s Snapshot, name: &str) -> Option<&'s Value> {
    snapshot.objects(kinds::CRD).iter().find(|crd| name_of(crd) == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn candidate(modes: &[&str]) -> Candidate {
        Candidate {
            package: "gizmo".into(),
            csv: "gizmo.v1.0.0".into(),
            namespace: "own".into(),
            modes: modes.iter().map(|mode| (*mode).to_owned()).collect(),
            min_kube_version: "1.30".into(),
            owned: vec!["gizmos.example.com".into()],
            required: vec![("parts.example.com".into(), "v1".into())],
            packages: vec!["supplier".into()],
            create_namespace: false,
            is_upgrade: false,
        }
    }

    fn with_groups(groups: &[&[&str]]) -> Snapshot {
        let mut snapshot = Snapshot::default();
        for (index, targets) in groups.iter().enumerate() {
            snapshot.extend(
                kinds::OPERATOR_GROUP,
                [json!({
                    "metadata": {"name": format!("group-{index}"), "namespace": "own"},
                    "spec": {"targetNamespaces": targets},
                })],
            );
        }
        snapshot
    }

    #[test]
    fn the_operator_group_fits_the_install_modes() {
        type Case<'c> =
            (&'c [&'c str], &'c [&'c [&'c str]], Option<&'c str>, Result<Option<&'c [&'c str]>, &'c str>);
        let all = ["AllNamespaces", "OwnNamespace", "SingleNamespace"];
        let cases: &[Case<'_>] = &[
            (&all, &[], None, Ok(Some(&[]))),
            (&all[1..], &[], None, Ok(Some(&["own"]))),
            (&all[2..], &[], None, Err("needs the namespaces")),
            (&all, &[], Some("SingleNamespace=other"), Ok(Some(&["other"]))),
            (&all, &[], Some("SingleNamespace=own"), Err("names the operator's own namespace")),
            (&all, &[], Some("OwnNamespace=other"), Err("does not allow namespace `other`")),
            (&all, &[], Some("MultiNamespace=a,b"), Err("does not support install mode `MultiNamespace`")),
            (&all, &[&[]], None, Ok(None)),
            (&all[1..], &[&[]], None, Err("requires install mode `AllNamespaces`")),
            (&all, &[&["a", "b"]], None, Err("requires install mode `MultiNamespace`")),
            (&all, &[&["own"]], Some("OwnNamespace"), Ok(None)),
            (&all, &[&["own"]], Some("AllNamespaces"), Err("selects `own`")),
            (&all, &[&[], &["own"]], None, Err("has 2 OperatorGroups")),
        ];
        for (modes, groups, requested, expected) in cases {
            let requested = requested.map(|mode| mode.parse::<InstallMode>().unwrap());
            let found = operator_group(&with_groups(groups), &candidate(modes), requested.as_ref());
            match (found, expected) {
                (Ok(found), Ok(expected)) => {
                    let expected = expected.map(|names| names.iter().map(|one| (*one).to_owned()).collect());
                    assert_eq!(found, expected, "{modes:?} {groups:?} {requested:?}");
                }
                (Err(problem), Err(text)) => assert!(problem.message.contains(text), "{}", problem.message),
                (found, expected) => {
                    panic!("{found:?}, expected {expected:?}: {modes:?} {groups:?} {requested:?}")
                }
            }
        }
        for wrong in ["Own", "SingleNamespace", "SingleNamespace=a,b", "AllNamespaces=a", "MultiNamespace="] {
            assert!(wrong.parse::<InstallMode>().is_err(), "{wrong}");
        }
    }

    fn reasons(snapshot: &Snapshot, version: &str) -> Vec<&'static str> {
        problems(snapshot, &candidate(&["OwnNamespace"]), version).iter().map(|one| one.reason).collect()
    }

    fn parts(version: &str) -> Value {
        json!({"metadata": {"name": "parts.example.com"}, "spec": {"versions": [
            {"name": version, "served": true}, {"name": "v1beta1", "served": false},
        ]}})
    }

    #[test]
    fn what_is_known_before_anything_is_created() {
        let mut snapshot = Snapshot::default();
        assert_eq!(reasons(&snapshot, "1.34.0"), ["namespace-missing"]);
        snapshot.extend(kinds::NAMESPACE, [json!({"metadata": {"name": "own"}})]);
        assert_eq!(
            reasons(&snapshot, "1.29.5+k3s1"),
            ["kubernetes-too-old", "required-crd-missing", "dependency-missing"]
        );
        let mut other = snapshot.clone();
        other.extend(kinds::CRD, [parts("v1alpha1")]);
        assert_eq!(reasons(&other, "1.30.0"), ["required-crd-version-missing", "dependency-missing"]);
        snapshot.extend(kinds::CRD, [parts("v1")]);
        snapshot.extend(
            kinds::SUBSCRIPTION,
            [
                json!({"metadata": {"name": "s", "namespace": "other"}, "spec": {"name": "supplier"}}),
                json!({"metadata": {"name": "mine", "namespace": "own"}, "spec": {"name": "gizmo"}}),
            ],
        );
        snapshot.extend(
            kinds::CATALOG_SOURCE,
            [json!({"metadata": {"name": "gizmo-catalog", "namespace": "own"}})],
        );
        snapshot.extend(
            kinds::CSV,
            [json!({
                "metadata": {"name": "gadget.v1", "namespace": "other"},
                "spec": {"customresourcedefinitions": {"owned": [{"name": "gizmos.example.com"}]}},
            })],
        );
        assert_eq!(reasons(&snapshot, "1.30.0"), ["already-subscribed", "name-taken", "api-conflict"]);
        // The same operator for all namespaces, for one of its own, and the copy of one.
        for (targets, status, expected) in [
            (json!(""), "Succeeded", &["already-installed"][..]),
            (json!("else,own"), "Succeeded", &["already-installed"]),
            (json!("else"), "Succeeded", &["api-conflict"]),
            (json!(""), "Copied", &[]),
        ] {
            let mut snapshot = Snapshot::default();
            snapshot.extend(kinds::NAMESPACE, [json!({"metadata": {"name": "own"}})]);
            snapshot.extend(kinds::CRD, [parts("v1")]);
            snapshot.extend(
                kinds::SUBSCRIPTION,
                [json!({"metadata": {"name": "s", "namespace": "other"}, "spec": {"name": "supplier"}})],
            );
            snapshot.extend(
                kinds::CSV,
                [json!({
                    "metadata": {
                        "name": "gizmo.v1.0.0", "namespace": "else",
                        "annotations": {"olm.targetNamespaces": targets},
                    },
                    "spec": {"customresourcedefinitions": {"owned": [{"name": "gizmos.example.com"}]}},
                    "status": {"reason": status},
                })],
            );
            assert_eq!(reasons(&snapshot, "1.30.0"), expected, "{targets}");
        }
    }
}

//! The plan of a move from OLM v0 to OLM v1: what blocks it, what is applied, and what of OLM v0 is deleted, in order.
//!
//! A pure function of a bundle and observed objects. Nothing that the plan deletes takes CRDs or their objects with it:
//! OLM v0 does not make a CSV the owner of its CRDs.
//!
//! Sources: `api/v1` of operator-controller 1.11, `internal/operator-controller/applier/helm.go`, and Helm's
//! `pkg/action/validate.go`, which adopts an existing object only with the release's label and annotations.

use std::fmt::Write as _;

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::manifests::{ClusterCatalog, ClusterExtension, namespace};
use crate::cluster::diagnose::object as named;
use crate::cluster::kinds;
use crate::cluster::snapshot::{Snapshot, list, name_of, namespace_of, string, strings};
use crate::model::yaml;

/// The field of a `Subscription`'s configuration that OLM v1 does not have.
const SELECTOR: &str = "selector";

/// Something that keeps an operator from being moved.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Blocker {
    /// The rule of `validate`, or a name of the reason.
    pub reason: String,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub help: String,
}

impl Blocker {
    /// Returns a blocker.
    #[must_use]
    pub fn new(reason: &str, message: impl Into<String>, help: impl Into<String>) -> Self {
        Self { reason: reason.to_owned(), message: message.into(), help: help.into() }
    }
}

/// One step of the move.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Step {
    /// What the step does.
    pub text: String,
    /// The commands.
    pub commands: Vec<String>,
    /// What is applied before the commands.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub manifests: Vec<Value>,
}

/// How an operator is moved.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Plan {
    /// The package.
    pub package: String,
    /// The bundle: its CSV's name.
    pub bundle: String,
    /// The namespace of the operator.
    pub namespace: String,
    /// Whether the operator can be moved.
    pub movable: bool,
    /// Whether all manifests of the bundle were checked.
    pub complete: bool,
    /// What blocks the move.
    pub blockers: Vec<Blocker>,
    /// What changes with the move.
    pub notes: Vec<String>,
    /// What to do, in order; nothing if the move is blocked.
    pub steps: Vec<Step>,
}

/// What is known of an operator that is to be moved.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Operator {
    /// The bundle: its CSV's name.
    pub bundle: String,
    /// The `ClusterExtension`.
    pub extension: ClusterExtension,
    /// The `ClusterCatalog`.
    pub catalog: Option<ClusterCatalog>,
    /// Whether some manifests of the bundle are not at hand, so that they are not checked.
    pub is_partial: bool,
    /// What blocks the move.
    pub blockers: Vec<Blocker>,
    /// What changes with the move.
    pub notes: Vec<String>,
    /// What is installed; nothing if the plan is for no particular cluster.
    pub installed: Option<Installed>,
}

/// What OLM v0 has installed on a cluster.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Installed {
    /// The CSV's object.
    pub csv: Value,
    /// The `Subscription`.
    subscription: String,
    /// `OperatorGroup`s that nothing else needs.
    groups: Vec<String>,
    /// The `CatalogSource` in a namespace, if nothing else needs it.
    source: Option<(String, String)>,
    /// The names of the owned CRDs.
    pub crds: Vec<String>,
    /// Whether OLM v0 deletes the objects of the CRDs with the CSV.
    deletes_objects: bool,
    /// Whether upgrades are installed without approval.
    is_automatic: bool,
}

/// Why no operator was found.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum NotFound {
    /// There is no subscription.
    #[error("package `{0}` is not installed: no Subscription names it")]
    Package(String),
    /// There are several subscriptions.
    #[error(
        "package `{package}` is installed in several namespaces: {namespaces}; choose one with --namespace"
    )]
    Several {
        /// The package.
        package: String,
        /// The namespaces.
        namespaces: String,
    },
    /// The subscription has installed nothing.
    #[error(
        "subscription `{name}` of package `{package}` has installed nothing yet; run `bundle-tool doctor {package}`"
    )]
    Nothing {
        /// The package.
        package: String,
        /// The subscription.
        name: String,
    },
}

/// Returns what is known of an installed operator.
///
/// # Errors
/// The package is not installed, or in several namespaces and none is given.
pub fn observe(snapshot: &Snapshot, package: &str, within: Option<&str>) -> Result<Operator, NotFound> {
    let all: Vec<&Value> =
        snapshot.of(kinds::SUBSCRIPTION).iter().filter(|one| string(one, "/spec/name") == package).collect();
    let here: Vec<&Value> = all
        .iter()
        .copied()
        .filter(|one| within.is_none_or(|namespace| namespace_of(one) == namespace))
        .collect();
    let subscription = match here[..] {
        [] => return Err(NotFound::Package(package.to_owned())),
        [one] => one,
        _ => {
            let mut namespaces: Vec<String> =
                here.iter().map(|one| format!("`{}`", namespace_of(one))).collect();
            namespaces.sort();
            namespaces.dedup();
            return Err(NotFound::Several { package: package.to_owned(), namespaces: namespaces.join(", ") });
        }
    };
    let namespace = namespace_of(subscription);
    let name = string(subscription, "/status/installedCSV");
    let csv = snapshot.get(kinds::CSV, namespace, name).filter(|_| !name.is_empty());
    let Some(csv) = csv else {
        let name = name_of(subscription).to_owned();
        return Err(NotFound::Nothing { package: package.to_owned(), name });
    };
    let mut operator = Operator {
        bundle: name.to_owned(),
        extension: ClusterExtension {
            name: package.to_owned(),
            namespace: namespace.to_owned(),
            package: package.to_owned(),
            channel: string(subscription, "/spec/channel").to_owned(),
            // Moving and upgrading at once would make it unclear what a failure comes from.
            version: string(csv, "/spec/version").to_owned(),
            ..ClusterExtension::default()
        },
        ..Operator::default()
    };
    operator.state(snapshot, subscription, csv);
    for other in all.iter().filter(|one| namespace_of(one) != namespace) {
        operator.blockers.push(Blocker::new(
            "installed-several-times",
            format!("package `{package}` is also installed in namespace `{}`", namespace_of(other)),
            "remove the other installation: OLM v1 installs an operator once in a cluster",
        ));
    }
    operator.catalog(snapshot, subscription);
    operator.watched(snapshot, csv);
    operator.config(subscription);
    operator.dependents(snapshot, csv);
    operator.installed = Some(installed(snapshot, subscription, csv));
    Ok(operator)
}

/// Returns what is deleted of OLM v0, and what the deletion has to heed.
fn installed(snapshot: &Snapshot, subscription: &Value, csv: &Value) -> Installed {
    let namespace = namespace_of(subscription);
    let is_other = |one: &&Value| namespace_of(one) != namespace || name_of(one) != name_of(subscription);
    let mut others = snapshot.of(kinds::SUBSCRIPTION).iter().filter(is_other);
    let (source, source_namespace) =
        (string(subscription, "/spec/source"), string(subscription, "/spec/sourceNamespace"));
    // The catalogs of OLM itself are not those of one operator.
    let is_own = source_namespace == namespace
        && snapshot.get(kinds::CATALOG_SOURCE, source_namespace, source).is_some()
        && !others.clone().any(|one| {
            string(one, "/spec/source") == source && string(one, "/spec/sourceNamespace") == source_namespace
        });
    let needed = others.any(|one| namespace_of(one) == namespace)
        || snapshot.within(kinds::CSV, namespace).any(|one| name_of(one) != name_of(csv));
    let groups = snapshot.within(kinds::OPERATOR_GROUP, namespace).filter(|_| !needed);
    let mut crds: Vec<String> = list(csv, "/spec/customresourcedefinitions/owned")
        .iter()
        .map(|crd| string(crd, "/name").to_owned())
        .collect();
    crds.sort();
    crds.dedup();
    Installed {
        csv: csv.clone(),
        subscription: name_of(subscription).to_owned(),
        groups: groups.map(|group| name_of(group).to_owned()).collect(),
        source: is_own.then(|| (source_namespace.to_owned(), source.to_owned())),
        crds,
        deletes_objects: csv["spec"]["cleanup"]["enabled"] == true,
        is_automatic: string(subscription, "/spec/installPlanApproval") != "Manual",
    }
}

impl Operator {
    /// Adds what the state of the installation blocks.
    fn state(&mut self, snapshot: &Snapshot, subscription: &Value, csv: &Value) {
        let namespace = namespace_of(subscription);
        let package = string(subscription, "/spec/name");
        let phase = string(csv, "/status/phase");
        if phase != "Succeeded" {
            let phase = if phase.is_empty() { "no phase".to_owned() } else { format!("phase `{phase}`") };
            self.blockers.push(Blocker::new(
                "csv-not-succeeded",
                format!("{} has {phase}, not `Succeeded`", named(kinds::CSV, csv)),
                format!("run `bundle-tool doctor {package} -n {namespace}`"),
            ));
        }
        for plan in snapshot.within(kinds::INSTALL_PLAN, namespace) {
            let names: Vec<&str> = strings(plan, "/spec/clusterServiceVersionNames").collect();
            let next = string(subscription, "/status/currentCSV");
            if !names.contains(&name_of(csv)) && !names.contains(&next) {
                continue;
            }
            match string(plan, "/status/phase") {
                "RequiresApproval" => self.notes.push(format!(
                    "{} waits for approval and installs {}: the subscription's deletion withdraws it",
                    named(kinds::INSTALL_PLAN, plan),
                    names.join(", ")
                )),
                "Installing" | "Planning" => self.blockers.push(Blocker::new(
                    "install-plan-running",
                    format!("{} is not complete", named(kinds::INSTALL_PLAN, plan)),
                    "wait until it is complete",
                )),
                _ => {}
            }
        }
    }

    /// Turns the `CatalogSource` into a `ClusterCatalog`.
    fn catalog(&mut self, snapshot: &Snapshot, subscription: &Value) {
        let (name, namespace) =
            (string(subscription, "/spec/source"), string(subscription, "/spec/sourceNamespace"));
        let source = snapshot.get(kinds::CATALOG_SOURCE, namespace, name);
        let image = source.map(|source| string(source, "/spec/image")).unwrap_or_default();
        name.clone_into(&mut self.extension.catalog);
        self.catalog = Some(ClusterCatalog {
            name: name.to_owned(),
            image: image.to_owned(),
            poll_minutes: source
                .map(|source| string(source, "/spec/updateStrategy/registryPoll/interval"))
                .filter(|interval| !interval.is_empty())
                .and_then(minutes),
            priority: source.and_then(|source| source["spec"]["priority"].as_i64()).unwrap_or_default(),
        });
        let secrets: Vec<_> =
            source.into_iter().flat_map(|source| strings(source, "/spec/secrets")).collect();
        if !secrets.is_empty() {
            self.notes.push(format!(
                "CatalogSource `{namespace}/{name}` names pull secrets ({}): catalogd uses only the cluster's global pull secret",
                secrets.join(", ")
            ));
        }
    }

    /// Sets what the operator watches, after its `OperatorGroup`.
    fn watched(&mut self, snapshot: &Snapshot, csv: &Value) {
        let namespace = self.extension.namespace.clone();
        let groups: Vec<&Value> = snapshot.within(kinds::OPERATOR_GROUP, &namespace).collect();
        let [group] = groups[..] else {
            self.blockers.push(Blocker::new(
                "operator-groups-conflict",
                format!("namespace `{namespace}` has {} OperatorGroups, not one", groups.len()),
                format!("run `bundle-tool doctor -n {namespace}`"),
            ));
            return;
        };
        let account = string(group, "/spec/serviceAccountName");
        if !account.is_empty() {
            self.notes.push(format!(
                "{} installs with the service account `{account}`: OLM v1 installs with its own, which is cluster-admin, and \
                 ignores spec.serviceAccount of the ClusterExtension since operator-controller 1.11",
                named(kinds::OPERATOR_GROUP, group)
            ));
        }
        let observed: Vec<&str> = strings(group, "/status/namespaces").collect();
        let targets: Vec<&str> =
            if observed.is_empty() { strings(group, "/spec/targetNamespaces").collect() } else { observed };
        let modes = list(csv, "/spec/installModes");
        let supports =
            |name: &str| modes.iter().any(|mode| mode["type"] == name && mode["supported"] == true);
        match targets[..] {
            [] | [""] => {}
            [one] => {
                self.extension.config.insert("watchNamespace".into(), one.into());
                let instead = if supports("AllNamespaces") {
                    ", or remove spec.config: then the operator watches all namespaces"
                } else {
                    ""
                };
                self.notes.push(format!(
                    "{} makes the operator watch namespace `{one}` only: spec.config.inline.watchNamespace needs the \
                     experimental ClusterExtension API and the feature gate SingleOwnNamespaceInstallSupport{instead}",
                    named(kinds::OPERATOR_GROUP, group)
                ));
            }
            _ => {
                let mut names: Vec<String> = targets.iter().map(|name| format!("`{name}`")).collect();
                names.sort();
                self.blockers.push(Blocker::new(
                    "namespaces-several",
                    format!(
                        "{} makes the operator watch several namespaces: {}",
                        named(kinds::OPERATOR_GROUP, group),
                        names.join(", ")
                    ),
                    if supports("AllNamespaces") {
                        "let the operator watch all namespaces with OLM v0 first: OLM v1 watches one or all"
                    } else {
                        "OLM v1 watches one namespace or all"
                    },
                ));
            }
        }
    }

    /// Turns the configuration of the `Subscription` into that of the `ClusterExtension`.
    fn config(&mut self, subscription: &Value) {
        let Some(config) = subscription.pointer("/spec/config").and_then(Value::as_object) else { return };
        let mut kept: Map<String, Value> = config.clone();
        if kept.remove(SELECTOR).is_some() {
            self.notes.push("spec.config.selector of the Subscription has no counterpart in OLM v1".into());
        }
        if kept.is_empty() {
            return;
        }
        self.notes.push(
            "spec.config of the Subscription becomes spec.config.inline.deploymentConfig, which needs the experimental \
             ClusterExtension API and the feature gate DeploymentConfig"
                .into(),
        );
        self.extension.config.insert("deploymentConfig".into(), kept.into());
    }

    /// Notes the operators of OLM v0 that need this one.
    fn dependents(&mut self, snapshot: &Snapshot, csv: &Value) {
        let owned: Vec<&str> = list(csv, "/spec/customresourcedefinitions/owned")
            .iter()
            .map(|crd| string(crd, "/name"))
            .collect();
        for other in snapshot.of(kinds::CSV) {
            if namespace_of(other) == namespace_of(csv) && name_of(other) == name_of(csv) {
                continue;
            }
            let required = list(other, "/spec/customresourcedefinitions/required");
            let needed = required.iter().map(|crd| string(crd, "/name")).find(|name| owned.contains(name));
            if let Some(crd) = needed {
                self.notes.push(format!(
                    "{} requires CRD `{crd}`: it goes on working, but OLM v0 may install this operator again as its \
                     dependency when it resolves in that namespace",
                    named(kinds::CSV, other)
                ));
            }
        }
    }

    /// Returns the plan.
    #[must_use]
    pub fn plan(mut self) -> Plan {
        if let Some(catalog) = self.catalog.as_ref().filter(|catalog| catalog.image.is_empty()) {
            self.blockers.push(Blocker::new(
                "catalog-image-unknown",
                format!("CatalogSource `{}` names no image, which a ClusterCatalog needs", catalog.name),
                "push the catalog as an image, and name it with --catalog-image",
            ));
        }
        self.blockers.sort();
        self.blockers.dedup();
        self.notes.sort();
        self.notes.dedup();
        let steps = if self.blockers.is_empty() { self.steps() } else { Vec::new() };
        Plan {
            package: self.extension.package,
            bundle: self.bundle,
            namespace: self.extension.namespace,
            movable: self.blockers.is_empty(),
            complete: !self.is_partial,
            blockers: self.blockers,
            notes: self.notes,
            steps,
        }
    }

    fn steps(&self) -> Vec<Step> {
        let mut steps = Vec::new();
        let mut step = |text: String, commands: Vec<String>, manifests: Vec<Value>| {
            steps.push(Step { text, commands, manifests });
        };
        let space = &shell(&self.extension.namespace);
        if let Some(installed) = &self.installed {
            let mut objects = vec![format!("subscriptions.operators.coreos.com/{}", installed.subscription)];
            objects.push(format!("clusterserviceversions.operators.coreos.com/{}", self.bundle));
            objects.extend(
                installed.groups.iter().map(|name| format!("operatorgroups.operators.coreos.com/{name}")),
            );
            let objects: Vec<String> = objects.iter().map(|name| shell(name)).collect();
            let file = shell(&format!("{}-olmv0.yaml", self.extension.package));
            step(
                "save what is deleted below".into(),
                vec![format!("kubectl get -n {space} {} -o yaml > {file}", objects.join(" "))],
                Vec::new(),
            );
        }
        if let Some(catalog) = &self.catalog {
            step(
                format!("create ClusterCatalog `{}`, and wait until it is served", catalog.name),
                vec![format!(
                    "kubectl wait --for=condition=Serving --timeout=5m {}",
                    shell(&format!("clustercatalog/{}", catalog.name))
                )],
                vec![catalog.object()],
            );
        }
        if let Some(installed) = &self.installed {
            step(
                "delete the Subscription, so that OLM v0 does not install the operator again".into(),
                vec![delete(space, "subscriptions.operators.coreos.com", &installed.subscription)],
                Vec::new(),
            );
            if installed.deletes_objects {
                let csv = shell(&format!("clusterserviceversions.operators.coreos.com/{}", self.bundle));
                step(
                    "keep OLM v0 from deleting the objects of the CRDs with the CSV (spec.cleanup)".into(),
                    vec![format!(
                        "kubectl patch -n {space} {csv} --type merge -p '{{\"spec\":{{\"cleanup\":{{\"enabled\":false}}}}}}'"
                    )],
                    Vec::new(),
                );
            }
            step(
                "delete the CSV: the operator stops, and its CRDs and their objects stay".into(),
                vec![delete(space, "clusterserviceversions.operators.coreos.com", &self.bundle)],
                Vec::new(),
            );
            if !installed.crds.is_empty() {
                step(
                    "let OLM v1 adopt the CRDs: its installer, Helm, takes over objects with these marks only".into(),
                    adoption(&installed.crds, &self.extension),
                    Vec::new(),
                );
            }
        }
        let extension = &self.extension;
        let created = self.installed.is_none().then(|| namespace(&extension.namespace)).into_iter();
        let name = shell(&format!("clusterextension/{}", extension.name));
        step(
            format!("create ClusterExtension `{}`, and wait until it is installed", extension.name),
            vec![format!("kubectl wait --for=condition=Installed --timeout=10m {name}")],
            created.chain([extension.object()]).collect(),
        );
        let Some(installed) = &self.installed else { return steps };
        let groups =
            installed.groups.iter().map(|name| delete(space, "operatorgroups.operators.coreos.com", name));
        let source = installed
            .source
            .iter()
            .map(|(namespace, name)| delete(&shell(namespace), "catalogsources.operators.coreos.com", name));
        let rest: Vec<String> = groups.chain(source).collect();
        if !rest.is_empty() {
            steps.push(Step {
                text: "delete what no other operator of OLM v0 needs".into(),
                commands: rest,
                manifests: Vec::new(),
            });
        }
        if installed.is_automatic && !extension.version.is_empty() {
            steps.push(Step {
                text: "permit upgrades again, as the Subscription did".into(),
                commands: vec![format!(
                    "kubectl patch {name} --type json -p '[{{\"op\":\"remove\",\"path\":\"/spec/source/catalog/version\"}}]'"
                )],
                manifests: Vec::new(),
            });
        }
        steps
    }
}

/// Returns the commands that mark CRDs as objects of the extension's Helm release.
fn adoption(crds: &[String], extension: &ClusterExtension) -> Vec<String> {
    let names: Vec<String> = crds.iter().map(|name| shell(name)).collect();
    let names = names.join(" ");
    let mut annotate = format!("kubectl annotate crd {names}");
    for (key, value) in [("name", &extension.name), ("namespace", &extension.namespace)] {
        // Writing to a string cannot fail.
        let _ = write!(annotate, " {}", shell(&format!("meta.helm.sh/release-{key}={value}")));
    }
    vec![format!("kubectl label crd {names} app.kubernetes.io/managed-by=Helm --overwrite"), annotate]
}

fn delete(namespace: &str, resource: &str, name: &str) -> String {
    format!("kubectl delete -n {namespace} {}", shell(&format!("{resource}/{name}")))
}

/// Returns a word of a shell command.
fn shell(word: &str) -> String {
    let is_plain = |char: char| char.is_ascii_alphanumeric() || "-._/:@=+".contains(char);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// Returns a duration of Go such as `45m` or `1h30m` in minutes, rounded up.
fn minutes(text: &str) -> Option<u64> {
    let duration: jiff::SignedDuration = text.parse().ok()?;
    u64::try_from(duration.as_secs()).ok().map(|seconds| seconds.div_ceil(60))
}

/// Returns the text of a bundle with what OLM v0 knows of it: the CSV without what OLM v0 added, and its properties.
///
/// The second is `metadata/properties.yaml`: what the resolver recorded of the bundle's dependencies, without the
/// required APIs, which the CSV lists.
#[must_use]
pub fn bundle_of(csv: &Value) -> (Value, Value) {
    const PROPERTIES: &str = "operatorframework.io/properties";
    let mut metadata = Map::new();
    metadata.insert("name".into(), name_of(csv).into());
    let annotations = csv.pointer("/metadata/annotations").and_then(Value::as_object);
    if let Some(text) = annotations.and_then(|all| all.get("olm.properties")) {
        metadata.insert("annotations".into(), json!({"olm.properties": text}));
    }
    let manifest = json!({
        "apiVersion": kinds::CSV.api_version, "kind": kinds::CSV.kind,
        "metadata": metadata, "spec": csv["spec"],
    });
    let recorded: Value = annotations
        .and_then(|all| all.get(PROPERTIES)?.as_str())
        .and_then(|text| serde_json::from_str(text).ok())
        .unwrap_or_default();
    (manifest, properties(list(&recorded, "/properties"), csv))
}

/// Returns `metadata/properties.yaml` with the properties that a catalog or OLM v0 has of a bundle, without the required
/// APIs that the CSV lists, objects and metadata.
#[must_use]
pub fn properties(all: &[Value], csv: &Value) -> Value {
    let required = list(csv, "/spec/customresourcedefinitions/required");
    let is_listed = |value: &Value| {
        required.iter().any(|crd| crd["kind"] == value["kind"] && crd["version"] == value["version"])
    };
    let kept = all.iter().filter(|property| match string(property, "/type") {
        "olm.package" | "olm.gvk" | "olm.bundle.object" | "olm.csv.metadata" => false,
        "olm.gvk.required" => !is_listed(&property["value"]),
        _ => true,
    });
    json!({"properties": kept.collect::<Vec<_>>()})
}

/// Returns the manifests of plans, each once, as YAML documents.
#[must_use]
pub fn yaml(plans: &[Plan]) -> String {
    let mut seen = std::collections::HashSet::new();
    let all = plans.iter().flat_map(|plan| &plan.steps).flat_map(|step| &step.manifests);
    let texts = all.map(yaml::emit).filter(|text| seen.insert(text.clone()));
    texts.map(|text| format!("---\n{text}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn snapshot(change: impl Fn(&mut Value)) -> Snapshot {
        let mut all = json!({"items": [
            {"apiVersion": "operators.coreos.com/v1alpha1", "kind": "Subscription",
             "metadata": {"name": "gizmo", "namespace": "gizmos"},
             "spec": {"name": "gizmo", "channel": "stable", "source": "cat", "sourceNamespace": "gizmos",
                      "config": {"env": [{"name": "A", "value": "b"}], "selector": {}}},
             "status": {"installedCSV": "gizmo.v1.2.0", "currentCSV": "gizmo.v1.2.0"}},
            {"apiVersion": "operators.coreos.com/v1alpha1", "kind": "ClusterServiceVersion",
             "metadata": {"name": "gizmo.v1.2.0", "namespace": "gizmos"},
             "spec": {"version": "1.2.0", "cleanup": {"enabled": true},
                      "customresourcedefinitions": {"owned": [{"name": "gizmos.example.com"}]},
                      "installModes": [{"type": "AllNamespaces", "supported": true},
                                       {"type": "SingleNamespace", "supported": true}]},
             "status": {"phase": "Succeeded"}},
            {"apiVersion": "operators.coreos.com/v1", "kind": "OperatorGroup",
             "metadata": {"name": "group", "namespace": "gizmos"},
             "spec": {"serviceAccountName": "installer"}, "status": {"namespaces": ["team-a"]}},
            {"apiVersion": "operators.coreos.com/v1alpha1", "kind": "CatalogSource",
             "metadata": {"name": "cat", "namespace": "gizmos"},
             "spec": {"image": "quay.io/example/catalog:v1", "priority": 5, "secrets": ["pull"],
                      "updateStrategy": {"registryPoll": {"interval": "1h30m"}}}},
        ]});
        change(&mut all);
        let mut snapshot = Snapshot::default();
        snapshot.add(all);
        snapshot
    }

    fn add(all: &mut Value, object: Value) {
        all["items"].as_array_mut().unwrap().push(object);
    }

    fn reasons(plan: &Plan) -> Vec<&str> {
        plan.blockers.iter().map(|blocker| blocker.reason.as_str()).collect()
    }

    #[test]
    fn nothing_that_is_deleted_takes_objects_with_it() {
        let plan = observe(&snapshot(|_| {}), "gizmo", None).unwrap().plan();
        assert_eq!(reasons(&plan), Vec::<&str>::new());
        insta::assert_snapshot!("migrate-plan", serde_json::to_string_pretty(&plan).unwrap());
        // What deletes the objects is switched off before, and no command deletes a CRD.
        let commands: Vec<&String> = plan.steps.iter().flat_map(|step| &step.commands).collect();
        let at = |text: &str| commands.iter().position(|command| command.contains(text)).unwrap();
        assert!(at("\"cleanup\"") < at("delete -n gizmos clusterserviceversions"));
        assert!(at("delete -n gizmos subscriptions") < at("delete -n gizmos clusterserviceversions"));
        assert!(!commands.iter().any(|command| command.contains("delete crd")));
    }

    #[test]
    fn what_others_need_is_kept() {
        let other = json!({"apiVersion": "operators.coreos.com/v1alpha1", "kind": "Subscription",
            "metadata": {"name": "other", "namespace": "gizmos"},
            "spec": {"name": "other", "source": "cat", "sourceNamespace": "gizmos"}});
        let snapshot = snapshot(|all| add(all, other.clone()));
        let plan = observe(&snapshot, "gizmo", Some("gizmos")).unwrap().plan();
        let commands: Vec<&String> = plan.steps.iter().flat_map(|step| &step.commands).collect();
        assert!(!commands.iter().any(|one| one.contains("delete") && one.contains("operatorgroups")));
        assert!(!commands.iter().any(|one| one.contains("delete") && one.contains("catalogsources")));
    }

    #[test]
    fn the_state_of_the_installation_blocks() {
        let blocked = |change: &dyn Fn(&mut Value)| {
            let plan = observe(&snapshot(change), "gizmo", None).unwrap().plan();
            assert!(plan.steps.is_empty() && !plan.movable);
            reasons(&plan).join(",")
        };
        assert_eq!(blocked(&|all| all["items"][1]["status"]["phase"] = "Failed".into()), "csv-not-succeeded");
        assert_eq!(
            blocked(&|all| all["items"][2]["status"]["namespaces"] = json!(["a", "b"])),
            "namespaces-several"
        );
        assert_eq!(blocked(&|all| all["items"][2]["kind"] = "Other".into()), "operator-groups-conflict");
        assert_eq!(blocked(&|all| all["items"][3]["spec"]["image"] = "".into()), "catalog-image-unknown");
        let plan = |phase: &str| {
            json!({"apiVersion": "operators.coreos.com/v1alpha1", "kind": "InstallPlan",
                "metadata": {"name": "install-a", "namespace": "gizmos"},
                "spec": {"clusterServiceVersionNames": ["gizmo.v1.2.0"]}, "status": {"phase": phase}})
        };
        assert_eq!(blocked(&|all| add(all, plan("Installing"))), "install-plan-running");
        let waiting = snapshot(|all| add(all, plan("RequiresApproval")));
        assert!(observe(&waiting, "gizmo", None).unwrap().plan().movable);
    }

    #[test]
    fn an_installation_is_found_or_not() {
        let error = |change: &dyn Fn(&mut Value), name: &str| {
            observe(&snapshot(change), name, None).unwrap_err().to_string()
        };
        assert!(error(&|_| {}, "other").contains("no Subscription names it"));
        assert!(
            error(&|all| all["items"][0]["status"] = json!({}), "gizmo").contains("installed nothing yet")
        );
        let twice = |all: &mut Value| {
            let mut other = all["items"][0].clone();
            other["metadata"]["namespace"] = "other".into();
            add(all, other);
        };
        assert!(error(&twice, "gizmo").contains("`gizmos`, `other`; choose one with --namespace"));
        let plan = observe(&snapshot(twice), "gizmo", Some("gizmos")).unwrap().plan();
        assert_eq!(reasons(&plan), ["installed-several-times"]);
    }

    #[test]
    fn words_of_commands_are_quoted() {
        assert_eq!(shell("a.b/c:d@e"), "a.b/c:d@e");
        assert_eq!(shell("a; rm 'x'"), r"'a; rm '\''x'\'''");
        assert_eq!(minutes("90s"), Some(2));
        assert_eq!(minutes("soon"), None);
    }
}

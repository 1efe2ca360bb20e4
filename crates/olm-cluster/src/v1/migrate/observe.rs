//! What is known of an installed operator: its objects, and what blocks a move or changes with it.

use serde_json::{Map, Value, json};

use super::plan::{Blocker, Installed, NotFound, Operator};
use crate::diagnose::object as named;
use crate::kinds;
use crate::snapshot::{Snapshot, list, name_of, namespace_of, string, strings};
use crate::v1::manifests::{ClusterCatalog, ClusterExtension};

/// The field of a `Subscription`'s configuration that OLM v1 does not have.
const SELECTOR: &str = "selector";

/// Returns what is known of an installed operator.
///
/// # Errors
/// The package is not installed, or in several namespaces and none is given.
pub fn observe(snapshot: &Snapshot, package: &str, within: Option<&str>) -> Result<Operator, NotFound> {
    let all: Vec<&Value> = snapshot
        .objects(kinds::SUBSCRIPTION)
        .iter()
        .filter(|one| string(one, "/spec/name") == package)
        .collect();
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
    let mut others = snapshot.objects(kinds::SUBSCRIPTION).iter().filter(is_other);
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
                    "{} waits for approval and installs {}: deleting the subscription withdraws it",
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
        for other in snapshot.objects(kinds::CSV) {
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
        .and_then(|text| kube_yaml::json::from_str(text).ok())
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

/// Returns a duration of Go such as `45m` or `1h30m` in minutes, rounded up.
fn minutes(text: &str) -> Option<u64> {
    let duration: jiff::SignedDuration = text.parse().ok()?;
    u64::try_from(duration.as_secs()).ok().map(|seconds| seconds.div_ceil(60))
}

#[cfg(test)]
mod tests {
    #[test]
    fn durations_are_minutes_rounded_up() {
        assert_eq!(super::minutes("90s"), Some(2));
        assert_eq!(super::minutes("soon"), None);
    }
}

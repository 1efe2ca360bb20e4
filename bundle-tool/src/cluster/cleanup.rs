//! Removes an operator: its subscription, CSV, catalog and, on request, its CRDs with their objects.

use std::time::{Duration, Instant};

use serde_json::Value;

use super::client::{Cluster, Error, Select};
use super::diagnose::{self, Problem};
use super::gather::{instances, stuck_crd};
use super::kinds::{self, Kind};
use super::manifests::{MANAGED_BY, PART_OF, catalog_name, component_label, is_ours};
use super::queries::{ANY, NOT_COPIED};
use super::snapshot::{Snapshot, list, name_of, namespace_of, string, strings};
use crate::model::text::counted;

/// The interval at which deletions are polled.
const INTERVAL: Duration = Duration::from_millis(250);
/// How long OLM may take to execute a plan; one that fails is repeated for longer.
const EXECUTION: Duration = Duration::from_secs(15);

/// What is removed beside the operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// Whether the owned CRDs are deleted, with all objects.
    pub crds: bool,
    /// Whether the `OperatorGroup` is deleted, if this program created it and no other subscription needs it.
    pub operator_group: bool,
    /// The maximum time.
    pub timeout: Duration,
}

/// An object that is deleted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// The kind.
    pub kind: Kind,
    /// The namespace; empty without one.
    pub namespace: String,
    /// The name.
    pub name: String,
}

/// Why an operator is not removed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Failure {
    /// Nothing of the package was found.
    #[error("package `{package}` is not installed in namespace `{namespace}`")]
    NotFound {
        /// The package.
        package: String,
        /// The namespace.
        namespace: String,
    },
    /// Something blocks the deletion.
    #[error("{}", .0.message)]
    Blocked(Box<Problem>),
    /// The cluster cannot be used.
    #[error(transparent)]
    Cluster(#[from] Error),
}

/// What is to be deleted, in this order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Plan {
    /// The subscription, so that OLM installs nothing again.
    pub first: Vec<Item>,
    /// The CRDs, while the operator runs and can remove its finalizers.
    pub crds: Vec<Item>,
    /// The CSV, the catalog and what serves it, the `OperatorGroup`.
    pub rest: Vec<Item>,
    /// CRDs that are kept.
    pub kept: Vec<String>,
}

impl Plan {
    /// Returns whether a `ClusterExtension` is deleted, and its CRDs with it.
    #[must_use]
    pub fn deletes_extension(&self) -> bool {
        self.first.iter().any(|item| item.kind == kinds::CLUSTER_EXTENSION)
    }

    /// Returns whether there is nothing to delete.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.first.is_empty() && self.crds.is_empty() && self.rest.is_empty()
    }
}

/// Returns what is to be deleted.
#[must_use]
pub fn plan(snapshot: &Snapshot, package: &str, namespace: &str, options: Options) -> Plan {
    let item = |kind: Kind, object: &Value| Item {
        kind,
        namespace: namespace_of(object).to_owned(),
        name: name_of(object).to_owned(),
    };
    let mut plan = Plan::default();
    let subscriptions: Vec<_> = snapshot
        .within(kinds::SUBSCRIPTION, namespace)
        .filter(|one| string(one, "/spec/name") == package)
        .collect();
    plan.first.extend(subscriptions.iter().map(|one| item(kinds::SUBSCRIPTION, one)));
    let label = component_label(package, namespace);
    for csv in snapshot.within(kinds::CSV, namespace) {
        let subscribed = subscriptions.iter().any(|one| {
            [
                string(one, "/status/installedCSV"),
                string(one, "/status/currentCSV"),
                string(one, "/spec/startingCSV"),
            ]
            .contains(&name_of(csv))
        });
        if !subscribed && csv["metadata"]["labels"].get(&label).is_none() {
            continue;
        }
        plan.rest.push(item(kinds::CSV, csv));
        for owned in list(csv, "/spec/customresourcedefinitions/owned") {
            let name = string(owned, "/name").to_owned();
            if options.crds {
                let crd = Item { kind: kinds::CRD, namespace: String::new(), name };
                if !plan.crds.contains(&crd) {
                    plan.crds.push(crd);
                }
            } else if !plan.kept.contains(&name) {
                plan.kept.push(name);
            }
        }
    }
    // With OLM v1, the extension takes what it has installed with it, the CRDs included.
    let (extensions, elsewhere): (Vec<_>, Vec<_>) = snapshot
        .of(kinds::CLUSTER_EXTENSION)
        .iter()
        .filter(|one| is_ours(one, package))
        .partition(|one| string(one, "/spec/namespace") == namespace);
    plan.first.extend(extensions.into_iter().map(|one| item(kinds::CLUSTER_EXTENSION, one)));
    let catalog = catalog_name(package);
    // An installation that was interrupted may have left a catalog without an extension.
    if elsewhere.is_empty() && !snapshot.unreadable.contains_key(kinds::CLUSTER_EXTENSION.kind) {
        let catalogs = snapshot.of(kinds::CLUSTER_CATALOG).iter();
        let ours = catalogs.filter(|one| name_of(one) == catalog && is_ours(one, package));
        plan.rest.extend(ours.map(|one| item(kinds::CLUSTER_CATALOG, one)));
    }
    for kind in [kinds::CATALOG_SOURCE, kinds::DEPLOYMENT, kinds::SERVICE, kinds::CONFIG_MAP] {
        plan.rest.extend(
            snapshot
                .within(kind, namespace)
                .filter(|one| name_of(one) == catalog && is_ours(one, package))
                .map(|one| item(kind, one)),
        );
    }
    let others =
        snapshot.within(kinds::SUBSCRIPTION, namespace).any(|one| string(one, "/spec/name") != package);
    if options.operator_group && !others {
        plan.rest.extend(
            snapshot
                .within(kinds::OPERATOR_GROUP, namespace)
                .filter(|one| is_ours(one, package))
                .map(|one| item(kinds::OPERATOR_GROUP, one)),
        );
    }
    plan
}

/// Reads what belongs to a package, once OLM has executed its `InstallPlan`: what a plan still creates would be missed, and left behind.
///
/// # Errors
/// The API server does not respond.
pub async fn look(
    cluster: &Cluster,
    package: &str,
    namespace: &str,
    report: &mut dyn FnMut(String),
) -> Result<Snapshot, Error> {
    let deadline = Instant::now() + EXECUTION;
    let mut is_reported = false;
    loop {
        let snapshot = read(cluster, package, namespace).await?;
        let Some(plan) = executed(&snapshot, package, namespace).filter(|_| Instant::now() < deadline) else {
            return Ok(snapshot);
        };
        if !is_reported {
            is_reported = true;
            report(format!("waiting until OLM has executed InstallPlan `{}`", name_of(plan)));
        }
        tokio::time::sleep(INTERVAL).await;
    }
}

/// Returns the plan of a package that OLM is executing.
fn executed<'s>(snapshot: &'s Snapshot, package: &str, namespace: &str) -> Option<&'s Value> {
    let subscriptions =
        || snapshot.within(kinds::SUBSCRIPTION, namespace).filter(|one| string(one, "/spec/name") == package);
    snapshot.within(kinds::INSTALL_PLAN, namespace).find(|plan| {
        let is_approved = plan["spec"]["approved"] == true;
        is_approved
            && !matches!(string(plan, "/status/phase"), "Complete" | "Failed")
            && subscriptions().any(|one| {
                string(one, "/status/installPlanRef/name") == name_of(plan)
                    || strings(plan, "/spec/clusterServiceVersionNames").any(|csv| {
                        csv == string(one, "/status/currentCSV") || csv == string(one, "/spec/startingCSV")
                    })
            })
    })
}

async fn read(cluster: &Cluster, package: &str, namespace: &str) -> Result<Snapshot, Error> {
    let within = Some(namespace);
    let ours = format!("{MANAGED_BY}={},{PART_OF}={package}", super::client::MANAGER);
    let ours = Select { labels: &ours, fields: "" };
    let snapshot = cluster
        .snapshot(&[
            (kinds::SUBSCRIPTION, within, ANY),
            (kinds::INSTALL_PLAN, within, ANY),
            (kinds::CSV, within, NOT_COPIED),
            (kinds::OPERATOR_GROUP, within, ANY),
            (kinds::CATALOG_SOURCE, within, ours),
            (kinds::DEPLOYMENT, within, ours),
            (kinds::SERVICE, within, ours),
            (kinds::CONFIG_MAP, within, ours),
            (kinds::CLUSTER_EXTENSION, None, ours),
            (kinds::CLUSTER_CATALOG, None, ours),
        ])
        .await?;
    let read = [
        kinds::SUBSCRIPTION,
        kinds::INSTALL_PLAN,
        kinds::CSV,
        kinds::OPERATOR_GROUP,
        kinds::CATALOG_SOURCE,
    ];
    match snapshot.unread(&read) {
        Some(reason) => Err(Error::Response {
            action: format!("read what belongs to package `{package}`"),
            reason: reason.to_owned(),
        }),
        None => Ok(snapshot),
    }
}

/// Deletes what a plan lists, in its order, and waits until it is gone.
///
/// # Errors
/// Something blocks a deletion, or the cluster cannot be used.
pub async fn run(
    cluster: &Cluster,
    plan: &Plan,
    options: Options,
    report: &mut dyn FnMut(String),
) -> Result<(), Failure> {
    let deadline = Instant::now() + options.timeout;
    for items in [&plan.first, &plan.crds, &plan.rest] {
        for item in items {
            if cluster.delete(item.kind, &item.namespace, &item.name).await? {
                report(format!("deleting {} `{}`", item.kind.kind, item.name));
            }
        }
        gone(cluster, items, (deadline, options.timeout), report).await?;
    }
    Ok(())
}

/// Waits until objects do not exist.
async fn gone(
    cluster: &Cluster,
    items: &[Item],
    (deadline, timeout): (Instant, Duration),
    report: &mut dyn FnMut(String),
) -> Result<(), Failure> {
    let mut waiting = String::new();
    loop {
        let reads = items.iter().map(|item| cluster.get(item.kind, &item.namespace, &item.name));
        let left: Vec<(&Item, Value)> = futures::future::try_join_all(reads)
            .await?
            .into_iter()
            .zip(items)
            .filter_map(|(object, item)| Some((item, object?)))
            .collect();
        let Some((item, object)) = left.first() else { return Ok(()) };
        if Instant::now() >= deadline {
            return Err(Failure::Blocked(Box::new(blocked(cluster, item, object, timeout).await?)));
        }
        // OLM may create an object again: it repeats an InstallPlan whose status it could not write.
        for (item, _) in left.iter().filter(|(_, object)| object["metadata"]["deletionTimestamp"].is_null()) {
            if cluster.delete(item.kind, &item.namespace, &item.name).await? {
                report(format!("deleting {} `{}`, which was created again", item.kind.kind, item.name));
            }
        }
        let mut text = format!("waiting until {} `{}` is gone", item.kind.kind, item.name);
        if item.kind == kinds::CRD {
            // The number is worth no failure.
            let instances = instances(cluster, object, 1).await.ok();
            if let Some(number) = instances.and_then(|instances| instances.number) {
                text = format!("{text}: {} left", counted(number, "object"));
            }
        }
        if text != waiting {
            report(text.clone());
            waiting = text;
        }
        tokio::time::sleep(INTERVAL).await;
    }
}

/// Returns why an object still exists.
async fn blocked(
    cluster: &Cluster,
    item: &Item,
    object: &Value,
    timeout: Duration,
) -> Result<Problem, Error> {
    if item.kind == kinds::CRD {
        return stuck_crd(cluster, object).await;
    }
    let name = format!("{} `{}`", item.kind.kind, item.name);
    let (message, help) = if !list(object, "/metadata/finalizers").is_empty() {
        (
            diagnose::deletion(&name, object),
            "let the program that set the finalizers run until it has removed them",
        )
    } else if string(object, "/metadata/deletionTimestamp").is_empty() {
        (
            format!(
                "{name} still exists {} s after its deletion was requested: something creates it again",
                timeout.as_secs()
            ),
            "find out what creates it: its metadata.managedFields name the program",
        )
    } else {
        (
            format!("{name} still exists {} s after its deletion was requested", timeout.as_secs()),
            "wait longer with --timeout; if it remains, check the API server and its garbage collection",
        )
    };
    let object = diagnose::object(item.kind, object);
    Ok(Problem::of_preflight("deletion-blocked", object, message, help.into()))
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use kube::Client;
    use kube::client::Body;
    use serde_json::json;

    use super::*;

    #[test]
    fn the_catalog_of_olm_v1_is_deleted_unless_an_extension_needs_it() {
        let labels = json!({MANAGED_BY: crate::cluster::client::MANAGER, PART_OF: "gizmo"});
        let of = |kind: Kind, name: &str, spec: Value| json!({"apiVersion": kind.api_version, "kind": kind.kind, "metadata": {"name": name, "labels": labels}, "spec": spec});
        let options = Options { crds: true, operator_group: true, timeout: Duration::from_secs(1) };
        let planned = |extension: Option<&str>| {
            let mut snapshot = Snapshot::default();
            snapshot.add(of(kinds::CLUSTER_CATALOG, &catalog_name("gizmo"), json!({})));
            if let Some(namespace) = extension {
                snapshot.add(of(kinds::CLUSTER_EXTENSION, "gizmo", json!({"namespace": namespace})));
            }
            let plan = plan(&snapshot, "gizmo", "ns", options);
            [plan.first, plan.rest].concat().iter().map(|item| item.kind.kind).collect::<Vec<_>>()
        };
        assert_eq!(planned(None), ["ClusterCatalog"]);
        assert_eq!(planned(Some("ns")), ["ClusterExtension", "ClusterCatalog"]);
        assert_eq!(planned(Some("other")), Vec::<&str>::new());
    }

    #[test]
    fn a_csv_without_subscription_is_found_by_a_label_that_is_cut_off() {
        let package = "a".repeat(62);
        let mut csv = json!({"metadata": {"name": "gizmo", "namespace": "ns"}});
        csv["metadata"]["labels"] = json!({format!("operators.coreos.com/{package}"): ""});
        let mut snapshot = Snapshot::default();
        snapshot.extend(kinds::CSV, [csv]);
        let options = Options { crds: false, operator_group: false, timeout: Duration::from_secs(1) };
        let plan = plan(&snapshot, &package, "ns", options);
        assert_eq!(plan.rest.len(), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn what_an_install_plan_still_creates_is_waited_for() {
        let reads = Arc::new(AtomicUsize::new(0));
        // OLM executes the plan during the third look.
        let service = tower::service_fn(move |request: http::Request<Body>| {
            let path = request.uri().path().to_owned();
            let reads = reads.clone();
            async move {
                let item = |rest: Value| {
                    let mut item = json!({"metadata": {"name": "one", "namespace": "ns"}});
                    item.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
                    json!({"items": [item]})
                };
                let body = match path.rsplit('/').next().unwrap() {
                    "subscriptions" => item(json!({"spec": {"name": "gizmo", "startingCSV": "one"}})),
                    "installplans" => {
                        let phase =
                            ["", "Installing", "Complete"][reads.fetch_add(1, Ordering::Relaxed).min(2)];
                        item(json!({
                            "spec": {"approved": true, "clusterServiceVersionNames": ["one"]},
                            "status": {"phase": phase},
                        }))
                    }
                    "clusterserviceversions" if reads.load(Ordering::Relaxed) > 2 => item(json!({})),
                    _ => json!({"items": []}),
                };
                Ok::<_, Infallible>(http::Response::new(Body::from(body.to_string().into_bytes())))
            }
        });
        let cluster = Cluster::through(Client::new(service, "ns"));
        let mut steps = Vec::new();
        let snapshot = look(&cluster, "gizmo", "ns", &mut |step| steps.push(step)).await.unwrap();
        assert_eq!(steps, ["waiting until OLM has executed InstallPlan `one`"]);
        let options = Options { crds: false, operator_group: false, timeout: Duration::from_secs(1) };
        let plan = plan(&snapshot, "gizmo", "ns", options);
        assert_eq!(
            plan.rest.iter().map(|item| item.kind.kind).collect::<Vec<_>>(),
            ["ClusterServiceVersion"]
        );
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_created_again_is_deleted_again() {
        let deletions = Arc::new(AtomicUsize::new(0));
        let counted = deletions.clone();
        // The object exists until its second deletion, as if OLM had created it again after the first.
        let service = tower::service_fn(move |request: http::Request<Body>| {
            let deletions = deletions.clone();
            async move {
                if request.method() == http::Method::DELETE {
                    deletions.fetch_add(1, Ordering::Relaxed);
                }
                let is_gone = deletions.load(Ordering::Relaxed) > 1;
                let body = match request.method().as_str() {
                    "GET" if is_gone => json!({"message": "not found"}),
                    _ => json!({"metadata": {"name": "gizmo"}}),
                };
                let status = if request.method() == http::Method::GET && is_gone { 404 } else { 200 };
                let response = http::Response::builder().status(status);
                Ok::<_, Infallible>(response.body(Body::from(body.to_string().into_bytes())).unwrap())
            }
        });
        let cluster = Cluster::through(Client::new(service, "default"));
        let csv = Item { kind: kinds::CSV, namespace: "default".into(), name: "gizmo".into() };
        let plan = Plan { rest: vec![csv], ..Plan::default() };
        let options = Options { crds: false, operator_group: false, timeout: Duration::from_mins(1) };
        let mut steps = Vec::new();
        run(&cluster, &plan, options, &mut |step| steps.push(step)).await.unwrap();
        assert_eq!(counted.load(Ordering::Relaxed), 2);
        assert!(steps.iter().any(|step| step.ends_with("which was created again")), "{steps:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn what_blocks_a_deletion_is_named() {
        for (metadata, expected) in [
            (
                json!({"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["a/b"]}),
                "Deployment `gizmo` is being deleted and waits for finalizers: a/b",
            ),
            (
                json!({"deletionTimestamp": "2026-01-01T00:00:00Z"}),
                "Deployment `gizmo` still exists 1 s after its deletion was requested",
            ),
            (
                json!({}),
                "Deployment `gizmo` still exists 1 s after its deletion was requested: something creates it again",
            ),
        ] {
            let service = tower::service_fn(move |_: http::Request<Body>| {
                let body = json!({"metadata": metadata}).to_string().into_bytes();
                async { Ok::<_, Infallible>(http::Response::new(Body::from(body))) }
            });
            let cluster = Cluster::through(Client::new(service, "default"));
            let deployment =
                Item { kind: kinds::DEPLOYMENT, namespace: "default".into(), name: "gizmo".into() };
            let plan = Plan { rest: vec![deployment], ..Plan::default() };
            let options = Options { crds: false, operator_group: false, timeout: Duration::from_secs(1) };
            let result = run(&cluster, &plan, options, &mut |_| ()).await;
            let Err(Failure::Blocked(problem)) = result else { panic!("{result:?}") };
            assert_eq!(problem.message, expected);
        }
    }
}

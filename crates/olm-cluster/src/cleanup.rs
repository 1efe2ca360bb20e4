//! Removes an operator: its subscription, CSV, catalog and, on request, its CRDs with their objects.

use std::time::Duration;

use serde_json::Value;

use super::client::{Cluster, Error, Select};
use super::deadline::Deadline;
use super::diagnose::{self, Diagnosis};
use super::gather::{instances, stuck_crd};
use super::kinds::{self, Kind};
use super::manifests::{MANAGED_BY, PART_OF, catalog_name, component_label, is_ours};
use super::queries::{ANY, NOT_COPIED};
use super::snapshot::{Snapshot, list, name_of, namespace_of, string, strings};
use kube_yaml::text::counted;

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
    Blocked(Box<Diagnosis>),
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
        .objects(kinds::CLUSTER_EXTENSION)
        .iter()
        .filter(|one| is_ours(one, package))
        .partition(|one| string(one, "/spec/namespace") == namespace);
    plan.first.extend(extensions.into_iter().map(|one| item(kinds::CLUSTER_EXTENSION, one)));
    let catalog = catalog_name(package);
    // An installation that was interrupted may have left a catalog without an extension.
    if elsewhere.is_empty() && !snapshot.unreadable.contains_key(kinds::CLUSTER_EXTENSION.kind) {
        let catalogs = snapshot.objects(kinds::CLUSTER_CATALOG).iter();
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
pub async fn observe(
    cluster: &Cluster,
    package: &str,
    namespace: &str,
    report: &mut dyn FnMut(String),
) -> Result<Snapshot, Error> {
    let deadline = Deadline::after(EXECUTION);
    let mut is_reported = false;
    loop {
        let snapshot = read(cluster, package, namespace).await?;
        let Some(plan) = executed(&snapshot, package, namespace).filter(|_| !deadline.is_over()) else {
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

/// Reads what belongs to a package. Without the lists that decide what is deleted, nothing is.
async fn read(cluster: &Cluster, package: &str, namespace: &str) -> Result<Snapshot, Error> {
    let within = Some(namespace);
    let ours = format!("{MANAGED_BY}={},{PART_OF}={package}", super::client::MANAGER);
    let ours = Select { labels: &ours, fields: "" };
    let required = [
        (kinds::SUBSCRIPTION, ANY),
        (kinds::INSTALL_PLAN, ANY),
        (kinds::CSV, NOT_COPIED),
        (kinds::OPERATOR_GROUP, ANY),
        (kinds::CATALOG_SOURCE, ours),
    ];
    let lists = required.iter().map(|(kind, select)| cluster.list(*kind, within, select));
    let lists = futures::future::try_join_all(lists).await?;
    let mut snapshot = cluster
        .snapshot(&[
            (kinds::DEPLOYMENT, within, ours),
            (kinds::SERVICE, within, ours),
            (kinds::CONFIG_MAP, within, ours),
            (kinds::CLUSTER_EXTENSION, None, ours),
            (kinds::CLUSTER_CATALOG, None, ours),
        ])
        .await?;
    for ((kind, _), objects) in required.iter().zip(lists) {
        snapshot.extend(*kind, objects);
    }
    Ok(snapshot)
}

/// Deletes what a plan lists, in its order, and waits until it is gone. Temporary errors do not end it before the deadline:
/// half of an operator would be left.
///
/// # Errors
/// Something blocks a deletion, or the cluster cannot be used.
pub async fn run(
    cluster: &Cluster,
    plan: &Plan,
    deadline: Deadline,
    report: &mut dyn FnMut(String),
) -> Result<(), Failure> {
    for items in [&plan.first, &plan.crds, &plan.rest] {
        for item in items {
            let delete = async |_: &mut dyn FnMut(String)| {
                cluster.delete(item.kind, &item.namespace, &item.name).await
            };
            if deadline.retry(Error::is_temporary, report, delete).await? {
                report(format!("deleting {} `{}`", item.kind.kind, item.name));
            }
        }
        gone(cluster, items, deadline, report).await?;
    }
    Ok(())
}

/// Waits until objects do not exist.
async fn gone(
    cluster: &Cluster,
    items: &[Item],
    deadline: Deadline,
    report: &mut dyn FnMut(String),
) -> Result<(), Failure> {
    let mut waiting = String::new();
    loop {
        let text = match left(cluster, items, deadline, report).await {
            Ok(None) => return Ok(()),
            Ok(Some(text)) => text,
            Err(Failure::Cluster(error)) if error.is_temporary() && !deadline.is_over() => {
                format!("{error}; trying again")
            }
            Err(failure) => return Err(failure),
        };
        if text != waiting {
            report(text.clone());
            waiting = text;
        }
        tokio::time::sleep(INTERVAL).await;
    }
}

/// Returns what is left of objects that are deleted, and deletes again what was created again; nothing if all are gone. Once the
/// deadline is over, what is left is a failure.
async fn left(
    cluster: &Cluster,
    items: &[Item],
    deadline: Deadline,
    report: &mut dyn FnMut(String),
) -> Result<Option<String>, Failure> {
    let reads = items.iter().map(|item| cluster.get(item.kind, &item.namespace, &item.name));
    let left: Vec<(&Item, Value)> = futures::future::try_join_all(reads)
        .await?
        .into_iter()
        .zip(items)
        .filter_map(|(object, item)| Some((item, object?)))
        .collect();
    let Some((item, object)) = left.first() else { return Ok(None) };
    if deadline.is_over() {
        return Err(Failure::Blocked(Box::new(blocked(cluster, item, object, deadline).await?)));
    }
    // OLM may create an object again: it repeats an InstallPlan whose status it could not write.
    for (item, _) in left.iter().filter(|(_, object)| object["metadata"]["deletionTimestamp"].is_null()) {
        if cluster.delete(item.kind, &item.namespace, &item.name).await? {
            report(format!("deleting {} `{}`, which was created again", item.kind.kind, item.name));
        }
    }
    let text = format!("waiting until {} `{}` is gone", item.kind.kind, item.name);
    if item.kind != kinds::CRD {
        return Ok(Some(text));
    }
    // The number is worth no failure.
    let number = instances(cluster, object, 1).await.ok().and_then(|instances| instances.number);
    Ok(Some(match number {
        Some(number) => format!("{text}: {} left", counted(number, "object")),
        None => text,
    }))
}

/// Returns why an object still exists.
async fn blocked(
    cluster: &Cluster,
    item: &Item,
    object: &Value,
    deadline: Deadline,
) -> Result<Diagnosis, Error> {
    if item.kind == kinds::CRD {
        return stuck_crd(cluster, object).await;
    }
    let name = format!("{} `{}`", item.kind.kind, item.name);
    let seconds = deadline.limit().as_secs();
    let (message, help) = if !list(object, "/metadata/finalizers").is_empty() {
        (
            diagnose::deletion(&name, object),
            "let the program that set the finalizers run until it has removed them".to_owned(),
        )
    } else if string(object, "/metadata/deletionTimestamp").is_empty() {
        (
            format!(
                "{name} still exists {seconds} s after its deletion was requested: something creates it again"
            ),
            "find out what creates it: its metadata.managedFields name the program".to_owned(),
        )
    } else {
        (
            format!("{name} still exists {seconds} s after its deletion was requested"),
            format!(
                "set a longer {}; if it remains, check the API server and its garbage collection",
                deadline.setting()
            ),
        )
    };
    let object = diagnose::object(item.kind, object);
    Ok(Diagnosis::of_preflight("deletion-blocked", object, message, help))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::convert::Infallible;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::{Arc, Mutex};

    use kube::Client;
    use kube::client::Body;
    use serde_json::json;

    use super::*;

    #[test]
    fn the_catalog_of_olm_v1_is_deleted_unless_an_extension_needs_it() {
        let labels = json!({MANAGED_BY: crate::client::MANAGER, PART_OF: "gizmo"});
        let of = |kind: Kind, name: &str, spec: Value| json!({"apiVersion": kind.api_version, "kind": kind.kind, "metadata": {"name": name, "labels": labels}, "spec": spec});
        let options = Options { crds: true, operator_group: true };
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
        let snapshot = observe(&cluster, "gizmo", "ns", &mut |step| steps.push(step)).await.unwrap();
        assert_eq!(steps, ["waiting until OLM has executed InstallPlan `one`"]);
        let options = Options { crds: false, operator_group: false };
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
        let deadline = Deadline::after(Duration::from_mins(1));
        let mut steps = Vec::new();
        run(&cluster, &plan, deadline, &mut |step| steps.push(step)).await.unwrap();
        assert_eq!(counted.load(Ordering::Relaxed), 2);
        assert!(steps.iter().any(|step| step.ends_with("which was created again")), "{steps:?}");
    }

    /// A cluster that responds to `METHOD /path` as a function says, which also gets how often that was requested before.
    fn responding(respond: impl Fn(&str, usize) -> (u16, Value) + Send + Sync + 'static) -> Cluster {
        let counts = Mutex::new(BTreeMap::<String, usize>::new());
        let shared = Arc::new((respond, counts));
        let service = tower::service_fn(move |request: http::Request<Body>| {
            let shared = shared.clone();
            async move {
                let request = format!("{} {}", request.method(), request.uri().path());
                let before = {
                    let mut counts = shared.1.lock().unwrap();
                    let count = counts.entry(request.clone()).or_default();
                    *count += 1;
                    *count - 1
                };
                let (status, body) = (shared.0)(&request, before);
                let response = http::Response::builder().status(status);
                Ok::<_, Infallible>(response.body(Body::from(body.to_string().into_bytes())).unwrap())
            }
        });
        Cluster::through(Client::new(service, "default"))
    }

    fn crd() -> Value {
        json!({
            "metadata": {"name": "gizmos.example.com", "deletionTimestamp": "2026-01-01T00:00:00Z"},
            "spec": {"group": "example.com", "names": {"plural": "gizmos", "kind": "Gizmo"}, "versions": [
                {"name": "v1alpha1", "served": true, "storage": false},
                {"name": "v1", "served": true, "storage": true}]},
        })
    }

    fn plan_of_crd() -> Plan {
        let item = Item { kind: kinds::CRD, namespace: String::new(), name: "gizmos.example.com".into() };
        Plan { crds: vec![item], ..Plan::default() }
    }

    #[tokio::test(start_paused = true)]
    async fn temporary_errors_do_not_end_a_deletion() {
        let fails = |status: u16| (status, json!({"message": "not now"}));
        let cluster = responding(move |request, before| match (request.split_once(' ').unwrap(), before) {
            (("DELETE", _), 0) => fails(409),
            (("GET", "/apis/example.com/v1/gizmos"), 0) => {
                let metadata = json!({"continue": "more", "remainingItemCount": 700});
                (200, json!({"metadata": metadata, "items": [{}]}))
            }
            // Objects in the other version need a webhook, which is gone.
            (("GET", path), _) if path.ends_with("/gizmos") => fails(500),
            (("GET", _), 1) => fails(503),
            (("GET", _), 4..) => (404, json!({"message": "not found"})),
            _ => (200, crd()),
        });
        let mut steps = Vec::new();
        let deadline = Deadline::after(Duration::from_mins(1));
        run(&cluster, &plan_of_crd(), deadline, &mut |step| steps.push(step)).await.unwrap();
        let name = "CustomResourceDefinition `gizmos.example.com`";
        assert_eq!(
            steps,
            [
                format!("failed to delete {name}: not now; trying again"),
                format!("deleting {name}"),
                format!("waiting until {name} is gone: 701 objects left"),
                format!("failed to read {name}: not now; trying again"),
                format!("waiting until {name} is gone"),
            ]
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_crd_whose_objects_cannot_be_read_is_named_with_the_reason() {
        let cluster = responding(|request, _| match request {
            request if request.ends_with("/gizmos") => (500, json!({"message": "no webhook"})),
            _ => (200, crd()),
        });
        let result =
            run(&cluster, &plan_of_crd(), Deadline::after(Duration::from_secs(1)), &mut |_| ()).await;
        let Err(Failure::Blocked(problem)) = result else { panic!("{result:?}") };
        assert_eq!(problem.message, "CRD `gizmos.example.com` is being deleted and still exists");
        assert_eq!(problem.evidence, ["failed to list gizmos.example.com: no webhook"]);
    }

    #[tokio::test]
    async fn nothing_is_planned_from_a_list_that_is_not_complete() {
        let cluster = responding(|request, _| {
            let more = if request.ends_with("/subscriptions") { "more" } else { "" };
            (200, json!({"metadata": {"continue": more}, "items": []}))
        });
        let error = observe(&cluster, "gizmo", "ns", &mut |_| ()).await.unwrap_err().to_string();
        assert!(error.starts_with("failed to list subscriptions: only the first "), "{error}");
    }

    #[test]
    fn a_csv_without_subscription_is_found_by_a_label_that_is_cut_off() {
        let package = "a".repeat(62);
        let mut csv = json!({"metadata": {"name": "gizmo", "namespace": "ns"}});
        csv["metadata"]["labels"] = json!({format!("operators.coreos.com/{package}"): ""});
        let mut snapshot = Snapshot::default();
        snapshot.extend(kinds::CSV, [csv]);
        let plan = plan(&snapshot, &package, "ns", Options { crds: false, operator_group: false });
        assert_eq!(plan.rest.len(), 1);
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
            let deadline = Deadline::after(Duration::from_secs(1));
            let result = run(&cluster, &plan, deadline, &mut |_| ()).await;
            let Err(Failure::Blocked(problem)) = result else { panic!("{result:?}") };
            assert_eq!(problem.message, expected);
        }
    }
}

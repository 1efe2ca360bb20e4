//! What `doctor` reads: the objects of all operators, from a cluster or from files.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::client::{Cluster, Error, First, Select};
use super::diagnose::{AUTOSCALERS, Diagnosis, Scope, is_unschedulable, v1};
use super::kinds::{self, Kind};
use super::queries::{self, ANY, WARNINGS};
use super::snapshot::{Snapshot, list, name_of, namespace_of, string};
use kube_yaml::text::counted;

/// The maximum number of CRDs in deletion whose objects are looked at.
const MAX_STUCK: usize = 4;
/// The maximum number of nodes that are looked at.
const MAX_NODES: usize = 50;
/// The maximum number of namespaces whose events are searched for what autoscalers do.
const MAX_NAMESPACES: usize = 3;
/// How long nodes and what autoscalers do are remembered: nodes are large.
const SCHEDULING: Duration = Duration::from_secs(10);
/// The maximum number of objects of a CRD that are named.
const MAX_NAMED: u32 = 5;
/// The maximum number of other namespaces whose catalogs are looked at.
const MAX_CATALOG_NAMESPACES: usize = 20;

/// Reads the objects that explain the state of operators, of one namespace or of all.
///
/// # Errors
/// The API server does not respond.
pub async fn cluster(cluster: &Cluster, namespace: Option<&str>) -> Result<Snapshot, Error> {
    let this = namespace.map(queries::named).unwrap_or_default();
    let mut reads = queries::operators(namespace, &this);
    reads.extend([
        // A catalog of any namespace may be one that a subscription refers to.
        (kinds::CATALOG_SOURCE, None, ANY),
        (kinds::CLUSTER_CATALOG, None, ANY),
        (kinds::CLUSTER_EXTENSION, None, ANY),
    ]);
    let mut snapshot = cluster.snapshot(&reads).await?;
    if let Some(namespace) = namespace {
        catalog_pods(cluster, namespace, &mut snapshot).await?;
    }
    Scheduling::default().add(cluster, &mut snapshot).await?;
    Ok(snapshot)
}

/// Adds the pods of the catalogs in other namespaces that the subscriptions of a namespace refer to.
async fn catalog_pods(cluster: &Cluster, namespace: &str, snapshot: &mut Snapshot) -> Result<(), Error> {
    let sources =
        snapshot.objects(kinds::SUBSCRIPTION).iter().map(|one| string(one, "/spec/sourceNamespace"));
    let elsewhere: BTreeSet<String> =
        sources.filter(|one| !one.is_empty() && *one != namespace).map(str::to_owned).collect();
    let catalogs = Select { labels: super::manifests::CATALOG_LABEL, fields: "" };
    for other in elsewhere.iter().take(MAX_CATALOG_NAMESPACES) {
        let reads = [(kinds::POD, Some(other.as_str()), catalogs), (kinds::EVENT, Some(other), WARNINGS)];
        snapshot.merge(cluster.snapshot(&reads).await?);
    }
    let skipped: Vec<_> =
        elsewhere.iter().skip(MAX_CATALOG_NAMESPACES).map(|name| format!("`{name}`")).collect();
    if !skipped.is_empty() {
        let reason = format!("skipped the pods of catalogs in {}", skipped.join(", "));
        snapshot.unreadable.entry(kinds::POD.kind).or_insert(reason);
    }
    Ok(())
}

/// What explains pods that cannot be scheduled: nodes, and events of autoscalers.
#[derive(Default)]
pub(crate) struct Scheduling {
    read: Option<Instant>,
    nodes: Vec<Value>,
    events: Vec<Value>,
}

impl Scheduling {
    /// Adds nodes and events to what was observed, if a pod cannot be scheduled; reads them again after [`SCHEDULING`]. What the
    /// client may not read is skipped.
    ///
    /// # Errors
    /// The API server does not respond.
    pub(crate) async fn add(&mut self, cluster: &Cluster, snapshot: &mut Snapshot) -> Result<(), Error> {
        let pods = snapshot.objects(kinds::POD).iter().filter(|pod| is_unschedulable(pod));
        let namespaces: BTreeSet<String> = pods.map(|pod| namespace_of(pod).to_owned()).collect();
        let namespaces: BTreeSet<String> = namespaces.into_iter().take(MAX_NAMESPACES).collect();
        if namespaces.is_empty() {
            return Ok(());
        }
        if self.read.is_none_or(|read| read.elapsed() >= SCHEDULING) {
            self.nodes = nodes(cluster).await?;
            self.events = scale_ups(cluster, &namespaces).await?;
            self.read = Some(Instant::now());
        }
        snapshot.extend(kinds::NODE, self.nodes.iter().cloned());
        snapshot.extend(kinds::EVENT, self.events.iter().cloned());
        snapshot.deduplicate();
        Ok(())
    }
}

async fn nodes(cluster: &Cluster) -> Result<Vec<Value>, Error> {
    let path = format!("{}?limit={MAX_NODES}", kinds::NODE.path(None));
    match cluster.get_path(&path, "list nodes").await {
        Ok(mut page) => match page.get_mut("items").map(Value::take) {
            Some(Value::Array(nodes)) => Ok(nodes),
            _ => Ok(Vec::new()),
        },
        Err(error @ Error::Unreachable { .. }) => Err(error),
        Err(_) => Ok(Vec::new()),
    }
}

/// Returns the events in which autoscalers say what they do for pods.
async fn scale_ups(cluster: &Cluster, namespaces: &BTreeSet<String>) -> Result<Vec<Value>, Error> {
    let fields = AUTOSCALERS.map(|reason| format!("reason={reason},involvedObject.kind=Pod"));
    let reads: Vec<_> = namespaces
        .iter()
        .flat_map(|namespace| fields.iter().map(move |fields| (namespace, fields)))
        .map(|(namespace, fields)| (kinds::EVENT, Some(namespace.as_str()), Select { labels: "", fields }))
        .collect();
    Ok(cluster.snapshot(&reads).await?.objects(kinds::EVENT).to_vec())
}

/// Returns CRDs that are being deleted and cannot be, with the objects that block them. CRDs that could not be read, or were
/// skipped, are noted in the snapshot.
///
/// # Errors
/// The API server does not respond.
pub async fn stuck_crds(
    cluster: &Cluster,
    scope: &Scope,
    snapshot: &mut Snapshot,
) -> Result<Vec<Diagnosis>, Error> {
    let owned: BTreeSet<&str> = snapshot
        .objects(kinds::CSV)
        .iter()
        .flat_map(|csv| list(csv, "/spec/customresourcedefinitions/owned"))
        .map(|one| string(one, "/name"))
        .collect();
    let names: Vec<String> = match cluster.list_metadata(kinds::CRD).await {
        Ok(crds) => crds
            .iter()
            .filter(|crd| !string(crd, "/metadata/deletionTimestamp").is_empty())
            .map(|crd| name_of(crd).to_owned())
            .filter(|name| scope.package.is_none() || owned.contains(name.as_str()))
            .collect(),
        Err(error @ Error::Unreachable { .. }) => return Err(error),
        Err(error) => {
            snapshot.unreadable.insert(kinds::CRD.kind, error.to_string());
            return Ok(Vec::new());
        }
    };
    if names.len() > MAX_STUCK {
        let reason = format!("looked at {MAX_STUCK} of {} CRDs that are being deleted", names.len());
        snapshot.unreadable.insert(kinds::CRD.kind, reason);
    }
    let mut found = Vec::new();
    for name in names.iter().take(MAX_STUCK) {
        if let Some(crd) = cluster.get(kinds::CRD, "", name).await? {
            found.push(stuck_crd(cluster, &crd).await?);
        }
    }
    Ok(found)
}

/// Returns why a CRD that is being deleted still exists. If its objects cannot be read, the reason is evidence: it may be a
/// conversion webhook that is gone.
///
/// # Errors
/// The API server does not respond.
pub(crate) async fn stuck_crd(cluster: &Cluster, crd: &Value) -> Result<Diagnosis, Error> {
    let name = name_of(crd);
    let (instances, unread) = match instances(cluster, crd, MAX_NAMED).await {
        Ok(instances) => (instances, None),
        Err(error @ Error::Unreachable { .. }) => return Err(error),
        Err(error) => (First::default(), Some(error.to_string())),
    };
    let number = instances.number.map_or_else(
        || "still exists".to_owned(),
        |number| format!("still has {}", counted(number, "object")),
    );
    let mut problem = Diagnosis::of_preflight(
        "deletion-blocked",
        format!("CustomResourceDefinition `{name}`"),
        format!("CRD `{name}` is being deleted and {number}"),
        "keep the operator running until it has removed its finalizers; if it is gone, remove them: \
         kubectl patch KIND NAME -n NAMESPACE --type=merge -p '{\"metadata\":{\"finalizers\":null}}'"
            .into(),
    );
    problem.evidence.extend(unread);
    for condition in list(crd, "/status/conditions").iter().filter(|one| one["type"] == "Terminating") {
        problem.evidence.push(format!(
            "condition Terminating: {}: {}",
            string(condition, "/reason"),
            string(condition, "/message")
        ));
    }
    for instance in &instances.items {
        let finalizers: Vec<_> =
            list(instance, "/metadata/finalizers").iter().filter_map(Value::as_str).collect();
        let finalizers = if finalizers.is_empty() { "none".to_owned() } else { finalizers.join(", ") };
        problem.evidence.push(format!(
            "{} `{}/{}` has finalizers: {finalizers}",
            string(crd, "/spec/names/kind"),
            namespace_of(instance),
            name_of(instance)
        ));
    }
    Ok(problem)
}

/// Returns the first objects of a CRD, and how many there are. They are read in the storage version: objects of
/// other versions are converted, and the webhook that does that may be gone.
///
/// # Errors
/// The API server does not respond, or rejects the request.
pub async fn instances(cluster: &Cluster, crd: &Value, limit: u32) -> Result<First, Error> {
    let served = || list(crd, "/spec/versions").iter().filter(|version| version["served"] == true);
    let version = served()
        .find(|version| version["storage"] == true)
        .or_else(|| served().next())
        .map_or("v1", |version| string(version, "/name"));
    let (group, plural) = (string(crd, "/spec/group"), string(crd, "/spec/names/plural"));
    let path = format!("/apis/{group}/{version}/{plural}");
    match cluster.first_metadata(&path, limit, &format!("list {plural}.{group}")).await {
        Err(error) if error.is_not_found() => Ok(First { number: Some(0), ..First::default() }),
        result => result,
    }
}

/// Returns the package's subscriptions and cluster extensions in a sentence each, for a report without problems.
#[must_use]
pub fn summary(snapshot: &Snapshot, scope: &Scope) -> Vec<String> {
    let subscriptions = snapshot
        .objects(kinds::SUBSCRIPTION)
        .iter()
        .filter(|one| scope.package.as_deref().is_none_or(|package| package == string(one, "/spec/name")))
        .map(|one| {
            let installed = string(one, "/status/installedCSV");
            let phase = snapshot
                .get(kinds::CSV, namespace_of(one), installed)
                .map_or("not installed", |csv| string(csv, "/status/phase"));
            let what = if installed.is_empty() { "no CSV" } else { installed };
            format!("{}: {what} is {phase}", object_of(kinds::SUBSCRIPTION, one))
        });
    let extensions = snapshot.objects(kinds::CLUSTER_EXTENSION).iter().filter(|one| v1::covers(scope, one));
    subscriptions.chain(extensions.map(v1::summary)).collect()
}

fn object_of(kind: Kind, one: &Value) -> String {
    super::diagnose::object(kind, one)
}

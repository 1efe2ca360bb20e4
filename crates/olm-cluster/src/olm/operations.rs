//! Installs and removes OLM.

use std::time::Duration;

use serde_json::Value;

use super::prepare::{CRDS, Prepared};
use super::status::{Status, is_packages, status};
use crate::client::{Cluster, Error, Select, Write};
use crate::deadline::Deadline;
use crate::kinds;
use crate::kinds::Kind;
use crate::queries::{ANY, NOT_COPIED, OLM};
use crate::snapshot::{Snapshot, condition, name_of, namespace_of, string};
use kube_yaml::text::counted;

/// The interval at which the cluster is polled.
const INTERVAL: Duration = Duration::from_millis(500);

/// The cluster roles and their bindings that OLM's manifests and OLM itself create, by the beginning of their names.
const ROLES: &[&str] = &[
    "system:controller:operator-lifecycle-manager",
    "olm-operator-binding-olm",
    "aggregate-olm-edit",
    "aggregate-olm-view",
    "packageserver-service-system:auth-delegator",
    "olm-operators-",
    "global-operators-",
    // Of operator groups, which are deleted with their CRD; OLM leaves some of those behind whose namespace is deleted.
    "olm.og.",
];

/// The namespace of [`AUTH_READER`].
const KUBE_SYSTEM: &str = "kube-system";
/// The binding that lets the package server authenticate its clients.
const AUTH_READER: &str = "packageserver-service-auth-reader";

/// Why OLM is not installed or removed.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// It took too long.
    #[error("timed out after {} s: {waiting}", .after.as_secs())]
    Timeout {
        /// The time that was waited.
        after: Duration,
        /// What was waited for.
        waiting: String,
    },
    /// The cluster cannot be used.
    #[error(transparent)]
    Cluster(#[from] Error),
}

/// An operator that OLM has installed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Installed {
    /// The namespace.
    pub namespace: String,
    /// The name of the CSV.
    pub csv: String,
}

/// Reads what [`status()`] needs.
///
/// # Errors
/// The API server does not respond.
pub async fn observe(cluster: &Cluster) -> Result<Snapshot, Error> {
    let packageserver = Select { fields: "metadata.name=packageserver", ..NOT_COPIED };
    let mut snapshot = cluster
        .snapshot(&[
            (kinds::DEPLOYMENT, None, OLM),
            (kinds::CSV, None, packageserver),
            (kinds::CATALOG_SOURCE, None, ANY),
            (kinds::API_SERVICE, None, ANY),
        ])
        .await?;
    // Their schemas are large; the names are enough.
    snapshot.extend(kinds::CRD, cluster.list_metadata(kinds::CRD).await?);
    Ok(snapshot)
}

/// Returns the operators that OLM has installed, but for its own.
///
/// # Errors
/// The API server does not respond.
pub async fn operators(cluster: &Cluster) -> Result<Vec<Installed>, Error> {
    let found = cluster.list(kinds::CSV, None, &NOT_COPIED).await?;
    Ok(found
        .iter()
        .filter(|csv| name_of(csv) != "packageserver")
        .map(|csv| Installed { namespace: namespace_of(csv).into(), csv: name_of(csv).into() })
        .collect())
}

/// Waits until a condition of the cluster holds.
async fn until(
    deadline: Deadline,
    what: &str,
    report: &mut dyn FnMut(&str),
    mut check: impl AsyncFnMut() -> Result<Option<String>, Error>,
) -> Result<(), Failure> {
    let mut last = String::new();
    loop {
        let waiting = match check().await {
            Ok(None) => return Ok(()),
            Ok(Some(state)) => state,
            Err(error) if error.is_temporary() || error.is_not_found() => error.to_string(),
            Err(error) => return Err(error.into()),
        };
        let waiting = format!("{what}: {waiting}");
        if deadline.is_over() {
            return Err(Failure::Timeout { after: deadline.limit(), waiting });
        }
        if last != waiting {
            report(&waiting);
            last = waiting;
        }
        tokio::time::sleep(INTERVAL).await;
    }
}

/// Applies OLM's manifests and waits until it runs.
///
/// # Errors
/// The API server rejects an object, or it takes too long.
pub async fn install(
    cluster: &Cluster,
    prepared: &Prepared,
    deadline: Deadline,
    report: &mut dyn FnMut(&str),
) -> Result<Status, Failure> {
    report(&format!("creating {} CRDs", prepared.crds.len()));
    for (kind, object) in &prepared.crds {
        create(cluster, *kind, object, deadline, report).await?;
    }
    until(deadline, "CRDs", report, async || {
        for (_, object) in &prepared.crds {
            let found = cluster.get(kinds::CRD, "", name_of(object)).await?;
            if found.as_ref().and_then(|crd| condition(crd, "Established", "True")).is_none() {
                return Ok(Some(format!("`{}` is not established", name_of(object))));
            }
        }
        Ok(None)
    })
    .await?;
    report(&format!("creating {}", counted(prepared.objects.len(), "object")));
    for (kind, object) in &prepared.objects {
        create(cluster, *kind, object, deadline, report).await?;
    }
    until(deadline, "OLM", report, async || {
        let found = status(&observe(cluster).await?);
        // Catalogs may take long, or be out of reach; OLM runs without them.
        let missing =
            found.components.iter().find(|part| !part.ready && !part.object.starts_with("CatalogSource"));
        Ok(missing.map(|part| format!("{} {}", part.object, part.state)))
    })
    .await?;
    Ok(status(&observe(cluster).await?))
}

/// Applies an object, again where its kind is not served yet or its namespace is still being deleted.
async fn create(
    cluster: &Cluster,
    kind: Kind,
    object: &Value,
    deadline: Deadline,
    report: &mut dyn FnMut(&str),
) -> Result<(), Failure> {
    let what = format!("{} `{}`", kind.kind, name_of(object));
    until(deadline, &what, report, async || match cluster.apply(kind, object, Write::Stored).await {
        Ok(_) => Ok(None),
        Err(error) if error.is_forbidden() && error.to_string().contains("being terminated") => {
            Ok(Some(error.to_string()))
        }
        Err(error) => Err(error),
    })
    .await
}

/// Removes OLM with its CRDs, and so everything that it manages, and its namespace if that is known.
///
/// # Errors
/// The API server rejects a request, or it takes too long.
pub async fn uninstall(
    cluster: &Cluster,
    namespace: Option<&str>,
    deadline: Deadline,
    report: &mut dyn FnMut(&str),
) -> Result<(), Failure> {
    // While OLM runs, it creates again what belongs to the package server, and removes what belongs to a deleted CSV.
    if let Some(namespace) = namespace {
        report("deleting the package server");
        remove(cluster, kinds::CSV, namespace, "packageserver", deadline, report).await?;
        until(deadline, "ClusterServiceVersion `packageserver`", report, async || {
            Ok(cluster.get(kinds::CSV, namespace, "packageserver").await?.map(|_| "is being deleted".into()))
        })
        .await?;
    }
    report("deleting CRDs");
    for name in CRDS {
        remove(cluster, kinds::CRD, "", name, deadline, report).await?;
    }
    until(deadline, "CRDs", report, async || {
        let names = cluster.list_metadata(kinds::CRD).await?;
        let left = names.iter().map(name_of).find(|name| CRDS.contains(name));
        Ok(left.map(|name| format!("`{name}` is being deleted")))
    })
    .await?;
    let services = async || cluster.list(kinds::API_SERVICE, None, &ANY).await;
    for object in retried(deadline, report, services).await?.iter().filter(|one| is_packages(one)) {
        // Without its server, it would block the deletion of namespaces.
        if !string(object, "/spec/service/name").is_empty() {
            remove(cluster, kinds::API_SERVICE, "", name_of(object), deadline, report).await?;
        }
    }
    if let Some(namespace) = namespace {
        report(&format!("deleting namespace {namespace}"));
        remove(cluster, kinds::NAMESPACE, "", namespace, deadline, report).await?;
        until(deadline, &format!("namespace `{namespace}`"), report, async || {
            let found = cluster.get(kinds::NAMESPACE, "", namespace).await?;
            Ok(found.map(|_| "is being deleted".into()))
        })
        .await?;
    }
    // OLM, as long as it runs, could create some of them again.
    report("deleting roles");
    for (kind, namespace, name) in retried(deadline, report, async || leftovers(cluster).await).await? {
        remove(cluster, kind, namespace, &name, deadline, report).await?;
    }
    Ok(())
}

/// Returns the roles and bindings of OLM: kind, namespace, name. They are the last of it that is removed.
///
/// # Errors
/// The API server rejects a request.
pub async fn leftovers(cluster: &Cluster) -> Result<Vec<(Kind, &'static str, String)>, Error> {
    let mut found = Vec::new();
    for kind in [kinds::CLUSTER_ROLE_BINDING, kinds::CLUSTER_ROLE] {
        let objects = cluster.list_metadata(kind).await?;
        let is_olms = |name: &&str| {
            let starts = |start: &&str| start.ends_with(['-', '.']) && name.starts_with(start);
            ROLES.iter().any(|start| name == start || starts(start))
        };
        found.extend(objects.iter().map(name_of).filter(is_olms).map(|name| (kind, "", name.to_owned())));
    }
    if cluster.get(kinds::ROLE_BINDING, KUBE_SYSTEM, AUTH_READER).await?.is_some() {
        found.push((kinds::ROLE_BINDING, KUBE_SYSTEM, AUTH_READER.to_owned()));
    }
    Ok(found)
}

/// Deletes an object; temporary errors are repeated, so that none leaves half of OLM behind.
async fn remove(
    cluster: &Cluster,
    kind: Kind,
    namespace: &str,
    name: &str,
    deadline: Deadline,
    report: &mut dyn FnMut(&str),
) -> Result<(), Error> {
    retried(deadline, report, async || cluster.delete(kind, namespace, name).await).await.map(|_| ())
}

/// Repeats a request while its error is temporary.
async fn retried<T>(
    deadline: Deadline,
    report: &mut dyn FnMut(&str),
    request: impl AsyncFn() -> Result<T, Error>,
) -> Result<T, Error> {
    let mut show = |text: String| report(&text);
    deadline.retry(Error::is_temporary, &mut show, async |_| request().await).await
}

//! `run bundle --olm v1`: installs a bundle with OLM v1.

use std::io::{self, Write};

use anyhow::{Result, bail};
use serde_json::{Map, Value};

use super::content::Facts;
use crate::cli::report::check_bundle_with;
use crate::cluster::manifests::{catalog_name, is_ours, labels};
use crate::cluster::preflight::InstallMode;
use crate::cluster::v1::install;
use crate::cluster::v1::manifests::{ClusterCatalog, ClusterExtension, namespace};
use crate::cluster::{Cluster, kinds};
use crate::model::Bundle;
use crate::report::Suite;
use crate::rules::{Extension, Selection};

/// Returns `spec.config.inline` for an install mode.
pub(super) fn config(mode: Option<&InstallMode>, namespace: &str) -> Result<Map<String, Value>> {
    let watched = match mode {
        None => None,
        Some(mode) => match (mode.kind.as_str(), mode.namespaces.as_slice()) {
            ("AllNamespaces", _) => None,
            ("OwnNamespace", _) => Some(namespace.to_owned()),
            ("SingleNamespace", [one]) => Some(one.clone()),
            _ => bail!(
                "OLM v1 does not support install mode `{}`: an operator watches one namespace or all",
                mode.kind
            ),
        },
    };
    Ok(watched.into_iter().map(|watched| ("watchNamespace".to_owned(), watched.into())).collect())
}

/// Validates a bundle and its configuration with the rules of OLM v1; prints the errors. Returns whether there are none.
pub(super) fn check(bundle: &Bundle, config: &Map<String, Value>, namespace: &str) -> Result<bool> {
    let mut selection = Selection { suites: vec![Suite::Olmv1], ..Selection::default() };
    selection.settings.extension =
        Some(Extension { config: config.clone(), namespace: Some(namespace.to_owned()) });
    check_bundle_with(bundle, &selection)
}

/// Checks that a cluster has OLM v1, and that nothing of this package is there that was created otherwise. Returns whether
/// the namespace is to be created.
pub(super) async fn check_cluster(
    cluster: &Cluster,
    package: &str,
    namespace: &str,
    create_namespace: bool,
) -> Result<bool> {
    if !install::is_served(cluster).await? {
        bail!(
            "the cluster has no OLM v1: it does not serve ClusterCatalog and ClusterExtension of olm.operatorframework.io/v1; \
             install operator-controller and catalogd first"
        );
    }
    let catalog = catalog_name(package);
    for (kind, name) in [(kinds::CLUSTER_EXTENSION, package), (kinds::CLUSTER_CATALOG, &catalog)] {
        if cluster.get(kind, "", name).await?.is_some_and(|object| !is_ours(&object, package)) {
            bail!("{} `{name}` exists, and bundle-tool did not create it; nothing was created", kind.kind);
        }
    }
    let exists = cluster.get(kinds::NAMESPACE, "", namespace).await?.is_some();
    if !exists && !create_namespace {
        bail!("namespace `{namespace}` does not exist; create it with --create-namespace");
    }
    Ok(!exists)
}

/// Returns the objects, in the order in which they are created. The extension has the package's name, and takes exactly
/// this bundle from this catalog.
pub(super) fn objects(
    facts: &Facts,
    image: &str,
    config: Map<String, Value>,
    create_namespace: bool,
) -> Vec<Value> {
    let candidate = &facts.candidate;
    let catalog = ClusterCatalog {
        name: catalog_name(&candidate.package),
        image: image.to_owned(),
        ..ClusterCatalog::default()
    };
    let extension = ClusterExtension {
        name: candidate.package.clone(),
        namespace: candidate.namespace.clone(),
        package: candidate.package.clone(),
        channel: facts.channels.first().cloned().unwrap_or_default(),
        version: facts.version.clone(),
        catalog: catalog.name.clone(),
        config,
    };
    let created = create_namespace.then(|| namespace(&candidate.namespace));
    let mut objects: Vec<Value> = created.into_iter().chain([catalog.object(), extension.object()]).collect();
    for object in &mut objects {
        object["metadata"]["labels"] = labels(&candidate.package);
    }
    objects
}

/// Names what an installation that did not end well leaves behind.
pub(super) fn left_behind(created: &[String], package: &str, namespace: &str) -> io::Result<()> {
    if created.is_empty() {
        return Ok(());
    }
    let mut out = io::stderr().lock();
    writeln!(out, "note: created and not removed: {}", created.join(", "))?;
    writeln!(
        out,
        "help: remove them with `bundle-tool cleanup {package} -n {namespace} --delete-crds`, or run the same command again to \
         continue"
    )
}

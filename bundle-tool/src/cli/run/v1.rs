//! `run bundle --olm v1` and `run bundle-upgrade --olm v1`: installs a bundle with OLM v1, and upgrades to one.

use std::io::{self, Write};

use anyhow::{Result, bail};
use serde_json::{Map, Value};

use super::content::Facts;
use super::source::Input;
use super::state::compare;
use crate::cli::report::check_bundle_with;
use crate::cluster::manifests::{catalog_name, is_ours, labels};
use crate::cluster::preflight::InstallMode;
use crate::cluster::snapshot::string;
use crate::cluster::v1::install;
use crate::cluster::v1::manifests::{ClusterCatalog, ClusterExtension, namespace};
use crate::cluster::{Cluster, kinds};
use crate::diff;
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

/// What is installed with OLM v1, and what an upgrade keeps of it.
pub(super) struct Installed {
    /// The name of the bundle.
    pub(super) bundle: String,
    /// `spec.config.inline`.
    pub(super) config: Map<String, Value>,
}

/// Returns what is installed of a package by the extension of its name.
pub(super) async fn installed(cluster: &Cluster, facts: &Facts) -> Result<Installed> {
    let (package, namespace) = (&facts.candidate.package, &facts.candidate.namespace);
    let Some(extension) = cluster.get(kinds::CLUSTER_EXTENSION, "", package).await? else {
        bail!(
            "package `{package}` is not installed with OLM v1; install it with `bundle-tool run bundle --olm v1`"
        );
    };
    let installed_in = string(&extension, "/spec/namespace");
    if installed_in != namespace {
        bail!("package `{package}` is installed in namespace `{installed_in}`, not in `{namespace}`");
    }
    let bundle = string(&extension, "/status/install/bundle/name");
    if bundle.is_empty() {
        bail!(
            "ClusterExtension `{package}` has installed nothing yet; run `bundle-tool doctor {package} -n {namespace}`"
        );
    }
    let config = extension.pointer("/spec/config/inline").and_then(Value::as_object);
    Ok(Installed { bundle: bundle.to_owned(), config: config.cloned().unwrap_or_default() })
}

/// Prints how the CRDs of a bundle differ from those of the cluster; returns whether OLM v1 rejects the upgrade.
pub(super) async fn breaks(cluster: &Cluster, input: &Input, facts: &Facts) -> Result<bool> {
    let mut crds = Vec::new();
    for name in &facts.candidate.owned {
        crds.extend(cluster.get(kinds::CRD, "", name).await?);
    }
    let objects: Vec<_> = crds.iter().map(|crd| (kinds::CRD, crd)).collect();
    let new = input.bundle.of_kind("CustomResourceDefinition").map(|crd| crd.root);
    let difference = compare(&objects, diff::Version::of_objects(new), true)?;
    diff::text(&difference, &mut io::stderr().lock())?;
    Ok(difference.breaks())
}

/// What is requested beside the bundle and its catalog.
#[derive(Default)]
pub(super) struct Requested {
    /// `spec.config.inline`.
    pub(super) config: Map<String, Value>,
    /// Whether the namespace is created.
    pub(super) create_namespace: bool,
    /// The installed bundle that the bundle replaces; empty without one.
    pub(super) replaces: String,
    /// Whether OLM v1 upgrades CRDs without its check.
    pub(super) without_crd_safety: bool,
}

/// Returns the objects, in the order in which they are created. The extension has the package's name, and takes exactly
/// this bundle from this catalog.
pub(super) fn objects(facts: &Facts, image: &str, requested: Requested) -> Vec<Value> {
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
        config: requested.config,
        without_crd_safety: requested.without_crd_safety,
    };
    let created = requested.create_namespace.then(|| namespace(&candidate.namespace));
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

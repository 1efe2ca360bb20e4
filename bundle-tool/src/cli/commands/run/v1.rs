//! `run bundle --olm v1` and `run bundle-upgrade --olm v1`: installs a bundle with OLM v1, and upgrades to one.

use anyhow::{Result, bail};
use oci_images::registry::Repository;
use serde_json::{Map, Value};

use super::checked::{InstallMethod, LoadedBundle, ValidatedBundle};
use super::content::{self, Facts};
use super::dry_run::{DryRun, DryRunArgs};
use super::request::{Common, tagged};
use super::source::{self, Input, Uploads};
use super::state::compare;
use crate::cli::cluster::{Printer, settings_for};
use crate::cli::report::check_bundle;
use crate::terminal::{DIFF_STYLES, messages};
use olm_cluster::manifests::{catalog_name, is_ours, labels};
use olm_cluster::preflight::InstallMode;
use olm_cluster::snapshot::string;
use olm_cluster::v1::install;
use olm_cluster::v1::manifests::{ClusterCatalog, ClusterExtension, namespace};
use olm_cluster::{Cluster, kinds};
use olm_model::Bundle;
use olm_model::report::Suite;
use olm_rules::{Extension, Selection, Settings};

/// Installs a bundle with OLM v1, or upgrades to it.
pub(crate) struct Installer<'i> {
    common: &'i Common,
    /// The repository of the images.
    push_to: &'i str,
    install_mode: Option<&'i InstallMode>,
    create_namespace: bool,
    dry_run_args: DryRunArgs,
}

impl<'i> Installer<'i> {
    /// Checks the options before anything is read.
    pub(crate) fn new(
        common: &'i Common,
        install_mode: Option<&'i InstallMode>,
        create_namespace: bool,
        dry_run_args: DryRunArgs,
    ) -> Result<Self> {
        let pods = &common.options.pods;
        if pods.opm_image.is_some() || pods.pull_secret_name.is_some() {
            bail!("--opm-image and --pull-secret-name apply to OLM v0 only");
        }
        let Some(push_to) = common.options.push_to.as_deref() else {
            bail!("--olm v1 requires --push-to: OLM v1 installs only from catalog images");
        };
        Repository::parse(push_to)?;
        config(install_mode, "")?;
        Ok(Self { common, push_to, install_mode, create_namespace, dry_run_args })
    }

    /// Checks the bundle and the cluster, and builds what is requested.
    pub(crate) async fn check(&self, read: LoadedBundle, printer: &mut Printer) -> Result<ValidatedBundle> {
        let LoadedBundle { cluster, registries, mut input, facts, .. } = read;
        let requested = self.requested(cluster.as_ref(), &input, &facts, printer).await?;
        let mut uploads = Uploads::default();
        let index = format!("{}-index", tagged(self.push_to, &facts.version));
        let image = if self.dry_run_args.dry_run.is_none() {
            self.build(&mut input, &facts, &requested.replaces, &index, &mut uploads)?
        } else {
            index
        };
        let objects = objects(&facts, &image, requested);
        Ok(ValidatedBundle { cluster, registries, facts, objects, uploads, method: InstallMethod::V1 })
    }

    /// Checks the cluster and the bundle, and returns what is requested.
    async fn requested(
        &self,
        cluster: Option<&Cluster>,
        input: &Input,
        facts: &Facts,
        printer: &mut Printer,
    ) -> Result<Requested> {
        let (package, namespace) = (&facts.candidate.package, &facts.candidate.namespace);
        let is_upgrade = facts.candidate.is_upgrade;
        let mut requested = Requested {
            config: config(self.install_mode, namespace)?,
            create_namespace: self.create_namespace,
            ..Requested::default()
        };
        let used = cluster.filter(|_| self.dry_run_args.dry_run != Some(DryRun::Client));
        if let Some(cluster) = used {
            printer.step("checking the cluster");
            requested.create_namespace =
                check_cluster(cluster, package, namespace, self.create_namespace).await?;
            if is_upgrade {
                let installed = installed(cluster, facts).await?;
                requested.config = installed.config;
                requested.replaces = installed.bundle;
            }
        }
        printer.finish();
        let settings = settings_for(used).await;
        if !self.common.force && !check(&input.bundle, &requested.config, namespace, settings)? {
            bail!(
                "OLM v1 rejects bundle {}, and nothing was created; pass --force to install it anyway",
                self.common.reference
            );
        }
        if let Some(cluster) = cluster
            && is_upgrade
            && breaks(cluster, input, facts).await?
        {
            if !self.common.force {
                bail!(
                    "OLM v1 rejects the upgrade because of its CRDs, and nothing was changed; with --force, its check is \
                     disabled"
                );
            }
            requested.without_crd_safety = true;
        }
        Ok(requested)
    }

    /// Builds the images of the bundle and its catalog; returns the name of the catalog image by digest.
    fn build(
        &self,
        input: &mut Input,
        facts: &Facts,
        installed: &str,
        index: &str,
        uploads: &mut Uploads,
    ) -> Result<String> {
        uploads.0.push(input.build(&tagged(self.push_to, &facts.version))?);
        // The same bundle again continues what was interrupted.
        let replaces = if installed == facts.candidate.csv { "" } else { installed };
        let catalog = content::single(&input.bundle, input.image.as_deref(), facts, replaces)?;
        let mut text = Vec::new();
        catalog.write_json_with("  ", &mut text)?;
        // catalogd reads the catalog's files, and runs nothing.
        let upload = source::build_index(index, &text, false)?;
        let name = upload.by_digest();
        uploads.0.push(upload);
        Ok(name)
    }
}

/// Returns `spec.config.inline` for an install mode.
fn config(mode: Option<&InstallMode>, namespace: &str) -> Result<Map<String, Value>> {
    let watched = match mode {
        None => None,
        Some(mode) => match (mode.kind.as_str(), mode.namespaces.as_slice()) {
            ("AllNamespaces", _) => None,
            ("OwnNamespace", _) => Some(namespace.to_owned()),
            ("SingleNamespace", [one]) => Some(one.clone()),
            _ => bail!(
                "OLM v1 does not support install mode `{}`: an operator watches one namespace or all namespaces",
                mode.kind
            ),
        },
    };
    Ok(watched.into_iter().map(|watched| ("watchNamespace".to_owned(), watched.into())).collect())
}

/// Validates a bundle and its configuration with the rules of OLM v1; prints the errors. Returns whether there are none.
fn check(bundle: &Bundle, config: &Map<String, Value>, namespace: &str, settings: Settings) -> Result<bool> {
    let extension = Some(Extension { config: config.clone(), namespace: Some(namespace.to_owned()) });
    let settings = Settings { extension, ..settings };
    let selection = Selection { suites: vec![Suite::Olmv1], settings, ..Selection::default() };
    check_bundle(bundle, &selection)
}

/// Checks that a cluster has OLM v1, and that nothing of this package is there that was created otherwise. Returns whether
/// the namespace is to be created.
async fn check_cluster(
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
            bail!(
                "{} `{name}` already exists and was not created by bundle-tool; nothing was created",
                kind.kind
            );
        }
    }
    let exists = cluster.get(kinds::NAMESPACE, "", namespace).await?.is_some();
    if !exists && !create_namespace {
        bail!("namespace `{namespace}` does not exist; create it with --create-namespace");
    }
    Ok(!exists)
}

/// What is installed with OLM v1, and what an upgrade keeps of it.
struct Installed {
    /// The name of the bundle.
    bundle: String,
    /// `spec.config.inline`.
    config: Map<String, Value>,
}

/// Returns what is installed of a package by the extension of its name.
async fn installed(cluster: &Cluster, facts: &Facts) -> Result<Installed> {
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
async fn breaks(cluster: &Cluster, input: &Input, facts: &Facts) -> Result<bool> {
    let mut crds = Vec::new();
    for name in &facts.candidate.owned {
        crds.extend(cluster.get(kinds::CRD, "", name).await?);
    }
    let objects: Vec<_> = crds.iter().map(|crd| (kinds::CRD, crd)).collect();
    let new = input.bundle.of_kind("CustomResourceDefinition").map(|crd| crd.root);
    let difference = compare(&objects, olm_diff::Version::of_objects(new), true)?;
    olm_diff::write_text(&difference, &DIFF_STYLES, &mut messages())?;
    Ok(difference.breaks())
}

/// What is requested beside the bundle and its catalog.
#[derive(Default)]
struct Requested {
    /// `spec.config.inline`.
    config: Map<String, Value>,
    /// Whether the namespace is created.
    create_namespace: bool,
    /// The installed bundle that the bundle replaces; empty without one.
    replaces: String,
    /// Whether OLM v1 upgrades CRDs without its check.
    without_crd_safety: bool,
}

/// Returns the objects, in the order in which they are created. The extension has the package's name, and takes exactly
/// this bundle from this catalog.
fn objects(facts: &Facts, image: &str, requested: Requested) -> Vec<Value> {
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

//! `bundle-tool mirror`: bundles and catalogs with all images that they need, for clusters without access to the internet.

mod filter;
mod images;
mod plan;
mod sets;

use std::io::{self, Write as _};
use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};
use clap::Args;
use oci_images::location::Copier;
use oci_images::registry::Resolver;

use super::exit::Exit;
use super::images::RegistryArgs;
use super::progress::progress;
use super::runtime::runtime;
use filter::Filter;
use images::Collected;
use kube_yaml::text::{counted, printable};
use plan::{Planned, Target};

#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  # Mirror a catalog into a registry, and configure the cluster to use it
  bundle-tool mirror quay.io/example/operator-catalog:latest \\
    --to registry.example.com/mirror --manifests-dir mirror
  kubectl apply -f mirror/image-digest-mirror-set.yaml
  kubectl apply -f mirror/catalog-source-operator-catalog.yaml \\
    --namespace openshift-marketplace

  # Carry one package to a disconnected network
  bundle-tool mirror quay.io/example/operator-catalog:latest \\
    --package gizmo-operator --channel stable --min-version 1.2.0 \\
    --to oci:mirror-images

  # Push everything in the layout to the registry of that network
  bundle-tool mirror oci:mirror-images --to registry.example.com/mirror \\
    --manifests-dir mirror

  # Check that everything is there
  bundle-tool mirror \\
    --check registry.example.com/mirror/example/operator-catalog:latest \\
    --to registry.example.com/mirror")]
pub(crate) struct Mirror {
    /// Bundle or catalog: a directory, oci:DIR:NAME, oci-archive:FILE:NAME or an image name; without a NAME, all images of a
    /// layout or an archive
    #[arg(required = true, value_name = "REF")]
    references: Vec<String>,
    /// Where to copy to: a registry with an optional path, or oci:DIR
    #[arg(long, value_name = "REGISTRY[/PATH]|oci:DIR", value_parser = Target::parse)]
    to: Target,
    /// List what is missing at the target instead of copying
    #[arg(long)]
    check: bool,
    /// Directory to write mirror sets, catalog sources, cluster catalogs and the mapping to; requires a registry as --to
    #[arg(long, value_name = "DIR", conflicts_with = "check")]
    manifests_dir: Option<PathBuf>,
    #[command(flatten)]
    filter: Filter,
    #[command(flatten)]
    registries: RegistryArgs,
}

impl Mirror {
    pub(crate) fn run(self) -> Result<Exit> {
        let Self { references, to, check, manifests_dir, filter, registries } = self;
        if let (Target::Directory(path), Some(_)) = (&to, &manifests_dir) {
            let layout = path.display();
            bail!(
                "--manifests-dir requires a registry as --to: the manifests name the registry that clusters pull from; write them \
                 when you push the layout, with `bundle-tool mirror oci:{layout} --to REGISTRY --manifests-dir DIR`"
            );
        }
        // Images that had to be built are in the scratch directories until they are copied.
        let Collected { images, scratch: _scratch } = images::collect(&references, &filter, &registries)?;
        if images.is_empty() {
            bail!("nothing to mirror: no images found");
        }
        let planned = plan::plan(images, &to)?;
        let copier = Copier { options: registries.options(), resolver: Resolver::from_env(), platform: None };
        if check {
            return runtime()?.block_on(check_all(&planned, &copier));
        }
        runtime()?.block_on(copy_all(&planned, &copier))?;
        if let Some(directory) = manifests_dir {
            sets::write(&planned, &directory)?;
        }
        Ok(Exit::Success)
    }
}

async fn copy_all(planned: &[Planned], copier: &Copier) -> Result<()> {
    let all = planned.len();
    let mut out = io::stdout().lock();
    for (number, Planned { image, target, .. }) in planned.iter().enumerate() {
        let name = image.reference.to_string();
        let progress = progress(format!("{}/{all} {name}", number + 1));
        let is_there = match image.reference.digest() {
            Some(digest) => copier.has(target, digest).await.unwrap_or(false),
            None => false,
        };
        if !is_there {
            copier
                .copy(&image.source, target, &progress)
                .await
                .with_context(|| format!("failed to mirror {name} ({}) to {target}", image.reason))?;
        }
        drop(progress);
        writeln!(out, "{}={target}", printable(&name))?;
        out.flush()?;
    }
    Ok(())
}

async fn check_all(planned: &[Planned], copier: &Copier) -> Result<Exit> {
    let mut out = io::stdout().lock();
    let mut missing = 0_usize;
    for Planned { image, target, .. } in planned {
        let found = copier
            .missing(target, image.reference.digest())
            .await
            .with_context(|| format!("failed to check {target}"))?;
        for part in found {
            missing += 1;
            let name = image.reference.to_string();
            writeln!(out, "missing: {} ({}): {part} at {target}", printable(&name), image.reason)?;
        }
    }
    writeln!(out, "{} checked, {} missing", counted(planned.len(), "image"), counted(missing, "part"))?;
    out.flush()?;
    Ok(if missing == 0 { Exit::Success } else { Exit::Findings })
}

//! `bundle-tool mirror`: bundles and catalogs with all images that they need, for clusters without access to the internet.

mod image_set;
mod images;
mod listing;
mod part;
mod plan;
mod sets;
mod skip;
mod workloads;

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::PathBuf;

use anyhow::{Context as _, Error, Result, bail};
use clap::Args;
use futures::stream::{self, StreamExt};
use oci_images::location::{self, ImageLocation};
use oci_images::registry::{self, Policy, Progress, Resolver};
use oci_images::transfer::{Transfer, Transferred};
use regex::RegexSet;

use super::catalog::prune::default_channel;
use crate::cli::exit::{Exit, print_error};
use crate::cli::format::{Format, OutputOption};
use crate::cli::images::{RegistryArgs, RegistryConnection, between};
use crate::cli::outputs::require_parent;
use crate::cli::progress::ManyProgress;
use crate::cli::runtime::SharedRuntime;
use crate::cli::time_limit::TimeLimit;
use crate::terminal::{ERROR, NOTE, WARNING, messages, stderr};
use image_set::ImageSet;
use images::{Collected, Collector, Mirrored, Wanted};
use kube_yaml::text::{counted, printable};
use listing::{Entry, Listing, Outcome, Summary};
use olm_catalog::prune::Keep;
use part::Selection;
use plan::{Planned, Rename, Target};
use skip::Skips;

#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  # Mirror a catalog into a registry, and configure the cluster to use it
  bundle-tool mirror quay.io/example/operator-catalog:latest \\
    --to registry.example.com/mirror --manifests-dir mirror
  kubectl apply -f mirror/image-digest-mirror-set.yaml
  kubectl apply -f mirror/catalog-source-operator-catalog.yaml \\
    --namespace openshift-marketplace

  # Write one package to an archive for a disconnected network
  bundle-tool mirror quay.io/example/operator-catalog:latest \\
    --keep 'gizmo-operator/stable@>=1.2.0' --to oci-archive:first.tar

  # Push everything in the archive to the registry of that network
  bundle-tool mirror oci-archive:first.tar \\
    --to registry.example.com/mirror --manifests-dir mirror

  # Write what is new since then to another archive
  bundle-tool mirror quay.io/example/operator-catalog:latest \\
    --keep 'gizmo-operator/stable@>=1.2.0' \\
    --since oci-archive:first.tar --to oci-archive:second.tar

  # Mirror what a configuration of oc-mirror lists, but show it first
  bundle-tool mirror --imageset-config config.yaml \\
    --to registry.example.com/mirror --dry-run

  # Mirror the images of a Helm chart
  helm template app ./chart | bundle-tool mirror - \\
    --to registry.example.com/mirror

  # List what is missing in the registry
  bundle-tool mirror quay.io/example/operator-catalog:latest \\
    --to registry.example.com/mirror --check")]
#[expect(clippy::struct_excessive_bools, reason = "each is an option of the command")]
pub(crate) struct Mirror {
    /// Bundle, catalog or single image: a directory, oci:DIR:NAME, oci-archive:FILE:NAME or an image name; without a NAME, all images
    /// of a layout or an archive. For the images of Kubernetes manifests, a file or `-`; for those that a Helm chart lists, its
    /// directory or .tgz
    #[arg(required_unless_present = "imageset_config", value_name = "REF")]
    references: Vec<String>,
    /// Where to copy to: a registry with an optional path, oci:DIR or oci-archive:FILE
    #[arg(long, value_name = "REGISTRY[/PATH]|oci:DIR|oci-archive:FILE", value_parser = Target::parse)]
    to: Target,
    /// oc-mirror configuration (`ImageSetConfiguration`, v2alpha1) that lists catalogs and images; unsupported fields are reported
    #[arg(long, value_name = "FILE", alias = "config", conflicts_with_all = ["keep", "default_channel"])]
    imageset_config: Option<PathBuf>,
    /// Package to keep, optionally only one channel or a range of versions (repeatable) [default: all]
    #[arg(long, value_name = "PACKAGE[/CHANNEL][@RANGE]")]
    keep: Vec<Keep>,
    /// Default channel of a package whose default channel is not mirrored (repeatable)
    #[arg(long, value_name = "PACKAGE=CHANNEL", value_parser = default_channel, requires = "keep")]
    default_channel: Vec<(String, String)>,
    /// Image to skip, by name or by repository (repeatable)
    #[arg(long, value_name = "IMAGE")]
    skip: Vec<String>,
    /// Earlier layout or archive whose layers are omitted, because the target network already has them; requires a layout or an
    /// archive as --to (repeatable)
    #[arg(long, value_name = "oci:DIR|oci-archive:FILE", conflicts_with = "check")]
    since: Vec<ImageLocation>,
    /// Maximum number of path components of a repository at the target; the last ones are joined with `-`
    #[arg(long, value_name = "NUMBER", value_parser = |text: &str| between::<u8>(text, 1, 64))]
    max_nested_paths: Option<u8>,
    /// Do not copy signatures, SBOMs and other referrers of images
    #[arg(long)]
    no_referrers: bool,
    /// Copy only images that this signature policy accepts: a policy.json of containers
    #[arg(long, value_name = "FILE", conflicts_with = "check")]
    signature_policy: Option<PathBuf>,
    /// Stop at the first image that cannot be copied [default: report it and continue]
    #[arg(long)]
    strict: bool,
    /// List images with their sizes and what would be copied, and copy nothing
    #[arg(long, conflicts_with_all = ["check", "manifests_dir"])]
    dry_run: bool,
    /// List what is missing at the target instead of copying
    #[arg(long)]
    check: bool,
    /// Directory to write mirror sets, catalog sources, cluster catalogs, registries.conf and the mapping to
    #[arg(long, value_name = "DIR", conflicts_with = "check")]
    manifests_dir: Option<PathBuf>,
    /// Registry that the manifests name; required by --manifests-dir if --to is a layout or an archive
    #[arg(long, value_name = "REGISTRY[/PATH]", value_parser = Target::parse_registry, requires = "manifests_dir")]
    manifests_registry: Option<Target>,
    /// Number of images to copy at once, between 1 and 32
    #[arg(long, value_name = "NUMBER", default_value = "6", value_parser = |text: &str| between::<u8>(text, 1, 32))]
    parallel_images: u8,
    #[command(flatten)]
    format: OutputOption<Format>,
    #[command(flatten)]
    registries: RegistryConnection,
    /// Time limit for all network access, such as 90s or 1h
    #[arg(long, value_name = "DURATION", default_value = "24h", value_parser = TimeLimit::parser("--timeout"), help_heading = "Registry options")]
    timeout: TimeLimit,
}

impl Mirror {
    pub(crate) fn run(self) -> Result<Exit> {
        if let (Some(path), Some(_), None) = (self.to.path(), &self.manifests_dir, &self.manifests_registry) {
            bail!(
                "--manifests-dir requires --manifests-registry REGISTRY if --to is a layout or an archive such as {}, because the \
                 manifests name the registry that clusters pull from",
                path.display()
            );
        }
        if let (Some(path), Some(directory)) = (self.to.path(), &self.manifests_dir)
            && std::path::absolute(path).ok() == std::path::absolute(directory).ok()
        {
            bail!("--manifests-dir is the directory of --to, {}: choose another one", path.display());
        }
        if !self.since.is_empty() && self.to.path().is_none() {
            bail!(
                "--since requires `--to oci:DIR` or `--to oci-archive:FILE`; a registry already skips the layers that it has"
            );
        }
        if let Target::Archive(path) = &self.to {
            require_parent(path)?;
        }
        let (wanted, skip) = self.wanted()?;
        let policy = self.signature_policy.as_deref().map(Policy::read).transpose()?;
        let runtime = SharedRuntime::default();
        let registries = RegistryArgs::new(self.registries.clone(), self.timeout);
        let mut transfer = Transfer::new(registries.options(), Resolver::from_env(), !self.no_referrers);
        let collector = Collector {
            registries: &registries,
            transfer: &transfer,
            runtime: &runtime,
            skip: &skip,
            policy: policy.as_ref(),
            is_strict: self.strict,
        };
        // Images that had to be built are in the scratch directories until they are copied.
        let Collected { images, problems, scratch: _scratch } = collector.collect(&wanted)?;
        for unused in skip.unused() {
            writeln!(stderr(), "{WARNING} --skip {} matches no image", printable(unused))?;
        }
        for unused in skip.unused_patterns() {
            writeln!(
                stderr(),
                "{WARNING} pattern `{}` in mirror.blockedImages matches no image",
                printable(unused)
            )?;
        }
        if images.is_empty() && problems.is_empty() {
            bail!(
                "no images to mirror: the REFs contain no bundle with an image, or --skip or blockedImages excludes all of them"
            );
        }
        let max_parts = self.max_nested_paths.map(usize::from);
        let described = match (&self.manifests_dir, &self.manifests_registry) {
            (Some(_), Some(registry)) => Some(plan::plan(images.clone(), registry, max_parts)?),
            _ => None,
        };
        let planned = plan::plan(images, &self.to, max_parts)?;
        let runtime = runtime.get()?;
        if self.check {
            return runtime.block_on(self.check_all(&planned, &transfer, &problems));
        }
        let staging = Staging::for_target(&self.to);
        runtime.block_on(async {
            for place in &self.since {
                transfer.omit(place).await.with_context(|| format!("failed to read {place}"))?;
            }
            match &staging.layout {
                Some(layout) if !self.dry_run || layout.exists() => transfer.write_to(layout).await,
                _ => Ok(()),
            }
            .with_context(|| format!("failed to write {}", self.to))
        })?;
        if self.dry_run {
            return runtime.block_on(self.list(&planned, &transfer, policy.as_ref(), problems));
        }
        let copied = runtime.block_on(self.copy_all(&planned, &transfer, policy.as_ref(), &problems));
        let failed = match copied {
            Ok(failed) => failed,
            Err(error) => {
                // What was copied is listed, so that the next run continues.
                runtime.block_on(transfer.finish(None, true))?;
                return Err(error);
            }
        };
        if failed.len() == planned.len() {
            // No image was copied that an archive or a manifest could name.
            return report(&problems.into_iter().chain(failed).collect::<Vec<_>>());
        }
        runtime
            .block_on(transfer.finish(staging.archive.clone(), !failed.is_empty()))
            .with_context(|| format!("failed to write {}", self.to))?;
        if let (false, Some(_), Some(layout)) = (failed.is_empty(), &staging.archive, &staging.layout) {
            let kept = layout.display();
            writeln!(messages(), "{NOTE} kept {kept}: run the command again to copy the rest")?;
        }
        if let Some(directory) = &self.manifests_dir {
            let planned = described.unwrap_or(planned);
            sets::write(&planned, directory)?;
        }
        report(&problems.into_iter().chain(failed).collect::<Vec<_>>())
    }

    /// Returns what is mirrored, and what is not.
    fn wanted(&self) -> Result<(Vec<Wanted>, Skips)> {
        let defaults: BTreeMap<String, String> = self.default_channel.iter().cloned().collect();
        let selection =
            Selection { keep: self.keep.clone(), is_of_all: true, defaults, ..Selection::default() };
        let mut wanted: Vec<Wanted> = self
            .references
            .iter()
            .map(|reference| Wanted {
                reference: reference.clone(),
                selection: selection.clone(),
                rename: Rename::default(),
            })
            .collect();
        let mut blocked = RegexSet::empty();
        if let Some(config) = &self.imageset_config {
            let mut set = ImageSet::read(config)?;
            if self.to.path().is_some() {
                set.keep_names();
            }
            for field in &set.ignored {
                writeln!(
                    stderr(),
                    "{WARNING} {}: field `{}` {}",
                    config.display(),
                    printable(&field.path),
                    field.reason
                )?;
            }
            wanted.extend(set.wanted);
            blocked = set.blocked;
        }
        Ok((wanted, Skips::new(self.skip.clone(), blocked)))
    }

    /// Copies the images, a few at a time, and returns what failed. `problems` are images that could not be read before.
    async fn copy_all(
        &self,
        planned: &[Planned],
        transfer: &Transfer,
        policy: Option<&Policy>,
        problems: &[Error],
    ) -> Result<Vec<Error>> {
        let all = planned.len();
        let bar = ManyProgress::new("mirroring", all);
        let progress = bar.progress();
        let mut running = stream::iter(planned.iter().enumerate())
            .map(|(index, planned)| {
                let progress = &progress;
                async move { (index, copy(planned, transfer, policy, progress).await) }
            })
            .buffer_unordered(self.parallel_images.into());
        let (mut failed, mut stopped) = (Vec::new(), None);
        // Printed in the order of the plan, whichever is complete first.
        let mut waiting: BTreeMap<usize, bool> = BTreeMap::new();
        let mut next = 0;
        let mut listing = Listing::new(self.format.output, |line: &str| bar.print(line));
        while let Some((index, copied)) = running.next().await {
            bar.finish_one();
            waiting.insert(index, copied.is_ok());
            match copied {
                Ok(_) => {}
                // No time is left for the other images, either.
                Err(error) if self.strict || is_expired(&error) => {
                    stopped = Some(error);
                    break;
                }
                Err(error) => failed.push(error),
            }
            while let Some(is_copied) = waiting.remove(&next) {
                if is_copied {
                    listing.add(&Entry { planned: &planned[next], outcome: Outcome::Copied })?;
                }
                next += 1;
            }
        }
        // Images that were copied before an earlier one, which is not awaited any more.
        for (index, _) in waiting.into_iter().filter(|(_, is_copied)| *is_copied) {
            listing.add(&Entry { planned: &planned[index], outcome: Outcome::Copied })?;
        }
        let errors: Vec<&Error> = problems.iter().chain(&failed).chain(&stopped).collect();
        listing.finish(&Summary::Copied, errors)?;
        stopped.map_or(Ok(failed), Err)
    }

    /// Lists the images with their sizes, and what is missing at the target.
    async fn list(
        &self,
        planned: &[Planned],
        transfer: &Transfer,
        policy: Option<&Policy>,
        mut problems: Vec<Error>,
    ) -> Result<Exit> {
        let mut measured = stream::iter(planned)
            .map(|planned| async move {
                let Planned { image, target, .. } = planned;
                let measured = async {
                    let source = accepted(image, transfer, policy).await?;
                    transfer.measure(&source, target, image.content.is_catalog()).await
                };
                let measured = measured.await;
                (planned, measured.with_context(|| format!("failed to read {}", image.reference)))
            })
            .buffered(self.parallel_images.into());
        let (mut blobs, mut missing, mut known) = (BTreeMap::new(), BTreeMap::new(), 0);
        let mut listing = Listing::new(self.format.output, listing::print_line);
        while let Some((planned, measured)) = measured.next().await {
            let measured = match measured {
                Ok(measured) => measured,
                // No time is left for the other images, either.
                Err(error) if self.strict || is_expired(&error) => return Err(error),
                Err(error) => {
                    problems.push(error);
                    continue;
                }
            };
            let all: u64 = measured.blobs.values().sum();
            let own: BTreeMap<_, _> = measured
                .blobs
                .iter()
                .filter(|(digest, _)| measured.missing.contains(*digest))
                .map(|(digest, size)| (digest.clone(), *size))
                .collect();
            let outcome = Outcome::Measured { size: all, to_copy: own.values().sum() };
            listing.add(&Entry { planned, outcome })?;
            known += 1;
            blobs.extend(measured.blobs);
            missing.extend(own);
        }
        let summary = Summary::Measured {
            images: planned.len(),
            unknown: planned.len() - known,
            size: blobs.values().sum(),
            to_copy: missing.values().sum(),
            target: &self.to,
        };
        listing.finish(&summary, &problems)?;
        report(&problems)
    }

    /// Lists what is missing at the target.
    async fn check_all(&self, planned: &[Planned], transfer: &Transfer, problems: &[Error]) -> Result<Exit> {
        let mut checked = stream::iter(planned)
            .map(|planned| async move {
                let Planned { image, target, .. } = planned;
                let checked = transfer.check(&image.source, target, image.reference.digest()).await;
                (planned, checked.with_context(|| format!("failed to check {target}")))
            })
            .buffered(self.parallel_images.into());
        let (mut missing, mut not_compared) = (0_usize, Vec::new());
        let mut listing = Listing::new(self.format.output, listing::print_line);
        while let Some((planned, checked)) = checked.next().await {
            let checked = checked?;
            missing += checked.missing.len();
            listing.add(&Entry { planned, outcome: Outcome::Compared { missing: checked.missing } })?;
            not_compared.extend(checked.not_compared);
        }
        listing.finish(&Summary::Compared { images: planned.len(), missing }, problems)?;
        if let Some(reason) = not_compared.first() {
            let images = counted(not_compared.len(), "image");
            writeln!(
                stderr(),
                "{NOTE} could not compare {images} with the source, so newer images and signatures there are not listed: {}",
                printable(reason)
            )?;
        }
        let reported = report(problems)?;
        Ok(if missing == 0 { reported } else { Exit::Findings })
    }
}

/// Copies one image.
async fn copy(
    planned: &Planned,
    transfer: &Transfer,
    policy: Option<&Policy>,
    progress: &Progress,
) -> Result<Transferred> {
    let Planned { image, target, .. } = planned;
    let copied = async {
        let source = accepted(image, transfer, policy).await?;
        // Archives are written at the end, from a layout.
        transfer.copy(&source, target, image.content.is_catalog(), progress).await
    };
    copied.await.with_context(|| failed_to_mirror(planned))
}

/// Returns whether the time of the whole command is over.
fn is_expired(error: &Error) -> bool {
    error.chain().any(|cause| {
        let error = match cause.downcast_ref() {
            Some(location::Error::Registry(error)) => Some(error),
            _ => cause.downcast_ref(),
        };
        matches!(error, Some(registry::Error::Expired { .. }))
    })
}

/// Returns where an image is copied from, if the policy accepts it. A part of a catalog was built from an image that it accepts.
async fn accepted(
    image: &Mirrored,
    transfer: &Transfer,
    policy: Option<&Policy>,
) -> Result<ImageLocation, location::Error> {
    match policy.filter(|_| !image.content.is_part()) {
        Some(policy) => transfer.require(&image.source, policy).await,
        None => Ok(image.source.clone()),
    }
}

fn failed_to_mirror(Planned { image, target, .. }: &Planned) -> String {
    format!("failed to mirror {} ({}) to {target}", image.reference, image.reason)
}

/// Prints what failed.
fn report(problems: &[Error]) -> Result<Exit> {
    if problems.is_empty() {
        return Ok(Exit::Success);
    }
    for problem in problems {
        print_error(problem)?;
    }
    writeln!(stderr(), "{ERROR} {} could not be mirrored", counted(problems.len(), "image"))?;
    Ok(Exit::Findings)
}

/// The layout that images are copied to: the target, or the place where an archive is prepared.
struct Staging {
    layout: Option<PathBuf>,
    archive: Option<PathBuf>,
}

impl Staging {
    fn for_target(target: &Target) -> Self {
        match target {
            Target::Registry(_) => Self { layout: None, archive: None },
            Target::Directory(path) => Self { layout: Some(path.clone()), archive: None },
            Target::Archive(path) => {
                let mut layout = path.clone().into_os_string();
                layout.push(".partial");
                Self { layout: Some(layout.into()), archive: Some(path.clone()) }
            }
        }
    }
}

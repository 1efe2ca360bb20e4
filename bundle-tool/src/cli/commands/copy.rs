//! `bundle-tool copy`: images from one place to another.

use std::io::{self, Write as _};
use std::path::PathBuf;

use anyhow::{Context as _, Result};
use clap::Args;
use oci_images::layout::Platform;
use oci_images::location::{Copier, ImageLocation};
use oci_images::registry::{Policy, Resolver};
use oci_images::transfer::Transfer;

use crate::cli::exit::Exit;
use crate::cli::images::{RegistryArgs, image_source};
use crate::cli::outputs;
use crate::cli::progress::progress;
use crate::cli::runtime::runtime;

#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  # Copy a catalog for all platforms to another registry
  bundle-tool copy quay.io/example/catalog:latest \\
    registry.example.com/mirror/catalog:latest

  # Keep an image in an OCI layout, and push it from there
  bundle-tool copy quay.io/example/operator:v1.0.0 oci:images
  bundle-tool copy oci:images:quay.io/example/operator:v1.0.0 \\
    registry.example.com/operator:v1.0.0

  # Copy an image only if it is signed, as podman and skopeo require it
  bundle-tool copy --signature-policy /etc/containers/policy.json \\
    quay.io/example/app:v1 registry.example.com/app:v1

  # Load the image for one platform into Docker
  bundle-tool copy --platform linux/arm64 quay.io/example/app:v1 \\
    docker-archive:app.tar
  docker load --input app.tar")]
pub(crate) struct Copy {
    /// Image to copy
    #[arg(value_name = "SOURCE", value_parser = image_source)]
    from: ImageLocation,
    /// Where to copy it to
    #[arg(value_name = "TARGET")]
    to: ImageLocation,
    /// Copy only the image for this platform [default: all platforms]
    #[arg(long, value_name = "OS/ARCH")]
    platform: Option<Platform>,
    /// Do not copy signatures, SBOMs and other referrers; with --platform and for archives, they are never copied
    #[arg(long)]
    no_referrers: bool,
    /// Copy the image only if this signature policy accepts it: a policy.json of containers
    #[arg(long, value_name = "FILE")]
    signature_policy: Option<PathBuf>,
    /// File to write the digest to
    #[arg(long, value_name = "FILE")]
    digest_file: Option<PathBuf>,
    #[command(flatten)]
    registries: RegistryArgs,
}

impl Copy {
    pub(crate) fn run(self) -> Result<Exit> {
        let Self { from, to, platform, no_referrers, signature_policy, digest_file, registries } = self;
        let policy = signature_policy.as_deref().map(Policy::read).transpose()?;
        let with_referrers = !no_referrers
            && platform.is_none()
            && !matches!(from, ImageLocation::DockerArchive(..))
            && matches!(to, ImageLocation::Registry(_) | ImageLocation::Directory(..));
        outputs::require_other_image(&from, &to)?;
        outputs::require_parent_of_archive(&to)?;
        // Opened first: an image is not copied if its digest cannot be written.
        let [digest_file] = outputs::open([("--digest-file", digest_file.as_deref())], &[&from, &to])?;
        let copier = Copier { options: registries.options(), resolver: Resolver::from_env(), platform };
        let progress = progress(format!("copying {from}"));
        let runtime = runtime()?;
        let (from, to) = match policy {
            Some(policy) => {
                let transfer = Transfer::new(registries.options(), Resolver::from_env(), false);
                let accepted = runtime.block_on(transfer.require(&from, &policy))?;
                let named = to.or_named(&from);
                (accepted, named)
            }
            None => (from, to),
        };
        let done = runtime
            .block_on(copier.copy(&from, &to, &progress))
            .with_context(|| format!("failed to copy {from} to {to}"))?;
        if with_referrers {
            let mut transfer = Transfer::new(registries.options(), Resolver::from_env(), true);
            runtime.block_on(transfer.copy_referrers_of(&from, &to, &progress)).with_context(|| {
                format!(
                    "copied {from} to {to}, but not its signatures and other referrers; omit them with --no-referrers"
                )
            })?;
        }
        drop(progress);
        if let Some(mut file) = digest_file {
            let written = file.append(done.digest.as_bytes()).and_then(|()| file.commit());
            written
                .with_context(|| format!("{} was copied, but its digest could not be written", done.name))?;
        }
        let mut out = io::stdout().lock();
        writeln!(out, "{}", done.name)?;
        out.flush()?;
        Ok(Exit::Success)
    }
}

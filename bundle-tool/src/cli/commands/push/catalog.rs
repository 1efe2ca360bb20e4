//! `bundle-tool push catalog`: a file-based catalog as an index image.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use clap::Args;

use super::annotations::Subject;
use super::base::Base;
use super::destination::{Destination, check_order};
use super::index_image::{self, CONFIGS, SelfServing};
use super::platforms::Platforms;
use crate::cli::commands::catalog::{Next, check};
use crate::cli::exit::Exit;
use crate::cli::runtime::runtime;
use catalog_server::{Digest, load};
use oci_images::layout::{Artifact, Platform, layer};
use olm_model::disk;

/// Build and push the index image of a file-based catalog
///
/// The image is built FROM scratch and serves the catalog. It contains the catalog in /configs, an index of it and this
/// program, which a `CatalogSource` of type grpc starts. It runs with the restricted security context, as any user, and with
/// a read-only root file system.
///
/// With --base, opm in that image serves the catalog, and builds its cache when it starts. With --data-only, the image
/// contains only the catalog. OLM v1, and clusters that extract the catalog (spec.grpcPodConfig.extractContent), need
/// nothing more; they accept images with the server as well.
///
/// Exit status: 0 on success, 1 if the catalog is invalid, 2 on an error.
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  # Push an index image that serves the catalog
  bundle-tool push catalog ./catalog quay.io/example/operator-catalog:latest

  # Push it for two architectures, with the program for each
  bundle-tool push catalog ./catalog quay.io/example/operator-catalog:latest \\
    --platform linux/amd64=amd64/bundle-tool,linux/arm64=arm64/bundle-tool

  # Push a catalog that opm serves
  bundle-tool push catalog ./catalog quay.io/example/operator-catalog:latest \\
    --base quay.io/operator-framework/opm:latest")]
pub(crate) struct PushCatalog {
    /// Catalog directory
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    /// Name of the image, such as registry.example.com/name-catalog:latest
    #[arg(value_name = "IMAGE")]
    name: String,
    /// Base image with opm: a name, oci:DIR or oci-archive:FILE
    #[arg(long, value_name = "IMAGE", conflicts_with_all = ["data_only", "server_binary"])]
    base: Option<String>,
    /// Push the catalog without a program that serves it
    #[arg(long, conflicts_with = "server_binary")]
    data_only: bool,
    /// Static bundle-tool binary that serves the catalog [default: the running program]
    #[arg(long, value_name = "FILE")]
    server_binary: Option<PathBuf>,
    /// Platform of the base image or of the program, or the static bundle-tool for each of several platforms:
    /// linux/amd64=FILE,linux/arm64=FILE [default: linux/amd64, or the program's]
    #[arg(long, value_name = "OS/ARCH[=FILE,...]", conflicts_with = "data_only")]
    platform: Option<Platforms>,
    /// Push the catalog even if it is invalid
    #[arg(long)]
    no_validate: bool,
    #[command(flatten)]
    destination: Destination,
}

impl PushCatalog {
    pub(crate) fn run(self) -> Result<Exit> {
        check_order("push catalog", &self.directory, &self.name)?;
        let sources = disk::catalog::sources(&self.directory)?;
        if sources.is_empty() {
            bail!("{} is not a catalog: it contains no files", self.directory.display());
        }
        let digest = load::digest(&self.directory)?;
        if !self.no_validate && !check(&self.directory.display().to_string(), sources, Next::Push)? {
            return Ok(Exit::Findings);
        }
        let validated = Validated { directory: &self.directory, digest };
        if let Some(base) = &self.base {
            return self.push_on(base, &validated);
        }
        let annotations = self.destination.annotations(&self.directory, &Subject::Catalog, None)?;
        let inputs = self.destination.inputs("push catalog", &self.directory).whole_directory();
        let inputs = inputs.annotations(&annotations);
        if self.data_only {
            let image = index_image::data_only(&self.directory, annotations)?;
            validated.require_unchanged()?;
            return self.destination.send_whole(&self.name, image, &inputs.parameter("dataOnly", true));
        }
        let serving = |server_binary, platform| SelfServing {
            directory: &self.directory,
            server_binary,
            platform,
            may_be_invalid: self.no_validate,
            annotations: annotations.clone(),
        };
        let platform = match &self.platform {
            Some(Platforms::Programs(_)) if self.server_binary.is_some() => {
                bail!("--platform with programs cannot be used with --server-binary")
            }
            Some(Platforms::Programs(programs)) => {
                let named = programs.iter().map(|(platform, path)| (platform.to_string(), path.clone()));
                let inputs = inputs.files("programs", named)?;
                let mut images = Vec::new();
                for (platform, path) in programs {
                    let image = serving(Some(path.as_path()), Some(platform)).image()?;
                    images.push((platform.clone(), Artifact::from(image)));
                }
                validated.require_unchanged()?;
                let index = Artifact::index(images, annotations)?;
                return self.destination.send_whole(&self.name, index, &inputs);
            }
            Some(Platforms::One(platform)) => Some(platform),
            None => None,
        };
        let inputs = match platform {
            Some(platform) => inputs.parameter("platform", platform.to_string()),
            None => inputs,
        };
        let catalog = serving(self.server_binary.as_deref(), platform);
        let inputs = inputs.files("programs", [("bundle-tool".to_owned(), catalog.program()?)])?;
        let image = catalog.image()?;
        validated.require_unchanged()?;
        self.destination.send_whole(&self.name, image, &inputs)
    }

    /// Pushes the catalog on a base image, in which opm serves it.
    fn push_on(&self, base: &str, validated: &Validated<'_>) -> Result<Exit> {
        let inputs = self.destination.inputs("push catalog", &self.directory).whole_directory();
        let (inputs, platform) = match &self.platform {
            Some(Platforms::Programs(_)) => bail!("--platform with programs cannot be used with --base"),
            Some(Platforms::One(platform)) => {
                (inputs.parameter("platform", platform.to_string()), platform.clone())
            }
            None => (inputs, Platform::default()),
        };
        let (mut recipe, mut files) = index_image::begin(&self.directory)?;
        // opm's cache is below /tmp, which an image with nothing but programs may lack.
        files.add_scratch_directory("/tmp")?;
        recipe.layers.push(layer(&files, recipe.created)?);
        // Without --cache-dir, opm builds a new cache at every start, so none can be stale.
        recipe.command = Some(vec!["serve".into(), CONFIGS.into()]);
        runtime()?.block_on(async {
            let name = base;
            let base = Base::open(name, &[platform], &self.destination.registries).await?;
            if let Some(image) = base.chosen.images.first()
                && !image.has_entrypoint()?
            {
                bail!("the base image {name} has no entrypoint: expected an image of opm");
            }
            recipe.annotations =
                self.destination.annotations(&self.directory, &Subject::Catalog, Some(&base))?;
            let inputs = inputs.annotations(&recipe.annotations).base(&base);
            recipe.base = base.chosen.images.into_iter().next();
            let image = recipe.build()?;
            validated.require_unchanged()?;
            self.destination.send(&self.name, image, &inputs, base.chosen.repository.as_ref()).await
        })?;
        Ok(Exit::Success)
    }
}

/// A catalog as it was validated. Its files are read again for the image, because a catalog may be larger than memory.
struct Validated<'a> {
    directory: &'a Path,
    digest: Digest,
}

impl Validated<'_> {
    /// Checks that the image contains what was validated.
    ///
    /// # Errors
    /// A file of the catalog was changed, added or removed meanwhile.
    fn require_unchanged(&self) -> Result<()> {
        if load::digest(self.directory)? == self.digest {
            return Ok(());
        }
        bail!(
            "{} was changed while its image was built, so the image was not pushed; run the command again",
            self.directory.display()
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn catalog_that_changes_after_validation_is_not_pushed() {
        let dir = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| std::fs::write(dir.path().join(name), text).unwrap();
        write("a.yaml", "schema: olm.package\nname: a\n");
        let validated = Validated { directory: dir.path(), digest: load::digest(dir.path()).unwrap() };
        assert!(validated.require_unchanged().is_ok());
        write("b.yaml", "schema: olm.package\nname: b\n");
        let error = validated.require_unchanged().unwrap_err().to_string();
        assert!(error.contains("was changed while its image was built"), "{error}");
    }
}

//! The request for an installation with OLM v0, from the options and a bundle.

use anyhow::{Context as _, Result, bail};
use clap::Args;

use super::access::{Access, CatalogPodArgs, Security};
use super::content::{self, Facts};
use super::source::{self, Input, Uploads};
use super::state::State;
use crate::cli::cluster::Connection;
use crate::cli::images::{Location, RegistryArgs};
use crate::cli::time_limit::TimeLimit;
use olm_cluster::manifests::{Catalog, Request};
use olm_model::disk;

// What all commands that install bundles have in common.
#[derive(Debug, Clone, Args)]
pub(crate) struct Options {
    /// Channel of the subscription [default: the bundle's default channel]
    #[arg(long, value_name = "NAME")]
    pub(crate) channel: Option<String>,
    /// Push the bundle to this repository, together with an index image that serves its catalog
    #[arg(long, value_name = "REGISTRY/REPO[:TAG]")]
    pub(crate) push_to: Option<String>,
    #[command(flatten)]
    pub(crate) pods: CatalogPodArgs,
    #[command(flatten)]
    pub(crate) connection: Connection,
    #[command(flatten)]
    pub(crate) access: Access,
}

// What an installation and an upgrade have in common.
#[derive(Debug, Clone, Args)]
pub(crate) struct Common {
    /// Bundle: a directory, `oci:DIR`, `oci-archive:FILE` or an image
    #[arg(value_name = "REF")]
    pub(crate) reference: String,
    /// Continue even if a check fails, or if an upgrade breaks existing objects
    #[arg(long)]
    pub(crate) force: bool,
    /// Time limit for all network access, including waiting for the cluster, such as 90s or 1h
    #[arg(long, value_name = "DURATION", default_value = "10m", value_parser = TimeLimit::parser("--timeout"))]
    pub(crate) timeout: TimeLimit,
    #[command(flatten)]
    pub(crate) options: Options,
}

/// What is requested beside the bundle.
pub(crate) struct Wanted<'w> {
    /// The namespaces that the operator watches, none for all; `None` to use the existing `OperatorGroup`.
    pub(crate) targets: Option<Vec<String>>,
    /// The installed CSV that the bundle replaces; empty without one.
    pub(crate) replaces: &'w str,
    /// The index image whose catalog the bundle is added to.
    pub(crate) index_image: Option<&'w str>,
    /// Whether the namespace is created if it does not exist.
    pub(crate) create_namespace: bool,
    /// Whether nothing is built and pushed.
    pub(crate) is_dry_run: bool,
}

impl Options {
    /// Returns the request for a bundle, with the images that `--push-to` asks for: they are built, and to be pushed before the
    /// request's objects are created.
    pub(crate) async fn request(
        &self,
        input: &mut Input,
        facts: &Facts,
        wanted: Wanted<'_>,
        state: Option<&State>,
        registries: &RegistryArgs,
    ) -> Result<(Request, Uploads)> {
        let tag = self.push_to.as_ref().map(|name| tagged(name, &facts.version));
        let mut uploads = Uploads::default();
        if let (Some(name), false) = (&tag, wanted.is_dry_run) {
            uploads.0.push(input.build(name)?);
        } else if let Some(name) = &tag {
            input.image = Some(name.clone());
        }
        let mut catalog = content::single(&input.bundle, input.image.as_deref(), facts, wanted.replaces)?;
        if let Some(index) = wanted.index_image {
            let contents = Location::parse(index)?
                .contents(registries)
                .await
                .with_context(|| format!("failed to read index image {index}"))?;
            if !contents.is_catalog() {
                bail!(
                    "{index} is not a file-based index image: it has no label `operators.operatorframework.io.index.configs.v1`"
                );
            }
            let scratch = tempfile::tempdir().context("failed to create a temporary directory")?;
            atomic_files::tree(scratch.path(), contents.files)?;
            catalog = content::inject(disk::catalog::read(scratch.path())?, catalog, index)?;
        }
        let mut text = Vec::new();
        catalog.write_json_with("  ", &mut text)?;
        let catalog = match &tag {
            Some(name) => {
                let index = format!("{name}-index");
                let serves_itself = source::serves_itself();
                let name = if wanted.is_dry_run {
                    index
                } else {
                    let upload = source::build_index(&index, &text, serves_itself)?;
                    let name = upload.by_digest();
                    uploads.0.push(upload);
                    name
                };
                Catalog::Image { name, serves_itself }
            }
            None => self.pods.served(text, state)?,
        };
        let request = Request {
            package: facts.candidate.package.clone(),
            channel: facts.channels.first().cloned().unwrap_or_default(),
            csv: facts.candidate.csv.clone(),
            namespace: facts.candidate.namespace.clone(),
            targets: wanted.targets,
            catalog,
            pull_secret: self.pods.pull_secret_name.clone(),
            restricted: self.pods.security_context_config == Security::Restricted,
            create_namespace: wanted.create_namespace
                && state.is_none_or(|state| !state.has_namespace(&facts.candidate.namespace)),
        };
        Ok((request, uploads))
    }
}

/// Returns the name of the image with a tag: the one given, or the version.
pub(crate) fn tagged(name: &str, version: &str) -> String {
    let last = name.rsplit('/').next().unwrap_or(name);
    if last.contains(':') { name.to_owned() } else { format!("{name}:v{}", version.replace('+', "-")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_get_the_version_as_tag() {
        assert_eq!(tagged("localhost:5000/a", "1.2.0+x"), "localhost:5000/a:v1.2.0-x");
        assert_eq!(tagged("quay.io/a/b:dev", "1.2.0"), "quay.io/a/b:dev");
    }
}

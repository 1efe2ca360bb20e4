//! `bundle-tool create api`: adds a kind, or another version of one.

use std::io::Write;

use anyhow::{Result, bail};
use clap::Args;

use crate::cli::exit::Exit;
use crate::cli::images::between;
use crate::cli::scaffold::{Common, Workspace, finish};
use crate::terminal::{HELP, NOTE, messages};
use operator_scaffold::merge::Existing;
use operator_scaffold::{DeployImage, Error, Resource, Webhooks, names, plugins};

/// Add a kind, or another version of a kind, to a project
///
/// Writes the types that the CRD is generated from, a controller and tests, and registers them. With --image, the
/// controller runs that image in a Deployment. A new version must be later than all existing ones. The highest stable
/// version (or the latest one, if none is stable) becomes the storage version, which the controller uses. All versions
/// have the same fields until you run `bundle-tool create webhook --conversion`, which gives each version its own. Your
/// edits are kept.
///
/// Exit status: 0 on success, 1 if a file was merged with conflicts, 2 on an error, with nothing written.
#[derive(Debug, Args)]
#[command(
    disable_version_flag = true,
    after_long_help = "\
Examples:
  # Add a kind with its controller
  bundle-tool create api --group travel --version v1alpha1 --kind FlightTicket

  # Add a kind whose controller runs an image
  bundle-tool create api --group cache --version v1alpha1 --kind Memcached \\
    --image docker.io/library/memcached:1.6 \\
    --image-container-command memcached,--memory-limit=64 \\
    --image-container-port 11211 --run-as-user 1001

  # Add a version
  bundle-tool create api --group travel --version v1 --kind FlightTicket"
)]
pub(crate) struct Api {
    /// API group without the domain, such as `cache` for cache.example.com [default: the domain itself]
    #[arg(long, value_name = "GROUP", default_value = "", hide_default_value = true)]
    group: String,
    /// Version, such as v1alpha1
    #[arg(long, value_name = "VERSION")]
    version: String,
    /// Kind, in upper camel case
    #[arg(long, value_name = "KIND")]
    kind: String,
    /// Plural, in lowercase [default: the English plural of the kind]
    #[arg(long, value_name = "NAME")]
    plural: Option<String>,
    /// Create the types
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_value_t = true, default_missing_value = "true", action = clap::ArgAction::Set)]
    resource: bool,
    /// Create the controller
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_value_t = true, default_missing_value = "true", action = clap::ArgAction::Set)]
    controller: bool,
    /// Make the kind namespaced
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_value_t = true, default_missing_value = "true", action = clap::ArgAction::Set)]
    namespaced: bool,
    /// Plugin keys, comma-separated; `deploy-image/v1` requires --image
    #[arg(long, value_name = "KEY,…", value_delimiter = ',')]
    plugins: Vec<String>,
    /// Image that the controller runs in a Deployment
    #[arg(long, value_name = "IMAGE")]
    image: Option<String>,
    /// Command of the container: words separated by commas
    #[arg(long, value_name = "WORD,…", requires = "image", default_value = "", hide_default_value = true)]
    image_container_command: String,
    /// Port of the container
    #[arg(long, value_name = "PORT", requires = "image", value_parser = |text: &str| between::<u16>(text, 1, u16::MAX))]
    image_container_port: Option<u16>,
    /// User ID of the container [default: chosen by the cluster or the image]
    #[arg(long, value_name = "UID", requires = "image")]
    run_as_user: Option<u32>,
    #[command(flatten)]
    common: Common,
}

impl Api {
    pub(crate) fn run(self) -> Result<Exit> {
        let deploys = self.plugins.iter().map(|key| plugins::resolve(key)).collect::<Result<Vec<_>, _>>()?;
        if deploys.contains(&plugins::DEPLOY_IMAGE) && self.image.is_none() {
            bail!("the plugin `{}` requires --image", plugins::DEPLOY_IMAGE);
        }
        let resource = Resource {
            version: self.version.parse()?,
            plural: self.plural.clone().unwrap_or_else(|| names::regular_plural(&self.kind)),
            namespaced: self.namespaced,
            controller: self.controller,
            webhooks: Webhooks::default(),
            image: self.image.map(|image| DeployImage {
                image,
                container_command: self.image_container_command,
                container_port: self.image_container_port,
                run_as_user: self.run_as_user,
            }),
            group: self.group,
            kind: self.kind,
        };
        let workspace = Workspace::open(&self.common.project_dir)?;
        let mut project = workspace.project.clone();
        names::kind(&resource.kind)?;
        names::group(&resource.group, &project.domain)?;
        let is_version = self.resource && project.hub(&resource.group, &resource.kind).is_some();
        let is_converted =
            project.versions(&resource.group, &resource.kind).any(|version| version.webhooks.conversion);
        if self.resource {
            add(&mut project, resource, self.plural.is_none())?;
        } else {
            project.add_controller(&resource)?;
        }
        let plan = workspace.apply(&project, Existing::Reject, &self.common)?;
        if plan.conflicts.is_empty() {
            let mut err = messages();
            if is_version && is_converted {
                writeln!(
                    err,
                    "next: convert the fields of the other versions in their `_conversion.rs` files"
                )?;
            } else if is_version {
                writeln!(err, "{NOTE} the versions have the same fields, and differ in apiVersion only")?;
                writeln!(
                    err,
                    "{HELP} for other fields, add a conversion webhook: bundle-tool create webhook --conversion"
                )?;
            }
            writeln!(err, "next: edit the types in src/api, then run `make test` and `make bundle`")?;
        }
        finish(&plan)
    }
}

/// Adds a resource; another version of a kind takes the plural, the image and the webhooks from it.
fn add(project: &mut operator_scaffold::Project, mut resource: Resource, regular: bool) -> Result<(), Error> {
    if let Some(hub) = project.hub(&resource.group, &resource.kind) {
        if regular {
            resource.plural.clone_from(&hub.plural);
        }
        resource.controller = false;
    }
    project.add(resource)
}

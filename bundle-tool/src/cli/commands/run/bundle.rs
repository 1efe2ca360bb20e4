//! `bundle-tool run bundle`: installs a bundle.

use anyhow::{Result, bail};
use clap::{Args, ValueEnum};
use serde_json::Value;

use super::checked::{ApprovedInstall, LoadedBundle};
use super::dry_run::{DryRun, DryRunArgs};
use super::request::Common;
use super::source::{Input, is_on_disk};
use super::{content, v0, v1};
use crate::cli::cluster::Printer;
use crate::cli::exit::Exit;
use crate::cli::images::RegistryArgs;
use crate::cli::runtime::runtime;
use crate::cli::time_limit::Deadline;
use olm_cluster::preflight::InstallMode;

/// Install a bundle on a cluster with OLM, and explain what goes wrong
///
/// Serves a catalog with the bundle from the cluster, subscribes to it and waits until the operator runs. For a
/// directory or an archive, the catalog contains the manifests themselves, and no registry is used unless you pass
/// --push-to. Everything that can be checked is checked before anything is pushed or created. The command stops waiting
/// at the first problem that does not resolve itself, and prints its cause.
///
/// Exit status: 0 if the operator is installed, or if the objects of --dry-run are printed, 2 otherwise.
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  # Install a bundle directory, without a registry
  bundle-tool run bundle ./bundle --namespace gizmos --create-namespace

  # Install a bundle image for one namespace
  bundle-tool run bundle quay.io/example/gizmo-bundle:v1.2.0 \\
    --install-mode SingleNamespace=team-a

  # Push a bundle and an index image, and install from them
  bundle-tool run bundle ./bundle --push-to registry.example.com/gizmo-bundle

  # Install with OLM v1
  bundle-tool run bundle ./bundle --olm v1 --namespace gizmos \\
    --push-to registry.example.com/gizmo-bundle

  # Print the manifests for GitOps
  bundle-tool run bundle quay.io/example/gizmo-bundle:v1.2.0 \\
    --dry-run=client -o yaml")]
pub(crate) struct RunBundle {
    /// Namespaces that the operator watches: `AllNamespaces`, `OwnNamespace`, `SingleNamespace=NS` or
    /// `MultiNamespace=NS,…` [default: those of the existing `OperatorGroup`, or the first of `AllNamespaces` and
    /// `OwnNamespace` that the bundle supports]
    #[arg(long, value_name = "MODE[=NS,…]")]
    install_mode: Option<InstallMode>,
    /// Index image whose catalog the bundle is added to
    #[arg(long, value_name = "IMAGE")]
    index_image: Option<String>,
    /// Version of OLM to install with; v1 requires --push-to
    #[arg(long, value_name = "VERSION", value_enum, default_value_t = Olm::V0)]
    olm: Olm,
    /// Create the namespace if it does not exist
    #[arg(long)]
    create_namespace: bool,
    #[command(flatten)]
    dry_run_args: DryRunArgs,
    #[command(flatten)]
    pub(crate) common: Common,
    /// Whether an installed bundle is replaced.
    #[arg(skip)]
    is_upgrade: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Olm {
    /// `CatalogSource` and `Subscription`
    V0,
    /// `ClusterCatalog` and `ClusterExtension`
    V1,
}

impl RunBundle {
    /// Returns the command that replaces an installed bundle.
    pub(crate) fn upgrade(common: Common, olm: Olm) -> Self {
        Self {
            common,
            install_mode: None,
            index_image: None,
            olm,
            create_namespace: false,
            dry_run_args: DryRunArgs::default(),
            is_upgrade: true,
        }
    }

    pub(crate) fn run(self) -> Result<Exit> {
        runtime()?.block_on(self.install())
    }

    async fn install(&self) -> Result<Exit> {
        let options = &self.common.options;
        let deadline = self.common.timeout.start();
        options.connection.check_namespace()?;
        let for_v1 = match self.olm {
            Olm::V0 => None,
            Olm::V1 => {
                if self.index_image.is_some() {
                    bail!("--index-image applies to OLM v0 only");
                }
                let mode = self.install_mode.as_ref();
                Some(v1::Installer::new(&self.common, mode, self.create_namespace, self.dry_run_args)?)
            }
        };
        let mut printer = Printer::new();
        let checks = Box::pin(self.checked(for_v1, deadline, &mut printer));
        match deadline.within("nothing was created", checks).await? {
            Next::Print(objects) => {
                printer.finish();
                self.dry_run_args.print(&objects)
            }
            Next::Install(accepted) => accepted.install(deadline, &mut printer).await,
        }
    }

    /// Reads and checks everything, before anything is pushed or created.
    async fn checked(
        &self,
        for_v1: Option<v1::Installer<'_>>,
        deadline: Deadline,
        printer: &mut Printer,
    ) -> Result<Next> {
        let read = self.read(deadline, printer).await?;
        let checked = if let Some(installer) = for_v1 {
            installer.check(read, printer).await?
        } else {
            let installer = v0::Installer {
                common: &self.common,
                install_mode: self.install_mode.as_ref(),
                index_image: self.index_image.as_deref(),
                create_namespace: self.create_namespace,
                is_dry_run: self.dry_run_args.dry_run.is_some(),
            };
            installer.check(read, printer).await?
        };
        if self.dry_run_args.dry_run == Some(DryRun::Client) {
            return Ok(Next::Print(checked.objects));
        }
        let namespace = checked.facts.candidate.namespace.clone();
        let mut accepted = checked.accepted(self.common.force, printer).await?;
        match (self.dry_run_args.dry_run, accepted.stored.take()) {
            (None, _) => Ok(Next::Install(Box::new(accepted))),
            (Some(_), Some(stored)) => Ok(Next::Print(stored)),
            (Some(_), None) => {
                bail!(
                    "namespace `{namespace}` does not exist: --dry-run=server requires it; pass --dry-run=client"
                )
            }
        }
    }

    /// Reads the bundle, and connects to the cluster.
    async fn read(&self, deadline: Deadline, printer: &mut Printer) -> Result<LoadedBundle> {
        let options = &self.common.options;
        let reference = &self.common.reference;
        // What is on this machine is checked before the cluster.
        let local = if is_on_disk(reference)? {
            printer.step(&format!("reading {reference}"));
            Some(Input::read(reference, &RegistryArgs::default()).await?)
        } else {
            None
        };
        // Printing what would be sent needs no cluster, if nothing of the cluster is asked for.
        let is_offline =
            self.dry_run_args.dry_run == Some(DryRun::Client) && options.access.ca_secret_name.is_none();
        let cluster = match options.connection.connect().await {
            Ok(cluster) => Some(cluster),
            Err(_) if is_offline => None,
            Err(error) => return Err(error),
        };
        let namespace = match (&options.connection.namespace, &cluster) {
            (Some(namespace), _) => namespace.clone(),
            (None, Some(cluster)) => options.connection.namespace(cluster),
            (None, None) => "default".to_owned(),
        };
        let images = [Some(&**reference), self.index_image.as_deref(), options.push_to.as_deref()];
        let registries = options.access.registries(cluster.as_ref(), &namespace, &images, deadline).await?;
        let input = if let Some(input) = local {
            input
        } else {
            printer.step(&format!("reading {reference}"));
            Input::read(reference, &registries.options).await?
        };
        let mut facts = content::facts(&input.bundle, &namespace, options.channel.as_deref())?;
        facts.candidate.create_namespace = self.create_namespace;
        facts.candidate.is_upgrade = self.is_upgrade;
        Ok(LoadedBundle { cluster, is_offline, registries, input, facts })
    }
}

/// What follows the checks.
enum Next {
    Print(Vec<Value>),
    Install(Box<ApprovedInstall>),
}

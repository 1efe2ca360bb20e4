//! `bundle-tool run bundle`: installs a bundle.

use std::io::{self, Write};

use anyhow::{Context as _, Result, bail};
use clap::{Args, ValueEnum};

use super::content;
use super::preview::{DryRun, Preview};
use super::request::{Common, Wanted};
use super::source::Input;
use super::state::State;
use super::{unfinished, v1};
use crate::cli::cluster::{Printer, print_failure, print_problems};
use crate::cli::exit::Exit;
use crate::cli::report::check_bundle;
use crate::cli::runtime::runtime;
use crate::cli::signals::interrupted;
use crate::cluster::Deadline;
use crate::cluster::install::{Changes, Failure, Installation, Report, dry_run};
use crate::cluster::preflight::{InstallMode, denied};

/// Install a bundle on a cluster with OLM, and explain what goes wrong
///
/// Serves a catalog with the bundle from the cluster, subscribes to it and waits until the operator runs. The bundle is an
/// image, or a directory or archive: then the catalog contains the manifests themselves, and no registry is used unless
/// --push-to is given. Everything that can be checked is checked before anything is created. The first problem that does not
/// resolve itself ends the wait, with its reason.
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
pub(in super::super) struct RunBundle {
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
    preview: Preview,
    #[command(flatten)]
    pub(super) common: Common,
    /// Whether an installed bundle is replaced.
    #[arg(skip)]
    is_upgrade: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Olm {
    /// `CatalogSource` and `Subscription`
    V0,
    /// `ClusterCatalog` and `ClusterExtension`
    V1,
}

impl RunBundle {
    /// Returns the command that replaces an installed bundle.
    pub(super) fn upgrade(common: Common, olm: Olm) -> Self {
        Self {
            common,
            install_mode: None,
            index_image: None,
            olm,
            create_namespace: false,
            preview: Preview::default(),
            is_upgrade: true,
        }
    }

    pub(in super::super) fn run(self) -> Result<Exit> {
        runtime()?.block_on(self.install())
    }

    async fn install(&self) -> Result<Exit> {
        self.common.options.connection.check_namespace()?;
        let for_v1 = match self.olm {
            Olm::V0 => None,
            Olm::V1 => {
                if self.index_image.is_some() {
                    bail!("--index-image applies to OLM v0 only");
                }
                let mode = self.install_mode.as_ref();
                Some(v1::Installer::new(&self.common, mode, self.create_namespace, self.preview)?)
            }
        };
        let mut printer = Printer::new();
        // Printing what would be sent needs no cluster, if nothing of the cluster is asked for.
        let offline = self.preview.dry_run == Some(DryRun::Client)
            && self.common.options.access.ca_secret_name.is_none();
        let cluster = match self.common.options.connection.connect().await {
            Ok(cluster) => Some(cluster),
            Err(_) if offline => None,
            Err(error) => return Err(error),
        };
        let namespace = match (&self.common.options.connection.namespace, &cluster) {
            (Some(namespace), _) => namespace.clone(),
            (None, Some(cluster)) => self.common.options.connection.namespace(cluster),
            (None, None) => "default".to_owned(),
        };
        let registries = self
            .common
            .options
            .access
            .registries(
                cluster.as_ref(),
                &namespace,
                &[
                    Some(&self.common.reference),
                    self.index_image.as_deref(),
                    self.common.options.push_to.as_deref(),
                ],
                self.common.options.timeout,
            )
            .await?;
        printer.step(&format!("reading {}", self.common.reference));
        let mut input = Input::read(&self.common.reference, &registries.options).await?;
        let mut facts = content::facts(&input.bundle, &namespace, self.common.options.channel.as_deref())?;
        facts.candidate.create_namespace = self.create_namespace;
        facts.candidate.is_upgrade = self.is_upgrade;
        if let Some(installer) = for_v1 {
            return installer.install(cluster, input, &facts, &registries.options, printer).await;
        }
        if !self.common.force && !check_bundle(&input.bundle)? {
            bail!(
                "bundle {} is invalid and was not installed; use --force to install it anyway",
                self.common.reference
            );
        }
        let state = match &cluster {
            Some(cluster) if !offline => Some(State::read(cluster, &namespace).await?),
            Some(cluster) => State::read(cluster, &namespace).await.ok(),
            None => None,
        };
        let mut targets = match &self.install_mode {
            Some(mode) if mode.kind == "OwnNamespace" => Some(vec![namespace.clone()]),
            mode => Some(mode.as_ref().map(|mode| mode.namespaces.clone()).unwrap_or_default()),
        };
        if let Some(state) = &state {
            printer.step("checking the cluster");
            match state.check(&input, &facts, self.install_mode.as_ref()) {
                (Ok(found), problems) if problems.is_empty() || self.common.force || offline => {
                    targets = found;
                    printer.finish();
                    print_problems("warning", &problems)?;
                }
                (group, mut problems) => {
                    problems.extend(group.err().map(|problem| *problem));
                    printer.finish();
                    print_problems("error", &problems)?;
                    bail!("nothing was created");
                }
            }
        }
        let mut replaces = String::new();
        if let (true, Some(state)) = (self.is_upgrade, &state) {
            replaces = state.installed(&facts)?;
            printer.finish();
            if replaces != facts.candidate.csv
                && state.breaks(&replaces, &input, &facts)?
                && !self.common.force
            {
                bail!(
                    "the upgrade breaks existing objects, and nothing was changed; use --force to upgrade anyway"
                );
            }
        }
        let wanted = Wanted {
            targets,
            replaces: &replaces,
            index_image: self.index_image.as_deref(),
            create_namespace: self.create_namespace,
            is_dry_run: self.preview.dry_run.is_some(),
        };
        let options = &self.common.options;
        let request =
            options.request(&mut input, &facts, wanted, state.as_ref(), &registries.options).await?;
        let objects = request.objects()?;
        if self.preview.dry_run == Some(DryRun::Client) {
            printer.finish();
            return self.preview.print(&objects);
        }
        let (Some(cluster), Some(state)) = (cluster, state) else { bail!("no cluster is configured") };
        let mut changes = Changes::default();
        let deadline = Deadline::after(self.common.options.timeout);
        let mut installation = Installation::new(&cluster, &request, deadline, &mut changes);
        let create_namespace = self.create_namespace && !state.has_namespace(&namespace);
        if let Some(problem) = denied(&cluster, &namespace, &objects).await {
            printer.finish();
            print_problems(if self.common.force { "warning" } else { "error" }, &[problem])?;
            if !self.common.force {
                bail!("nothing was created");
            }
        }
        if !create_namespace {
            let stored = dry_run(&cluster, &objects).await.context("nothing was created")?;
            let problems = state.rejected_pods(&cluster, &input, &facts, &objects).await;
            // On OpenShift, the security context constraints of the service account decide.
            let is_certain = !(self.common.force || state.openshift);
            if !problems.is_empty() {
                printer.finish();
                print_problems(if is_certain { "error" } else { "warning" }, &problems)?;
            }
            if is_certain && !problems.is_empty() {
                bail!("nothing was created");
            }
            if self.preview.dry_run == Some(DryRun::Server) {
                printer.finish();
                return self.preview.print(&stored);
            }
        } else if self.preview.dry_run == Some(DryRun::Server) {
            bail!("namespace `{namespace}` does not exist: --dry-run=server needs it; use --dry-run=client");
        }
        let mut show = |report: Report| printer.report(&report);
        let result = tokio::select! {
            result = installation.run(&objects, &mut show) => result.map(|()| true),
            () = interrupted() => Ok(false),
        };
        printer.finish();
        match result {
            Ok(true) => {
                let mut out = io::stdout().lock();
                writeln!(out, "{} is installed in namespace {namespace}", request.csv)?;
                out.flush()?;
                Ok(Exit::Success)
            }
            Ok(false) => {
                unfinished::print(&changes, &facts.candidate, "")?;
                bail!("interrupted")
            }
            Err(failure) => {
                print_failure(&failure)?;
                unfinished::print(&changes, &facts.candidate, "")?;
                match failure {
                    Failure::Cluster(error) => Err(error.into()),
                    _ => bail!("{} is not installed", request.csv),
                }
            }
        }
    }
}

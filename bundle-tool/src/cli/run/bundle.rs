//! `bundle-tool run bundle`: installs a bundle.

use std::io::{self, Write};

use anyhow::{Context as _, Result, bail};
use clap::{Args, ValueEnum};
use serde_json::Value;

use super::content::{self, Facts};
use super::request::{Options, Wanted, tagged};
use super::source::{self, Input};
use super::state::State;
use super::v1;
use crate::cli::cluster::{Printer, print_failure, print_problems};
use crate::cli::exit::Exit;
use crate::cli::images::Registries;
use crate::cli::report::check_bundle;
use crate::cli::runtime::runtime;
use crate::cli::signals::interrupted;
use crate::cluster::client::Write as Stored;
use crate::cluster::install::{Failure, Installation, Report};
use crate::cluster::preflight::InstallMode;
use crate::cluster::v1::install;
use crate::cluster::{Cluster, Kind};
use crate::model::yaml;
use oci_images::registry::Repository;

/// Install a bundle on a cluster with OLM, and explain what goes wrong
///
/// Serves a catalog with the bundle from the cluster, subscribes to it and waits until the operator runs. The bundle is an
/// image, or a directory or archive: then the catalog contains the manifests themselves, and no registry is used unless
/// --push-to names one. What can be known is checked before anything is created. The first problem that does not pass by
/// itself ends the wait, with its reason.
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  # Install a bundle directory, without a registry
  bundle-tool run bundle ./bundle --namespace gizmos --create-namespace

  # Install a bundle image for one namespace
  bundle-tool run bundle quay.io/example/gizmo-bundle:v1.2.0 --install-mode SingleNamespace=team-a

  # Push a bundle and an index image, and install from them
  bundle-tool run bundle ./bundle --push-to registry.example.com/gizmo-bundle

  # Install with OLM v1
  bundle-tool run bundle ./bundle --olm v1 --namespace gizmos \\
    --push-to registry.example.com/gizmo-bundle

  # Print the manifests for GitOps
  bundle-tool run bundle quay.io/example/gizmo-bundle:v1.2.0 --dry-run=client -o yaml")]
pub(in super::super) struct RunBundle {
    #[command(flatten)]
    pub(super) common: Common,
    /// Namespaces that the operator watches: `AllNamespaces`, `OwnNamespace`, `SingleNamespace=NS` or
    /// `MultiNamespace=NS,…` [default: those of the existing `OperatorGroup`, or the first of `AllNamespaces` and
    /// `OwnNamespace` that the bundle supports]
    #[arg(long, value_name = "MODE[=NS,…]")]
    install_mode: Option<InstallMode>,
    /// Index image whose catalog the bundle is added to
    #[arg(long, value_name = "IMAGE")]
    index_image: Option<String>,
    /// Version of OLM to install with; v1 needs --push-to
    #[arg(long, value_name = "VERSION", value_enum, default_value_t = Olm::V0)]
    olm: Olm,
    /// Create the namespace if it does not exist
    #[arg(long)]
    create_namespace: bool,
    /// Print the objects and create none: as they are sent (client), or as the API server would store them (server)
    #[arg(long, value_name = "WHERE", value_enum)]
    dry_run: Option<DryRun>,
    /// Output format of --dry-run
    #[arg(long, short, value_enum, default_value_t = Format::Yaml, requires = "dry_run")]
    output: Format,
    /// Whether an installed bundle is replaced.
    #[arg(skip)]
    is_upgrade: bool,
}

/// What an installation and an upgrade have in common.
#[derive(Debug, Clone, Args)]
pub(super) struct Common {
    /// Bundle: a directory, `oci:DIR`, `oci-archive:FILE` or an image
    #[arg(value_name = "REF")]
    reference: String,
    /// Continue even if a check fails, or if an upgrade breaks existing objects
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    options: Options,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Olm {
    /// `CatalogSource` and `Subscription`
    V0,
    /// `ClusterCatalog` and `ClusterExtension`
    V1,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum DryRun {
    /// Print the objects as they are sent
    Client,
    /// Have the API server validate the objects, and print them as it would store them
    Server,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// YAML documents
    Yaml,
    /// One JSON list
    Json,
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
            dry_run: None,
            output: Format::Yaml,
            is_upgrade: true,
        }
    }

    pub(in super::super) fn run(self) -> Result<Exit> {
        runtime()?.block_on(self.install())
    }

    async fn install(&self) -> Result<Exit> {
        self.common.options.connection.check_namespace()?;
        let for_v1 = if self.olm == Olm::V1 { Some(self.options_of_v1()?) } else { None };
        let mut printer = Printer::new();
        // Printing what would be sent needs no cluster, if nothing of the cluster is asked for.
        let offline =
            self.dry_run == Some(DryRun::Client) && self.common.options.access.ca_secret_name.is_none();
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
                    self.index_image.as_ref(),
                    self.common.options.push_to.as_ref(),
                ],
                self.common.options.timeout,
            )
            .await?;
        printer.step(&format!("reading {}", self.common.reference));
        let mut input = Input::read(&self.common.reference, &registries.options).await?;
        let mut facts = content::facts(&input.bundle, &namespace, self.common.options.channel.as_deref())?;
        facts.candidate.create_namespace = self.create_namespace;
        facts.candidate.is_upgrade = self.is_upgrade;
        if let Some(push_to) = for_v1 {
            return self.install_v1(cluster, input, &facts, push_to, &registries.options, printer).await;
        }
        if !self.common.force && !check_bundle(&input.bundle)? {
            bail!(
                "bundle {} is invalid and was not installed; use --force to install it nevertheless",
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
                    "the upgrade breaks existing objects, and nothing was changed; use --force to upgrade nevertheless"
                );
            }
        }
        let wanted = Wanted {
            targets,
            replaces: &replaces,
            index_image: self.index_image.as_deref(),
            create_namespace: self.create_namespace,
            is_dry_run: self.dry_run.is_some(),
        };
        let options = &self.common.options;
        let request =
            options.request(&mut input, &facts, wanted, state.as_ref(), &registries.options).await?;
        let objects = request.objects()?;
        if self.dry_run == Some(DryRun::Client) {
            printer.finish();
            return self.print(&objects);
        }
        let (Some(cluster), Some(state)) = (cluster, state) else { bail!("no cluster is configured") };
        let mut installation = Installation::new(&cluster, &request, self.common.options.timeout);
        let create_namespace = self.create_namespace && !state.has_namespace(&namespace);
        if !create_namespace {
            let stored = installation.dry_run(&objects).await.context("nothing was created")?;
            if self.dry_run == Some(DryRun::Server) {
                printer.finish();
                return self.print(&stored);
            }
        } else if self.dry_run == Some(DryRun::Server) {
            bail!("namespace `{namespace}` does not exist: --dry-run=server needs it; use --dry-run=client");
        }
        let mut show = |report: Report| printer.report(&report);
        let result = tokio::select! {
            result = installation.run(&objects, &mut show) => result.map(|()| true),
            () = interrupted() => Ok(false),
        };
        printer.finish();
        let package = &request.package;
        match result {
            Ok(true) => {
                let mut out = io::stdout().lock();
                writeln!(out, "{} is installed in namespace {namespace}", request.csv)?;
                out.flush()?;
                Ok(Exit::Success)
            }
            Ok(false) => {
                left_behind(installation.created(), package, &namespace)?;
                bail!("interrupted")
            }
            Err(failure) => {
                print_failure(&failure)?;
                left_behind(installation.created(), package, &namespace)?;
                match failure {
                    Failure::Cluster(error) => Err(error.into()),
                    _ => bail!("{} is not installed", request.csv),
                }
            }
        }
    }

    /// Checks the options before anything is read, and returns the repository of the images.
    fn options_of_v1(&self) -> Result<&str> {
        let options = &self.common.options;
        let pods = &options.pods;
        if self.index_image.is_some() || pods.opm_image.is_some() || pods.pull_secret_name.is_some() {
            bail!("--index-image, --opm-image and --pull-secret-name apply to OLM v0 only");
        }
        let Some(name) = options.push_to.as_deref() else {
            bail!("--olm v1 needs --push-to: OLM v1 installs only from catalog images");
        };
        Repository::parse(name)?;
        v1::config(self.install_mode.as_ref(), "")?;
        Ok(name)
    }

    /// Installs the bundle with OLM v1, or upgrades to it.
    async fn install_v1(
        &self,
        cluster: Option<Cluster>,
        mut input: Input,
        facts: &Facts,
        push_to: &str,
        registries: &Registries,
        mut printer: Printer,
    ) -> Result<Exit> {
        let (package, namespace) = (&facts.candidate.package, &facts.candidate.namespace);
        let name = tagged(push_to, &facts.version);
        let mut requested = v1::Requested {
            config: v1::config(self.install_mode.as_ref(), namespace)?,
            create_namespace: self.create_namespace,
            ..v1::Requested::default()
        };
        let reads_cluster = self.dry_run != Some(DryRun::Client);
        if let (Some(cluster), true) = (&cluster, reads_cluster) {
            printer.step("checking the cluster");
            requested.create_namespace =
                v1::check_cluster(cluster, package, namespace, self.create_namespace).await?;
            if self.is_upgrade {
                let installed = v1::installed(cluster, facts).await?;
                requested.config = installed.config;
                requested.replaces = installed.bundle;
            }
        }
        printer.finish();
        if !self.common.force && !v1::check(&input.bundle, &requested.config, namespace)? {
            bail!(
                "OLM v1 rejects bundle {}, and nothing was created; use --force to install it nevertheless",
                self.common.reference
            );
        }
        if let (Some(cluster), true) = (&cluster, self.is_upgrade)
            && v1::breaks(cluster, &input, facts).await?
        {
            if !self.common.force {
                bail!(
                    "OLM v1 rejects the upgrade because of its CRDs, and nothing was changed; with --force, its check is \
                     disabled"
                );
            }
            requested.without_crd_safety = true;
        }
        let index = format!("{name}-index");
        let image = match self.dry_run {
            None => {
                input.push(&name, registries).await?;
                // The same bundle again continues what was interrupted.
                let replaces =
                    if requested.replaces == facts.candidate.csv { "" } else { &requested.replaces };
                let catalog = content::single(&input.bundle, input.image.as_deref(), facts, replaces)?;
                let mut text = Vec::new();
                catalog.write_json(&mut text)?;
                // catalogd reads the catalog's files, and runs nothing.
                source::push_index(&index, &text, false, registries).await?
            }
            Some(_) => index,
        };
        let objects = v1::objects(facts, &image, requested);
        if self.dry_run == Some(DryRun::Client) {
            printer.finish();
            return self.print(&objects);
        }
        let Some(cluster) = cluster else { bail!("no cluster is configured") };
        if self.dry_run == Some(DryRun::Server) {
            let mut stored = Vec::new();
            for object in &objects {
                if let Some(kind) = Kind::of(object) {
                    stored.push(cluster.apply(kind, object, Stored::DryRun).await?);
                }
            }
            printer.finish();
            return self.print(&stored);
        }
        let (csv, timeout) = (&facts.candidate.csv, self.common.options.timeout);
        let mut created = Vec::new();
        let mut show = |report: Report| printer.report(&report);
        let result = tokio::select! {
            result = install::run(&cluster, &objects, csv, timeout, &mut created, &mut show) => Some(result),
            () = interrupted() => None,
        };
        printer.finish();
        let Some(result) = result else {
            v1::left_behind(&created, package, namespace)?;
            bail!("interrupted")
        };
        if let Err(failure) = result {
            print_failure(&failure)?;
            v1::left_behind(&created, package, namespace)?;
            return match failure {
                Failure::Cluster(error) => Err(error.into()),
                _ => bail!("{csv} is not installed"),
            };
        }
        let mut out = io::stdout().lock();
        writeln!(out, "{csv} is installed in namespace {namespace} by OLM v1")?;
        out.flush()?;
        Ok(Exit::Success)
    }

    fn print(&self, objects: &[Value]) -> Result<Exit> {
        let mut out = io::BufWriter::new(io::stdout().lock());
        match self.output {
            Format::Yaml => {
                for object in objects {
                    write!(out, "---\n{}", yaml::emit(object))?;
                }
            }
            Format::Json => {
                let list = serde_json::json!({"apiVersion": "v1", "kind": "List", "items": objects});
                serde_json::to_writer_pretty(&mut out, &list)?;
                writeln!(out)?;
            }
        }
        out.flush()?;
        Ok(Exit::Success)
    }
}

/// Names what an installation that did not end well leaves behind.
fn left_behind(created: &[String], package: &str, namespace: &str) -> io::Result<()> {
    if created.is_empty() {
        return Ok(());
    }
    let mut out = io::stderr().lock();
    writeln!(out, "note: created in namespace `{namespace}` and not removed: {}", created.join(", "))?;
    writeln!(
        out,
        "help: remove them with `bundle-tool cleanup {package} -n {namespace}`, or run the same command again to continue"
    )
}

//! `bundle-tool test upgrade`: installs a version, creates samples, upgrades, and compares the samples.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};
use clap::Args;
use serde_json::Value;

use super::edges::{self, BundleSource, Edge, EdgeArgs};
use super::examples;
use super::report::{self, Upgrade, Verdict};
use crate::cli::cluster::{Printer, print_failure, print_problem, print_problems, settings_for};
use crate::cli::commands::run::content::{Facts, facts};
use crate::cli::commands::run::request::{Options, Wanted};
use crate::cli::commands::run::source::Input;
use crate::cli::commands::run::state::State;
use crate::cli::error_help::with_help;
use crate::cli::exit::{Exit, print_error};
use crate::cli::format::{Format, OutputOption};
use crate::cli::images::RegistryArgs;
use crate::cli::report::check_bundle;
use crate::cli::runtime::runtime;
use crate::cli::signals::interrupted;
use crate::cli::time_limit::{Deadline, TimeLimit};
use crate::cli::versions::Versions;
use crate::terminal::{ERROR, HELP, NOTE, stderr};
use olm_cluster::cleanup;
use olm_cluster::cleanup::{Item, Plan};
use olm_cluster::install::{Changes, Failure, Installation, Report};
use olm_cluster::preflight::{InstallMode, denied};
use olm_cluster::samples;
use olm_cluster::samples::Sample;
use olm_cluster::snapshot::name_of;
use olm_cluster::{Cluster, Error, kinds};
use olm_model::csv::ClusterServiceVersion;
use olm_rules::{Selection, Settings};

/// What a step that exceeds its time has changed.
const NOTHING_CREATED: &str = "nothing was created";

/// What is removed with the operator.
const CLEANUP: cleanup::Options = cleanup::Options { crds: true, operator_group: true };

/// Test that an upgrade keeps an operator's objects
///
/// Installs the version before the head of a channel (or OLD), creates samples, upgrades to the head (or NEW), and compares the
/// samples: each must still exist, have the same spec, and be ready if it was. An upgrade that fails or changes a sample is
/// reported. Everything is removed at the end, including the CRDs, so the command fails if the cluster already has one of the CRDs,
/// or if the operator is already installed in the namespace.
///
/// A sample is ready when its `Ready` and `Available` conditions are true (one is enough if it has only one). Without
/// these conditions, it is ready when the API server has accepted it.
///
/// Exit status: 0 if all upgrades pass, 1 if one fails or loses something, 2 if one cannot be tested, or if all pass and something
/// is not removed.
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  # Test the upgrade between two bundle directories, without a registry
  bundle-tool test upgrade bundle-1.2.0 bundle-1.3.0

  # Test the upgrade to the head of the default channel of a catalog
  bundle-tool test upgrade --catalog quay.io/example/catalog:latest \\
    --package gizmo-operator

  # Test every upgrade of a channel with samples of your own
  bundle-tool test upgrade --catalog ./catalog --bundles ./bundles \\
    --channel stable --all-edges --samples samples.yaml")]
#[command(mut_arg("namespace", |argument| argument.help(
    "Namespace to test in; one that does not exist is created, and deleted again [default: PACKAGE-upgrade-test]")))]
#[command(mut_arg("bundles", |argument| argument.help(
    "Bundle directory, or a directory with bundles up to three levels deep (repeatable) [default: what the catalog \
     contains as olm.bundle.object, or the images of its bundles]")))]
#[command(mut_arg("package", |argument| argument.help("Package of the catalog [default: the only one]")))]
pub(crate) struct TestUpgrade {
    #[command(flatten)]
    versions: Versions,
    /// Test every upgrade that the edges of the channel permit, one after another
    #[arg(long, conflicts_with = "old")]
    all_edges: bool,
    /// File with the samples, as YAML documents [default: the `alm-examples` of the old version for the kinds that it owns]
    #[arg(long, value_name = "FILE")]
    samples: Option<PathBuf>,
    /// Namespaces that the operator watches, as for `run bundle` [default: all namespaces if the bundle supports that, otherwise its own]
    #[arg(long, value_name = "MODE[=NS,…]")]
    install_mode: Option<InstallMode>,
    /// Keep the operator, its CRDs, the samples and the namespace
    #[arg(long, conflicts_with = "all_edges")]
    no_cleanup: bool,
    /// Continue even if a check fails
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    format: OutputOption<Format>,
    /// Time limit for each step: an installation, an upgrade, a removal or a wait for samples
    #[arg(long, value_name = "DURATION", default_value = "10m", value_parser = TimeLimit::parser("--step-timeout"))]
    step_timeout: TimeLimit,
    #[command(flatten)]
    options: Options,
}

impl TestUpgrade {
    pub(crate) fn run(self) -> Result<Exit> {
        self.options.connection.check_namespace()?;
        let access = &self.options.access;
        let namespace = self.options.connection.namespace.as_deref();
        if namespace.is_none()
            && (access.ca_secret_name.is_some() || self.options.pods.pull_secret_name.is_some())
        {
            bail!("--ca-secret-name and --pull-secret-name require --namespace, the namespace of the secret");
        }
        let samples = self.samples.as_deref().map(examples::of_file).transpose()?;
        let runtime = runtime()?;
        let cluster = runtime.block_on(self.options.connection.connect())?;
        let (old, new) = self.versions.pair().unzip();
        let catalog = self.versions.catalog.as_deref();
        let images = [old, new, catalog, self.options.push_to.as_deref()];
        let registries = runtime.block_on(access.registries(
            Some(&cluster),
            namespace.unwrap_or_default(),
            &images,
            self.step_timeout.start(),
        ))?;
        let (channel, edges) = self.edges(&registries.options)?;
        let settings = runtime.block_on(
            self.step_timeout
                .start()
                .within(NOTHING_CREATED, async { Ok(settings_for(Some(&cluster)).await) }),
        )?;
        let mut test = Test {
            command: &self,
            cluster: &cluster,
            settings,
            registries: &registries.options,
            channel,
            samples,
            printer: Printer::new(),
            left: Left::default(),
        };
        let mut upgrades: Vec<Upgrade> = edges.iter().map(upgrade_of).collect();
        let stopped = runtime.block_on(async {
            tokio::select! {
                stopped = test.all(edges, &mut upgrades) => stopped,
                () = interrupted() => Some(Stopped::Interrupted),
            }
        });
        test.printer.finish();
        test.left.print()?;
        if let Some(stopped) = stopped {
            for upgrade in &mut upgrades {
                upgrade.untested(stopped.reason());
            }
        }
        let mut out = io::BufWriter::new(io::stdout().lock());
        match self.format.output {
            Format::Text => report::write_text(&upgrades, &mut out)?,
            Format::Json => report::json(&test.left.package, &upgrades, &mut out)?,
        }
        out.flush()?;
        if stopped == Some(Stopped::Interrupted) {
            bail!("interrupted");
        }
        Ok(report::exit(&upgrades))
    }

    /// Returns the upgrades to test, and the channel to subscribe to.
    fn edges(&self, registries: &RegistryArgs) -> Result<(Option<String>, Vec<Edge>)> {
        if let Some((old, new)) = self.versions.pair() {
            let place = |reference: &str| BundleSource::Reference(reference.to_owned());
            let edge = Edge { from: place(old), to: place(new), by: None };
            return Ok((self.options.channel.clone(), vec![edge]));
        }
        let choice = EdgeArgs {
            catalog: self.versions.catalog.as_deref().unwrap_or_default(),
            package: self.versions.package.as_deref(),
            channel: self.options.channel.as_deref(),
            bundles: &self.versions.bundles,
            all: self.all_edges,
            pushes: self.options.push_to.is_some(),
        };
        let (channel, edges) = edges::of_catalog(&choice, registries)?;
        Ok((Some(channel), edges))
    }
}

/// Why the remaining upgrades are not tested.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stopped {
    Interrupted,
    Unreachable,
    NotRemoved,
}

impl Stopped {
    fn reason(self) -> &'static str {
        match self {
            Self::Interrupted => "interrupted",
            Self::Unreachable => "the cluster no longer responds",
            Self::NotRemoved => "the objects of the previous upgrade were not removed",
        }
    }
}

/// What a test has created and not removed.
#[derive(Default)]
struct Left {
    package: String,
    namespace: String,
    /// Whether the namespace was created.
    is_created: bool,
    /// Whether an installation was begun.
    is_installed: bool,
    /// The CRDs of both versions.
    crds: BTreeSet<String>,
    samples: Vec<Sample>,
}

impl Left {
    /// Prints what is left, and how to remove it.
    fn print(&self) -> io::Result<()> {
        if !self.is_created && !self.is_installed {
            return Ok(());
        }
        let (package, namespace) = (&self.package, &self.namespace);
        let mut out = stderr();
        let mut left = vec![format!("package `{package}` with its CRDs in namespace `{namespace}`")];
        left.extend(self.samples.iter().map(Sample::name));
        writeln!(out, "{NOTE} not removed: {}", left.join(", "))?;
        let delete = if self.is_created {
            format!(", then `kubectl delete namespace {namespace}`")
        } else {
            String::new()
        };
        writeln!(
            out,
            "{HELP} remove it with `bundle-tool cleanup {package} -n {namespace} --delete-crds`{delete}"
        )
    }
}

/// A test that is under way.
struct Test<'t> {
    command: &'t TestUpgrade,
    cluster: &'t Cluster,
    /// The rules' settings for the cluster's version.
    settings: Settings,
    registries: &'t RegistryArgs,
    channel: Option<String>,
    samples: Option<Vec<Value>>,
    printer: Printer,
    left: Left,
}

/// A bundle that was read.
struct Version {
    input: Input,
    facts: Facts,
}

impl Test<'_> {
    /// Tests upgrades one after another; returns why it stopped before the last one.
    async fn all(&mut self, edges: Vec<Edge>, upgrades: &mut [Upgrade]) -> Option<Stopped> {
        for (edge, upgrade) in edges.into_iter().zip(upgrades) {
            let result = self.edge(edge, upgrade).await;
            let removed = if self.command.no_cleanup { Ok(()) } else { self.remove().await };
            self.printer.finish();
            let mut stopped = None;
            if let Err(error) = removed {
                // Standard error may be closed; the report has the reason, too.
                let _ = print_error(&error);
                stopped = Some(Stopped::NotRemoved);
                upgrade.cleanup_error = Some(with_help(error.as_ref()));
            }
            match result {
                Ok(()) => self.printer.step(&upgrade.line()),
                Err(error) => {
                    let _ = print_error(&error);
                    if is_unreachable(&error) {
                        stopped = Some(Stopped::Unreachable);
                    }
                    upgrade.untested(&with_help(error.as_ref()));
                }
            }
            if stopped.is_some() {
                return stopped;
            }
        }
        None
    }

    /// Tests one upgrade. What cannot be tried is an error.
    async fn edge(&mut self, edge: Edge, upgrade: &mut Upgrade) -> Result<()> {
        self.printer.step(&format!("reading {} and {}", edge.from.name(), edge.to.name()));
        let mut old = self.version(edge.from).await?;
        let mut new = self.version(edge.to).await?;
        (upgrade.from, upgrade.to) = (old.facts.candidate.csv.clone(), new.facts.candidate.csv.clone());
        let (package, other) = (&old.facts.candidate.package, &new.facts.candidate.package);
        if package != other {
            bail!("the bundles are of different packages: `{package}` and `{other}`");
        }
        if upgrade.from == upgrade.to {
            bail!("both bundles are `{}`: expected two versions", upgrade.from);
        }
        let samples = self.wanted_samples(&old, upgrade)?;
        let deadline = self.deadline();
        self.left.package.clone_from(package);
        self.left.crds =
            old.facts.candidate.owned.iter().chain(&new.facts.candidate.owned).cloned().collect();
        let check = self.check([&upgrade.from, &upgrade.to]);
        old.facts.candidate.create_namespace = deadline.within(NOTHING_CREATED, check).await?;
        if let Err(failure) = self.install(&mut old).await? {
            print_failure(&failure)?;
            let what = format!("{} is not installed, so its upgrade cannot be tested", upgrade.from);
            match failure {
                Failure::Cluster(error) => return Err(anyhow::Error::from(error).context(what)),
                failure => bail!("{what}: {failure}"),
            }
        }
        for sample in &samples {
            self.printer.step(&format!("creating sample `{}`", name_of(sample)));
            self.left.samples.push(Sample::create(self.cluster, sample, &self.left.namespace).await?);
        }
        self.printer.step("waiting for the samples");
        let (deadline, printer) = (self.deadline().cluster(), &mut self.printer);
        samples::settle(self.cluster, &mut self.left.samples, deadline, &mut |text| printer.step(&text))
            .await
            .with_context(|| format!("the samples cannot be used with {}", upgrade.from))?;
        new.facts.candidate.is_upgrade = true;
        self.printer.step(&format!("upgrading to {}", upgrade.to));
        match self.install(&mut new).await? {
            Ok(()) => {}
            Err(Failure::Cluster(error)) => return Err(error.into()),
            Err(failure) => {
                print_failure(&failure)?;
                upgrade.verdict = Verdict::Failed;
                upgrade.reason = Some(failure.to_string());
                if let Failure::Diagnosis { problem, .. } = failure {
                    upgrade.problem = Some(*problem);
                }
                return Ok(());
            }
        }
        self.printer.step("comparing the samples");
        let (deadline, printer) = (self.deadline().cluster(), &mut self.printer);
        upgrade.samples = samples::compare(self.cluster, &self.left.samples, deadline, &mut |text| {
            printer.step(&text);
        })
        .await?;
        let is_kept = upgrade.samples.iter().all(|kept| kept.losses.is_empty());
        upgrade.verdict = if is_kept { Verdict::Passed } else { Verdict::Failed };
        Ok(())
    }

    /// Reads and validates a bundle.
    async fn version(&mut self, place: BundleSource) -> Result<Version> {
        let name = place.name();
        let input = place.read(&self.registries.until(self.deadline())).await?;
        let mut facts = facts(&input.bundle, "", self.channel.as_deref())?;
        let chosen = self.command.options.connection.namespace.clone();
        self.left.namespace = chosen.unwrap_or_else(|| own_namespace(&facts.candidate.package));
        self.printer.finish();
        let selection = Selection { settings: self.settings.clone(), ..Selection::default() };
        if !self.command.force && !check_bundle(&input.bundle, &selection)? {
            bail!("bundle {name} is invalid and was not installed; pass --force to install it anyway");
        }
        facts.candidate.namespace.clone_from(&self.left.namespace);
        Ok(Version { input, facts })
    }

    /// Returns the samples to create.
    fn wanted_samples(&self, old: &Version, upgrade: &mut Upgrade) -> Result<Vec<Value>> {
        if let Some(samples) = &self.samples {
            return Ok(samples.clone());
        }
        let Some(csv) = old.input.bundle.csv() else { return Ok(Vec::new()) };
        let csv = csv
            .decode::<ClusterServiceVersion>()
            .map_err(|error| anyhow::anyhow!("failed to decode {}: {error}", csv.file.path))?
            .object;
        examples::of_operator(&csv, &mut upgrade.notes)
    }

    /// Checks that nothing of the operator is on the cluster: the CRDs, the CSVs `csvs`, and what would be removed in the end.
    /// Returns whether the namespace is to be created.
    async fn check(&mut self, csvs: [&str; 2]) -> Result<bool> {
        self.printer.step("checking the cluster");
        let namespace = &self.left.namespace;
        let exists = self.cluster.get(kinds::NAMESPACE, "", namespace).await?.is_some();
        if exists && self.command.options.connection.namespace.is_none() {
            bail!(
                "namespace `{namespace}` exists, and nothing was created; delete it, or choose a namespace with --namespace"
            );
        }
        for name in &self.left.crds {
            if self.cluster.get(kinds::CRD, "", name).await?.is_some() {
                bail!(
                    "CRD `{name}` exists on the cluster, and nothing was created: the test would delete it with all of its \
                     objects; use another cluster"
                );
            }
        }
        let printer = &mut self.printer;
        let show = &mut |text: String| printer.step(&text);
        let snapshot = cleanup::observe(self.cluster, &self.left.package, namespace, show).await?;
        let plan = cleanup::plan(&snapshot, &self.left.package, namespace, CLEANUP);
        let csv = snapshot.within(kinds::CSV, namespace).map(name_of).find(|name| csvs.contains(name));
        let existing = [plan.first, plan.rest].concat().into_iter().next();
        let existing = existing
            .map(|item| format!("{} `{}`", item.kind.kind, item.name))
            .or(csv.map(|name| format!("{} `{name}`", kinds::CSV.kind)));
        if let Some(existing) = existing {
            bail!(
                "{existing} exists in namespace `{namespace}`, and nothing was created: the test would delete it; choose another \
                 namespace with --namespace, or use another cluster"
            );
        }
        Ok(!exists)
    }

    /// Installs a version, or upgrades to it.
    async fn install(&mut self, version: &mut Version) -> Result<Result<(), Failure>> {
        let Version { input, facts } = version;
        let command = self.command;
        let deadline = self.deadline();
        let registries = self.registries.until(deadline);
        let state = State::read(self.cluster, &facts.candidate.namespace).await?;
        let targets = match state.check(input, facts, command.install_mode.as_ref()) {
            (Ok(targets), problems) if problems.is_empty() || command.force => targets,
            (group, mut problems) => {
                problems.extend(group.err().map(|problem| *problem));
                self.printer.finish();
                print_problems(ERROR, &problems)?;
                bail!("the checks of {} failed", facts.candidate.csv);
            }
        };
        let replaces = if facts.candidate.is_upgrade { state.installed(facts)? } else { String::new() };
        let wanted = Wanted {
            targets,
            replaces: &replaces,
            index_image: None,
            create_namespace: facts.candidate.create_namespace,
            is_dry_run: false,
        };
        let (request, uploads) =
            command.options.request(input, facts, wanted, Some(&state), &registries).await?;
        let objects = request.objects()?;
        if let Some(problem) = denied(self.cluster, &facts.candidate.namespace, &objects, false).await
            && !command.force
        {
            self.printer.finish();
            print_problems(ERROR, &[problem])?;
            bail!("the checks of {} failed", facts.candidate.csv);
        }
        uploads.push(&registries, &mut Vec::new()).await?;
        let mut changes = Changes::default();
        let mut installation = Installation::new(self.cluster, &request, deadline.cluster(), &mut changes);
        self.left.is_installed = true;
        self.left.is_created |= request.create_namespace;
        let printer = &mut self.printer;
        let mut show = |report: Report| printer.report(&report);
        let result = installation.run(&objects, &mut show).await;
        self.printer.finish();
        Ok(result)
    }

    /// Returns the end of an installation, an upgrade, a wait or a removal that begins now.
    fn deadline(&self) -> Deadline {
        self.command.step_timeout.start()
    }

    /// Removes everything that was created.
    async fn remove(&mut self) -> Result<()> {
        let deadline = self.deadline().cluster();
        let (package, namespace) = (&self.left.package, &self.left.namespace);
        // While the operator runs and can remove its finalizers.
        for sample in self.left.samples.iter().rev() {
            let show = &mut |text: String| self.printer.step(&text);
            deadline.retry(Error::is_temporary, show, async |_| sample.delete(self.cluster).await).await?;
        }
        self.left.samples.clear();
        let mut plans = Vec::new();
        if self.left.is_installed {
            let printer = &mut self.printer;
            let show = &mut |text: String| printer.step(&text);
            let look = async |show: &mut dyn FnMut(String)| {
                cleanup::observe(self.cluster, package, namespace, show).await
            };
            let snapshot = deadline.retry(Error::is_temporary, show, look).await?;
            let mut plan = cleanup::plan(&snapshot, package, namespace, CLEANUP);
            for name in &self.left.crds {
                let crd = Item { kind: kinds::CRD, namespace: String::new(), name: name.clone() };
                if !plan.crds.contains(&crd) {
                    plan.crds.push(crd);
                }
            }
            plans.push(plan);
        }
        if self.left.is_created {
            let own = Item { kind: kinds::NAMESPACE, namespace: String::new(), name: namespace.clone() };
            plans.push(Plan { rest: vec![own], ..Plan::default() });
        }
        for plan in &plans {
            let printer = &mut self.printer;
            let deadline = self.command.step_timeout.start().cluster();
            match cleanup::run(self.cluster, plan, deadline, &mut |text| printer.step(&text)).await {
                Ok(()) => {}
                Err(cleanup::Failure::Blocked(problem)) => {
                    self.printer.finish();
                    print_problem(&mut stderr(), ERROR, &problem, "")?;
                    bail!("{package} was not removed completely");
                }
                Err(failure) => return Err(failure.into()),
            }
        }
        (self.left.is_installed, self.left.is_created) = (false, false);
        Ok(())
    }
}

/// Returns an upgrade that is not tested yet.
fn upgrade_of(edge: &Edge) -> Upgrade {
    Upgrade::new(edge.from.name(), edge.to.name(), edge.by.as_ref().map(ToString::to_string))
}

/// Returns whether the API server does not respond.
fn is_unreachable(error: &anyhow::Error) -> bool {
    let error = match error.downcast_ref() {
        Some(samples::Failure::Cluster(error)) => Some(error),
        _ => error.downcast_ref(),
    };
    matches!(error, Some(Error::Unreachable { .. }))
}

/// Returns the name of the namespace for a package.
fn own_namespace(package: &str) -> String {
    const SUFFIX: &str = "-upgrade-test";
    let package: String = package.chars().take(63 - SUFFIX.len()).collect();
    format!("{}{SUFFIX}", package.replace('.', "-"))
}

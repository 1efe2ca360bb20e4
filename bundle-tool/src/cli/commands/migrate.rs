//! `bundle-tool olm migrate`: plans the move of operators from OLM v0 to OLM v1.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use clap::{Args, ValueEnum};
use rayon::prelude::*;
use serde_json::{Map, Value as Json, json};

use super::catalog::contents;
use crate::cli::bundles::{self, ValidateInput};
use crate::cli::cluster::{Connection, check_namespace};
use crate::cli::exit::Exit;
use crate::cli::format::{Formats, OutputOption};
use crate::cli::images::{Location, RegistryArgs};
use crate::cli::runtime::{SharedRuntime, runtime};
use crate::terminal::{NOTE, messages, stderr};
use kube_yaml::text::{counted, printable, write_json};
use olm_catalog::validate::{heads, resolve};
use olm_cluster::kinds;
use olm_cluster::queries::{ANY, NOT_COPIED};
use olm_cluster::snapshot::name_of;
use olm_cluster::v1::manifests::{API, ClusterCatalog, ClusterExtension};
use olm_cluster::v1::migrate::{Blocker, Operator, Plan, bundle_of, observe, yaml};
use olm_model::csv::ClusterServiceVersion;
use olm_model::disk;
use olm_model::names::is_label;
use olm_model::read;
use olm_model::read::catalog::Source;
use olm_model::report::{Severity, Suite, suggest};
use olm_model::{Annotations, Bundle};
use olm_rules::{Extension, Selection, dns_subdomain};

/// The maximum number of objects that the API server is asked for one by one.
const MAX_CRDS: usize = 500;

#[derive(Debug, Args)]
#[command(mut_arg("namespace", |argument| argument.help("Namespace of the operator [default: all namespaces]")))]
#[command(after_long_help = "Examples:
  # Plan the move of an installed operator
  bundle-tool olm migrate gizmo-operator --namespace gizmos

  # Show which packages of a catalog OLM v1 can install, without a cluster
  bundle-tool olm migrate quay.io/example/catalog:latest

  # Print the manifests for one package of a catalog
  bundle-tool olm migrate quay.io/example/catalog:latest \\
    --package gizmo-operator --output yaml")]
pub(crate) struct Migrate {
    /// Name of an installed package, or a bundle or catalog (directory, file, `oci:DIR`, `oci-archive:FILE`, image
    /// name, or `-` for standard input)
    #[arg(value_name = "PACKAGE|REF")]
    target: String,
    /// Package of the catalog to plan for [default: all]
    #[arg(long, value_name = "NAME")]
    package: Option<String>,
    /// Channel to install from [default: that of the subscription, or the default channel]
    #[arg(long, value_name = "NAME")]
    channel: Option<String>,
    /// Catalog image for the `ClusterCatalog` [default: that of the `CatalogSource`, or REF]
    #[arg(long, value_name = "IMAGE")]
    catalog_image: Option<String>,
    /// Namespace for the operator to watch, without a cluster [default: all namespaces]
    #[arg(long, value_name = "NAMESPACE")]
    watch_namespace: Option<String>,
    #[command(flatten)]
    format: OutputOption<Output>,
    #[command(flatten)]
    connection: Connection,
    #[command(flatten)]
    registries: RegistryArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Output {
    /// Human-readable text
    Text,
    /// The manifests to apply
    Yaml,
    /// One JSON document
    Json,
}

impl Formats for Output {
    const DEFAULT: &'static str = "text";
}

impl Migrate {
    pub(crate) fn run(self) -> Result<Exit> {
        self.connection.check_namespace()?;
        self.watch_namespace.as_deref().map_or(Ok(()), check_namespace)?;
        if let Some(image) = &self.catalog_image
            && Location::parse(image)?.registry().is_none()
        {
            bail!("invalid catalog image `{image}`: expected the name of an image in a registry");
        }
        // A path has a `/`, or a `.` at its beginning or before its extension.
        let is_package = is_label(&self.target);
        if is_package && Path::new(&self.target).exists() {
            let target = &self.target;
            writeln!(
                messages(),
                "{NOTE} planning for the installed package `{target}`; to plan for the path, pass `./{target}`"
            )?;
        }
        let plans = if is_package { self.of_cluster()? } else { self.of_reference()? };
        let mut out = io::BufWriter::new(io::stdout().lock());
        match self.format.output {
            Output::Text => write_text(&plans, &mut out)?,
            Output::Yaml => {
                // On a terminal and in a log, the reason why there is no manifest.
                for plan in plans.iter().filter(|plan| !plan.movable) {
                    blockers(plan, &mut stderr())?;
                }
                out.write_all(yaml(&plans).as_bytes())?;
            }
            Output::Json => {
                write_json(&json!({"version": 1, "plans": plans}), &mut out)?;
            }
        }
        out.flush()?;
        Ok(if plans.iter().all(|plan| plan.movable) { Exit::Success } else { Exit::Findings })
    }

    /// Plans the move of an installed operator.
    fn of_cluster(&self) -> Result<Vec<Plan>> {
        if self.package.is_some() || self.watch_namespace.is_some() {
            bail!(
                "--package and --watch-namespace require a catalog or a bundle, but `{0}` is the name of a package; for a path, pass \
                 `./{0}`",
                self.target
            );
        }
        let (mut operator, crds) = runtime()?.block_on(self.registries.reading_cluster(self.installed()))?;
        let Some(installed) = &operator.installed else { bail!("the operator is not installed") };
        let (csv, properties) = bundle_of(&installed.csv);
        let annotations = json!({"annotations": {Annotations::PACKAGE: operator.extension.package}});
        let mut files = BTreeMap::from([
            ("manifests/csv.yaml".to_owned(), csv.to_string().into_bytes()),
            ("metadata/annotations.yaml".to_owned(), annotations.to_string().into_bytes()),
            ("metadata/properties.yaml".to_owned(), properties.to_string().into_bytes()),
        ]);
        for crd in crds {
            let manifest = json!({
                "apiVersion": kinds::CRD.api_version, "kind": kinds::CRD.kind,
                "metadata": {"name": name_of(&crd)}, "spec": crd["spec"],
            });
            files.insert(format!("manifests/{}.crd.yaml", name_of(&crd)), manifest.to_string().into_bytes());
        }
        check(&mut operator, &read::bundle::files(&self.target, &files));
        operator.is_partial = true;
        operator.notes.push(
            "other contents of the bundle, such as Services and ConfigMaps, are not recorded in the cluster: plan from the \
             bundle's image to check them"
                .into(),
        );
        Ok(vec![operator.plan()])
    }

    /// Reads an operator and its CRDs from the cluster.
    async fn installed(&self) -> Result<(Operator, Vec<Json>)> {
        let cluster = self.connection.connect().await?;
        let read = [
            (kinds::SUBSCRIPTION, None, ANY),
            (kinds::CSV, None, NOT_COPIED),
            (kinds::OPERATOR_GROUP, None, ANY),
            (kinds::INSTALL_PLAN, self.connection.namespace.as_deref(), ANY),
            (kinds::CATALOG_SOURCE, None, ANY),
        ];
        let snapshot = cluster.snapshot(&read).await?;
        if let Some(reason) = snapshot.unread(&read.map(|(kind, ..)| kind)) {
            bail!("the cluster cannot be read: {reason}");
        }
        let mut operator = observe(&snapshot, &self.target, self.connection.namespace.as_deref())?;
        if let Some(channel) = &self.channel {
            operator.extension.channel.clone_from(channel);
        }
        if let (Some(image), Some(catalog)) = (&self.catalog_image, &mut operator.catalog) {
            catalog.image.clone_from(image);
        }
        match cluster.get_path(API, "read the APIs of OLM v1").await {
            Ok(_) => {}
            Err(error) if error.is_not_found() => operator.blockers.push(Blocker::new(
                "olm-v1-missing",
                "the cluster has no OLM v1: it does not serve olm.operatorframework.io/v1",
                "install operator-controller and catalogd",
            )),
            Err(error) => return Err(error.into()),
        }
        let mut crds = Vec::new();
        let names = operator.installed.iter().flat_map(|installed| &installed.crds);
        let number = names.clone().count();
        for name in names.take(MAX_CRDS) {
            crds.extend(cluster.get(kinds::CRD, "", name).await?);
        }
        if number > MAX_CRDS {
            operator
                .notes
                .push(format!("only the first {MAX_CRDS} of the operator's {number} CRDs are checked"));
        }
        Ok((operator, crds))
    }

    /// Plans the moves of the packages of a catalog, or of a bundle.
    fn of_reference(&self) -> Result<Vec<Plan>> {
        let shared = SharedRuntime::default();
        let mut targets = bundles::targets(&self.target)?;
        let (Some(target), true) = (targets.pop(), targets.is_empty()) else {
            bail!("{} contains several bundles: expected one bundle or a catalog", self.target);
        };
        let image = |location: &Location| location.registry().map(|_| self.target.clone());
        match target {
            ValidateInput::Directory(path) => {
                self.of_bundle(&bundles::directory(&path, &Selection::default())?)
            }
            ValidateInput::Catalog(path) => {
                let sources = disk::catalog::sources(&path);
                self.of_catalog(sources.with_context(|| format!("failed to read {}", self.target))?, None)
            }
            ValidateInput::StandardInput(sources) => self.of_catalog(sources.take(), None),
            ValidateInput::Image { ref location, .. } => {
                match bundles::image(&self.target, location, &self.registries, &shared)? {
                    bundles::Content::Bundle(bundle) => self.of_bundle(&bundle),
                    bundles::Content::Catalog(sources) => {
                        self.of_catalog(sources, image(location).as_deref())
                    }
                }
            }
        }
    }

    fn of_bundle(&self, bundle: &Bundle) -> Result<Vec<Plan>> {
        bundle.complete().with_context(|| format!("failed to read {}", self.target))?;
        let csv =
            bundle.csv().with_context(|| format!("{} contains no ClusterServiceVersion", self.target))?;
        if let Err(error) = csv.decode::<ClusterServiceVersion>() {
            bail!("failed to decode {}: {error}", csv.file.path);
        }
        let annotations = bundle.annotations();
        let get = |key| annotations.and_then(|all| all.get(key)).unwrap_or_default();
        let package = get(Annotations::PACKAGE);
        if let Some(wanted) = self.package.as_ref().filter(|wanted| *wanted != package) {
            bail!("package `{wanted}` is not in {}: its package is `{package}`", self.target);
        }
        let mut channel = get(Annotations::DEFAULT_CHANNEL);
        if channel.is_empty() {
            channel = annotations.and_then(|all| all.channels().next()).unwrap_or_default();
        }
        let mut operator = self.operator(package, csv.name(), channel, None);
        let channels: Vec<&str> = annotations.map(|all| all.channels().collect()).unwrap_or_default();
        if let Some(channel) = self.channel.as_ref().filter(|channel| !channels.contains(&channel.as_str())) {
            operator.notes.push(format!(
                "channel `{channel}` is not one of the bundle's channels ({}): the catalog must contain it",
                channels.join(", ")
            ));
        }
        check(&mut operator, bundle);
        Ok(vec![operator.plan()])
    }

    fn of_catalog(&self, sources: Vec<Source>, image: Option<&str>) -> Result<Vec<Plan>> {
        let failed = || format!("failed to read {}", self.target);
        let (blobs, kept) = contents::read(sources, |bundle| bundle).with_context(failed)?;
        let (mut packages, _) = resolve(&blobs);
        super::catalog::load::select([&mut packages], self.package.as_deref())?;
        if packages.is_empty() {
            bail!("{} contains no packages", self.target);
        }
        if let Some(channel) = &self.channel {
            super::catalog::load::require_channel(&packages, channel)?;
        }
        let packages: Vec<_> = packages.into_iter().collect();
        packages
            .par_iter()
            .map(|(name, linked)| {
                let channel = self.channel.as_deref().unwrap_or(&linked.package.default_channel);
                let Some(graph) = linked.channels.get(channel) else {
                    let known = suggest::listed(linked.channels.keys().copied()).unwrap_or_default();
                    let help = match &self.channel {
                        Some(_) => format!("choose one of its channels with --channel: {known}"),
                        None => "run `bundle-tool catalog validate`".to_owned(),
                    };
                    let mut operator = self.operator(name, "", channel, image);
                    let message = format!("the package has no channel `{channel}`");
                    operator.blockers.push(Blocker::new("channel-unknown", message, help));
                    return Ok(operator.plan());
                };
                let version = |name: &str| linked.bundles.get(name).and_then(|bundle| bundle.version.as_ref());
                let head = heads(graph).into_iter().max_by_key(|entry| version(&entry.name));
                let head = head.map(|entry| entry.name.as_str()).unwrap_or_default();
                let mut operator = self.operator(name, head, channel, image);
                match kept.get(&((*name).to_owned(), head.to_owned())) {
                    Some(blob) => {
                        let (bundle, is_complete) = contents::bundle(blob);
                        check(&mut operator, &bundle);
                        operator.is_partial = !is_complete;
                        if !is_complete {
                            operator.notes.push(format!(
                                "the catalog does not contain the manifests of `{head}`: its webhooks, deployments and objects \
                                 are not checked; to check them, plan from the bundle's image {}",
                                blob.image
                            ));
                        }
                    }
                    None => operator.blockers.push(Blocker::new(
                        "head-unknown",
                        format!("channel `{channel}` has no head whose bundle is in the catalog"),
                        "run `bundle-tool catalog validate`",
                    )),
                }
                Ok(operator.plan())
            })
            .collect()
    }

    /// Returns an operator that is not installed yet. A version is not pinned: nothing is installed that has to stay.
    fn operator(&self, package: &str, bundle: &str, channel: &str, image: Option<&str>) -> Operator {
        let mut operator = Operator {
            bundle: bundle.to_owned(),
            extension: ClusterExtension {
                name: package.to_owned(),
                namespace: self.connection.namespace.clone().unwrap_or_else(|| package.to_owned()),
                package: package.to_owned(),
                channel: self.channel.clone().unwrap_or_else(|| channel.to_owned()),
                ..ClusterExtension::default()
            },
            ..Operator::default()
        };
        if let Some(image) = self.catalog_image.as_deref().or(image) {
            let name = catalog_name(image);
            operator.extension.catalog.clone_from(&name);
            operator.catalog =
                Some(ClusterCatalog { name, image: image.to_owned(), ..ClusterCatalog::default() });
        } else {
            operator.notes.push(
                "the catalog image is unknown: set it with --catalog-image, unless the cluster has a ClusterCatalog with the \
                 package"
                    .into(),
            );
        }
        if let Some(watched) = &self.watch_namespace {
            operator.extension.config.insert("watchNamespace".into(), watched.clone().into());
        }
        if !is_label(package) {
            operator.blockers.push(Blocker::new(
                "package-name-invalid",
                "the package's name is not a DNS label",
                "rename the package",
            ));
        }
        let channel = &operator.extension.channel;
        if let Some(Err(reason)) = (!channel.is_empty()).then(|| dns_subdomain(channel)) {
            let help = "choose another channel with --channel, or rename the channel";
            operator.blockers.push(Blocker::new("channel-name-invalid", reason, help));
        }
        operator
    }
}

/// Runs the rules of the suite `olmv1`: errors block the move, everything else is noted.
fn check(operator: &mut Operator, bundle: &Bundle) {
    let config: Map<String, Json> = operator.extension.config.clone();
    let namespace = Some(operator.extension.namespace.clone());
    let mut selection =
        Selection { suites: vec![Suite::Olmv1], without_comments: true, ..Selection::default() };
    selection.settings.extension = Some(Extension { config, namespace });
    let report = olm_rules::validate(bundle, &selection);
    for finding in report.findings.into_iter().filter(|finding| finding.suite == Suite::Olmv1) {
        match finding.severity {
            Severity::Error => {
                operator.blockers.push(Blocker::new(finding.rule, finding.message, finding.help));
            }
            _ => operator.notes.push(format!("{} ({})", finding.message, finding.rule)),
        }
    }
}

/// Returns the name of a `ClusterCatalog` for an image: the last part of its repository.
fn catalog_name(image: &str) -> String {
    let repository = image.split('@').next().unwrap_or_default();
    let last = repository.rsplit('/').next().unwrap_or_default();
    let name: String = last
        .split(':')
        .next()
        .unwrap_or_default()
        .chars()
        .map(|char| if char.is_ascii_alphanumeric() { char.to_ascii_lowercase() } else { '-' })
        .take(63)
        .collect();
    let name = name.trim_matches('-');
    if name.is_empty() { "catalog".to_owned() } else { name.to_owned() }
}

/// Prints what blocks each move and, of a single plan, the notes and steps.
fn write_text(plans: &[Plan], out: &mut impl Write) -> io::Result<()> {
    for plan in plans {
        blockers(plan, out)?;
    }
    if let [plan] = plans {
        for note in &plan.notes {
            writeln!(out, "  note: {}", printable(note))?;
        }
        return steps(plan, out);
    }
    let movable = plans.iter().filter(|plan| plan.movable).count();
    writeln!(
        out,
        "\n{}: {movable} can be moved, {} cannot; --package shows the steps and notes of one",
        counted(plans.len(), "package"),
        plans.len() - movable
    )
}

fn blockers(plan: &Plan, out: &mut impl Write) -> io::Result<()> {
    let state = match (plan.movable, plan.complete) {
        (false, _) => "cannot be moved to OLM v1",
        (true, true) => "can be moved to OLM v1",
        (true, false) => "can be moved to OLM v1; not all manifests were checked",
    };
    let bundle = if plan.bundle.is_empty() { String::new() } else { format!(" ({})", plan.bundle) };
    writeln!(out, "{}{}: {state}", printable(&plan.package), printable(&bundle))?;
    for blocker in &plan.blockers {
        writeln!(out, "  error[{}]: {}", blocker.reason, printable(&blocker.message))?;
        writeln!(out, "    help: {}", printable(&blocker.help))?;
    }
    Ok(())
}

fn steps(plan: &Plan, out: &mut impl Write) -> io::Result<()> {
    for (index, step) in plan.steps.iter().enumerate() {
        writeln!(out, "\n# {}. {}", index + 1, printable(&step.text))?;
        if !step.manifests.is_empty() {
            writeln!(out, "kubectl apply -f - <<'EOF'")?;
            for manifest in &step.manifests {
                write!(out, "---\n{}", kube_yaml::emit(manifest))?;
            }
            writeln!(out, "EOF")?;
        }
        for command in &step.commands {
            writeln!(out, "{}", printable(command))?;
        }
    }
    Ok(())
}

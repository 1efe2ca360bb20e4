//! `bundle-tool catalog validate`.

use std::collections::{BTreeSet, HashMap};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, Result};
use clap::Args;

use super::edges::{self, AvailableBundles};
use super::{contents, load};
use crate::cli::error_help::with_help;
use crate::cli::exit::{Exit, print_error};
use crate::cli::images::RegistryArgs;
use crate::cli::openshift::OpenshiftOption;
use crate::cli::report::{ReportOptions, Run, print_errors};
use crate::cli::settings::LevelOptions;
use crate::terminal::{ERROR, stderr};
use kube_yaml::text::source_name;
use olm_catalog::validate;
use olm_model::disk::file;
use olm_model::kubernetes::Minor;
use olm_model::read;
use olm_model::read::catalog::{CatalogError, Content, Source};
use olm_model::report::{CatalogReport, Finding, UnreadBundle};
use olm_report::Subject;
use olm_rules::Selection;

/// Validate file-based catalogs
///
/// Reports what `opm validate` would reject as errors, each with its file and line, and what is likely to cause
/// problems as warnings.
///
/// Runs the rules of the `catalog` suite, the only one for catalogs. Use `bundle-tool fix` to fix findings, and
/// `bundle-tool explain RULE` to read about a rule.
///
/// Exit status: 0 if no error is found, 1 if an error is found, 2 if a catalog cannot be read.
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  # Validate a catalog directory
  bundle-tool catalog validate ./catalog

  # Validate the catalog in an image, as JSON
  bundle-tool catalog validate quay.io/example/catalog:latest --output json

  # Also report upgrades that break a CRD, for the bundles of a repository
  bundle-tool catalog validate ./catalog --bundles community-operators-prod

  # Also report what the catalog of a version of OpenShift must not contain
  bundle-tool catalog validate ./catalog --openshift 4.17

  # Validate what another command renders
  opm alpha render-template basic template.yaml | bundle-tool catalog validate -")]
pub(crate) struct Validate {
    /// Catalogs: directories, files, `oci:DIR`, `oci-archive:FILE`, image names, or `-` for standard input
    #[arg(required = true, value_name = "REF")]
    catalogs: Vec<String>,
    /// Bundle directory, or a directory with bundles up to three levels deep (repeatable). Also checks the upgrades
    /// between these bundles for CRD changes that OLM v1 rejects
    #[arg(long, value_name = "DIR")]
    bundles: Vec<PathBuf>,
    #[command(flatten)]
    openshift: OpenshiftOption,
    #[command(flatten)]
    levels: LevelOptions,
    #[command(flatten)]
    report: ReportOptions,
    #[command(flatten)]
    registries: RegistryArgs,
}

/// Validates the catalog `name`, which consists of the files, for a version of OpenShift if one is given. The lines that findings
/// point at are read from the files below `root`.
pub(crate) fn validate(
    name: &str,
    root: Option<&Path>,
    sources: Vec<Source>,
    openshift: Option<Minor>,
    selection: &Selection,
) -> Result<CatalogReport, CatalogError> {
    let mut report = validate::report(name, load::decoded(sources)?, openshift, selection);
    add_excerpts(root, &mut report);
    Ok(report)
}

/// What a command does with a valid catalog.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    Write,
    Print,
    Push,
}

/// Checks a catalog before a command does what is `next`, and prints its errors. Returns whether there are none.
pub(crate) fn check(name: &str, sources: Vec<Source>, next: Next) -> Result<bool> {
    // No file contains a catalog in memory, so its lines lead nowhere.
    let in_memory: BTreeSet<Arc<str>> = sources
        .iter()
        .filter(|source| matches!(source.content, Content::Bytes(_)))
        .map(|source| Arc::clone(&source.name))
        .collect();
    let mut report = validate(name, None, sources, None, &Selection::default())?;
    if report.passed() {
        return Ok(true);
    }
    report.findings.retain(Finding::is_failure);
    for finding in &mut report.findings {
        let Some(file) = finding.file.as_deref().filter(|file| in_memory.contains(*file)) else { continue };
        (finding.line, finding.column) = (None, None);
        if !Path::new(name).join(file).exists() {
            finding.file = None;
        }
    }
    print_invalid(&report, next)?;
    Ok(false)
}

/// Prints the errors of a catalog that keep a command from its `next` step.
pub(crate) fn print_invalid(report: &CatalogReport, next: Next) -> Result<()> {
    print_errors(&[Subject::from(report)])?;
    let (done, verb) = match next {
        Next::Write => ("written", "write"),
        Next::Print => ("printed", "print"),
        Next::Push => ("pushed", "push"),
    };
    writeln!(
        stderr(),
        "{ERROR} the catalog is invalid and was not {done}; pass --no-validate to {verb} it anyway"
    )?;
    Ok(())
}

/// Validates a catalog, and the upgrades between available bundles.
fn with_upgrades(
    name: &str,
    root: Option<&Path>,
    sources: Vec<Source>,
    openshift: Option<Minor>,
    selection: &Selection,
    available: &AvailableBundles,
) -> Result<CatalogReport> {
    let (documents, kept) = contents::documents(sources, |bundle| edges::crds_of(&bundle))?;
    let mut report = validate::report_with(name, documents, openshift, selection, |packages| {
        let found = edges::breaking(packages, &available.with(kept), None, &olm_diff::Options::default())?;
        let finding = |upgrade: &edges::Upgrade<'_>| {
            let (channel, _) = upgrade.channels.first()?;
            Some(validate::upgrade_breaks(channel, upgrade.from, upgrade.to, &upgrade.summary()))
        };
        anyhow::Ok(found.upgrades.iter().filter_map(finding).collect())
    })?;
    add_excerpts(root, &mut report);
    Ok(report)
}

/// Warns of a catalog without any blob, which OLM and opm accept: a wrong path looks like this.
fn warn_if_empty(report: &CatalogReport) -> Result<()> {
    if report.packages.is_empty() && report.channels + report.bundles == 0 && report.findings.is_empty() {
        load::warn_of_empty(&report.path)?;
    }
    Ok(())
}

/// Adds the lines that findings point at, unless their file cannot be read again.
fn add_excerpts(root: Option<&Path>, report: &mut CatalogReport) {
    let Some(root) = root.filter(|root| root.exists()) else { return };
    let mut files: HashMap<String, Vec<u8>> = HashMap::new();
    for name in report.findings.iter().filter_map(|finding| finding.file.as_ref()) {
        if !files.contains_key(name) {
            let text = file::read_below(root, name.as_str(), read::MAX_FILE_SIZE).unwrap_or_default();
            files.insert(name.clone(), text);
        }
    }
    olm_rules::add_excerpts(&mut report.findings, |name| files.get(name).map(Vec::as_slice));
}

impl Validate {
    pub(crate) fn run(self) -> Result<Exit> {
        self.report.check(&self.catalogs)?;
        let mut catalogs = Vec::new();
        let mut unreadable = Vec::new();
        let selections = self.levels.selections(Selection::default())?;
        let available = match self.bundles.as_slice() {
            [] => None,
            directories => Some(AvailableBundles::read(directories)?),
        };
        for reference in &self.catalogs {
            let root = Some(Path::new(reference)).filter(|root| root.exists());
            let selection = selections.for_directory(root)?;
            let sources = load::sources(reference, &self.registries);
            let openshift = self.openshift.for_catalog(Path::new(reference));
            let report = sources.and_then(|sources| match &available {
                Some(available) => with_upgrades(reference, root, sources, openshift, &selection, available),
                None => Ok(validate(reference, root, sources, openshift, &selection)?),
            });
            match report.with_context(|| format!("failed to read {}", source_name(reference))) {
                Ok(report) => {
                    warn_if_empty(&report)?;
                    catalogs.push(report);
                }
                Err(error) => {
                    print_error(&error)?;
                    unreadable
                        .push(UnreadBundle { path: reference.clone(), message: with_help(error.as_ref()) });
                }
            }
        }
        let subjects: Vec<_> = catalogs.iter().map(Subject::from).collect();
        let passed = subjects.iter().all(|subject| subject.passed);
        selections.report_unused()?;
        self.report.print(&Run {
            bundles: None,
            catalogs: Some(&catalogs),
            subjects,
            text: None,
            unreadable: &unreadable,
        })?;
        Ok(match (unreadable.is_empty(), passed) {
            (false, _) => Exit::Failure,
            (true, true) => Exit::Success,
            (true, false) => Exit::Findings,
        })
    }
}

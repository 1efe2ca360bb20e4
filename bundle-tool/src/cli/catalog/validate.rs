//! `bundle-tool catalog validate`.

use std::collections::HashMap;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use clap::Args;
use serde::Serialize;

use super::edges::{self, AtHand};
use super::{contents, load};
use crate::catalog::validate::{self, OpenshiftVersion, Problem, Report};
use crate::cli::exit::{Exit, print_error};
use crate::cli::images::Registries;
use crate::cli::remedy::with_help;
use crate::cli::report::{ReportOptions, Run, print_errors};
use crate::diff;
use crate::model::text::counted;
use crate::read::catalog::{CatalogError, Source};
use crate::read::file;
use crate::report::{Diagnostic, Excerpt, Lines, Severity, Subject, UnreadBundle, path_below};

/// Validate file-based catalogs
///
/// Errors reproduce rejections by `opm validate`, each with its file and line; warnings are not rejected, but likely to
/// cause problems.
///
/// Exit status: 0 if no error is found, 1 if an error is found, 2 if a catalog cannot be read.
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  # Validate a catalog directory
  bundle-tool catalog validate catalog

  # Validate the catalog in an image, as JSON
  bundle-tool catalog validate quay.io/example/catalog:latest --output json

  # Also report upgrades that break a CRD, for the bundles of a repository
  bundle-tool catalog validate catalog --bundles community-operators-prod

  # Also report what the catalog of a version of OpenShift must not contain
  bundle-tool catalog validate catalog --openshift-version 4.17

  # Validate what another command renders
  opm alpha render-template basic template.yaml | bundle-tool catalog validate -")]
pub(super) struct Validate {
    /// Catalogs: directories, files, `oci:DIR`, `oci-archive:FILE`, image names, or `-` for standard input
    #[arg(required = true, value_name = "REF")]
    catalogs: Vec<String>,
    /// Directory of a bundle, or of bundles at most three levels below: also report upgrades between bundles, in such a directory or
    /// in the catalog, that OLM v1 rejects because they break a CRD (repeatable)
    #[arg(long, value_name = "DIR")]
    bundles: Vec<PathBuf>,
    #[command(flatten)]
    openshift: OpenshiftOption,
    #[command(flatten)]
    report: ReportOptions,
    #[command(flatten)]
    registries: Registries,
}

// Which version of OpenShift a catalog is for.
#[derive(Debug, Clone, Copy, Default, Args)]
pub(in crate::cli) struct OpenshiftOption {
    /// OpenShift version that the catalogs are for [default: that of a path such as catalogs/v4.17]
    #[arg(long, value_name = "VERSION")]
    openshift_version: Option<OpenshiftVersion>,
}

impl OpenshiftOption {
    /// Returns the version that the catalog at a path is for, if it is known.
    pub(in crate::cli) fn of(self, path: &Path) -> Option<OpenshiftVersion> {
        self.openshift_version.or_else(|| OpenshiftVersion::of_path(&path.canonicalize().ok()?))
    }
}

/// Validates the catalog that the files are, which is for a version of OpenShift if one is given.
pub(in crate::cli) fn validate(
    sources: Vec<Source>,
    openshift: Option<OpenshiftVersion>,
) -> Result<Report, CatalogError> {
    Ok(validate::report(load::decoded(sources)?, openshift))
}

/// What a command does with a valid catalog.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cli) enum Next {
    Write,
    Print,
    Push,
}

/// Checks a catalog before a command does what is `next`, and prints its errors. Returns whether there are none.
pub(in crate::cli) fn check(name: &str, sources: Vec<Source>, next: Next) -> Result<bool> {
    let mut report = validate(sources, None)?;
    if report.passed() {
        return Ok(true);
    }
    report.problems.retain(|problem| problem.rule.severity == Severity::Error);
    print_errors(&[CatalogReport::new(name, None, report).subject()])?;
    let (done, verb) = match next {
        Next::Write => ("written", "write"),
        Next::Print => ("printed", "print"),
        Next::Push => ("pushed", "push"),
    };
    writeln!(
        io::stderr(),
        "error: the catalog is invalid and was not {done}; use --no-validate to {verb} it anyway"
    )?;
    Ok(false)
}

/// Validates a catalog, and the upgrades between available bundles.
fn with_upgrades(
    sources: Vec<Source>,
    openshift: Option<OpenshiftVersion>,
    at_hand: &AtHand,
) -> Result<Report> {
    let (documents, kept) = contents::documents(sources, |bundle| edges::crds_of(&bundle))?;
    validate::report_with(documents, openshift, |packages| {
        let found = edges::breaking(packages, &at_hand.with(kept), None, &diff::Options::default())?;
        let problem = |upgrade: &edges::Upgrade<'_>| {
            let (channel, _) = upgrade.channels.first()?;
            Some(validate::upgrade_breaks(channel, upgrade.from, upgrade.to, &upgrade.summary()))
        };
        Ok(found.upgrades.iter().filter_map(problem).collect())
    })
}

impl Validate {
    pub(super) fn run(self) -> Result<Exit> {
        self.report.check(&self.catalogs)?;
        let mut catalogs = Vec::new();
        let mut unreadable = Vec::new();
        let at_hand = match self.bundles.as_slice() {
            [] => None,
            directories => Some(AtHand::read(directories)?),
        };
        for reference in &self.catalogs {
            let sources = load::sources(reference, &self.registries);
            let openshift = self.openshift.of(Path::new(reference));
            let report = sources.and_then(|sources| match &at_hand {
                Some(at_hand) => with_upgrades(sources, openshift, at_hand),
                None => Ok(validate(sources, openshift)?),
            });
            match report.with_context(|| format!("failed to read {reference}")) {
                Ok(report) => {
                    catalogs.push(CatalogReport::new(reference, Some(Path::new(reference)), report));
                }
                Err(error) => {
                    print_error(&error)?;
                    unreadable
                        .push(UnreadBundle { path: reference.clone(), message: with_help(error.as_ref()) });
                }
            }
        }
        let subjects: Vec<_> = catalogs.iter().map(CatalogReport::subject).collect();
        let passed = subjects.iter().all(|subject| subject.passed);
        self.report.print(&Run {
            bundles: None,
            catalogs: Some(catalogs.iter().map(CatalogReport::json).collect()),
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

/// What was found in one catalog, with the lines that its problems point at.
pub(in crate::cli) struct CatalogReport {
    path: String,
    report: Report,
    excerpts: Vec<Option<Excerpt>>,
}

impl CatalogReport {
    /// Returns the report of the catalog that the user named `path`; lines are shown of files below `root`.
    pub(in crate::cli) fn new(path: &str, root: Option<&Path>, report: Report) -> Self {
        let root = root.filter(|root| root.exists());
        let excerpts = root.map_or_else(Vec::new, |root| excerpts(root, &report.problems));
        Self { path: path.to_owned(), report, excerpts }
    }

    /// Returns what printers take.
    pub(in crate::cli) fn subject(&self) -> Subject<'_> {
        let diagnostics = self.report.problems.iter().enumerate().map(|(index, problem)| Diagnostic {
            severity: problem.rule.severity,
            rule: problem.rule.id,
            message: &problem.message,
            help: problem.help(),
            file: file_name(&self.path, &problem.place.file),
            place: (problem.place.line > 0).then_some((problem.place.line, problem.place.column)),
            end_column: None,
            path: &problem.path,
            related: Vec::new(),
            ignored: None,
            excerpt: self.excerpts.get(index).and_then(Option::as_ref),
        });
        Subject {
            kind: "catalog",
            path: &self.path,
            name: None,
            passed: self.report.passed(),
            contents: Some(self.contents()),
            omitted: self.report.omitted,
            diagnostics: diagnostics.collect(),
        }
    }

    fn contents(&self) -> String {
        let Report { packages, channels, bundles, .. } = &self.report;
        let counts = [(packages.len(), "package"), (*channels, "channel"), (*bundles, "bundle")];
        counts.map(|(count, name)| counted(count, name)).join(", ")
    }

    /// Returns the entry of the JSON document.
    pub(in crate::cli) fn json(&self) -> Entry<'_> {
        Entry {
            path: &self.path,
            passed: self.report.passed(),
            packages: &self.report.packages,
            channels: self.report.channels,
            bundles: self.report.bundles,
            findings: &self.report.problems,
            omitted: self.report.omitted,
        }
    }
}

/// Returns the path of a file of a catalog, from where the user is: the name of a single file stands for itself.
fn file_name(catalog: &str, file: &str) -> String {
    let catalog = catalog.trim_end_matches('/');
    if catalog.ends_with(file) { catalog.to_owned() } else { path_below(catalog, Some(file)) }
}

/// Returns the lines that problems point at; files that cannot be read again have none.
fn excerpts(root: &Path, problems: &[Problem]) -> Vec<Option<Excerpt>> {
    let mut files: HashMap<&str, Vec<u8>> = HashMap::new();
    for problem in problems {
        files.entry(&problem.place.file).or_insert_with(|| {
            let path = if root.is_dir() { root.join(&*problem.place.file) } else { root.to_owned() };
            file::read(&path, file::MAX_FILE_SIZE).unwrap_or_default()
        });
    }
    let lines: HashMap<&str, Lines<'_>> =
        files.iter().map(|(name, bytes)| (*name, Lines::new(bytes))).collect();
    let excerpt = |problem: &Problem| {
        lines.get(&*problem.place.file)?.excerpt(problem.place.line, problem.place.column)
    };
    problems.iter().map(excerpt).collect()
}

/// A catalog in the JSON document.
#[derive(Debug, Serialize)]
pub(in crate::cli) struct Entry<'a> {
    path: &'a str,
    passed: bool,
    packages: &'a [String],
    channels: usize,
    bundles: usize,
    findings: &'a [Problem],
    omitted: usize,
}

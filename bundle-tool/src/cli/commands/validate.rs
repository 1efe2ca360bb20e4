//! `bundle-tool validate`: validates bundles and catalogs and prints the findings.

mod online;
mod pull_request;

use std::collections::BTreeSet;
use std::io::{self, IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use rayon::prelude::*;

use super::catalog::validate::validate as validate_catalog;
use super::fix::FixOptions;
use crate::cli::bundles::{self, ValidateInput};
use crate::cli::error_help::with_help;
use crate::cli::exit::{Exit, is_broken_pipe, print_error};
use crate::cli::fix_outcome::FixMode;
use crate::cli::images::{Location, RegistryArgs};
use crate::cli::openshift::OpenshiftOption;
use crate::cli::report::{ReportOptions, Run};
use crate::cli::runtime::SharedRuntime;
use crate::cli::selection::{list_optional, list_optional_json};
use crate::cli::settings::{RuleArgs, Selections};
use crate::terminal::{messages, shows_progress};
use olm_model::Bundle;
use olm_model::disk;
use olm_model::disk::walk;
use olm_model::disk::watch::{INTERVAL, Watch};
use olm_model::report::{BundleReport, CatalogReport, Suite, UnreadBundle};
use olm_report::Subject;
use olm_report::text;
use olm_report::text::Style;
use online::Lookup;

#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
#[expect(clippy::struct_excessive_bools, reason = "each is an option of its own")]
pub(crate) struct Validate {
    /// Bundles or catalogs: directories, `oci:DIR`, archives, image names, or `-` for standard input [default: bundle]
    #[arg(value_name = "REF")]
    references: Vec<String>,
    /// List the optional validators of operator-sdk that --select-optional enables
    #[arg(long, conflicts_with = "references")]
    list_optional: bool,
    /// Base branch or commit of a pull request: also validate what the pull request changes in a catalog repository, with the
    /// suite `community`
    #[arg(long, value_name = "COMMIT", alias = "base")]
    base_commit: Option<String>,
    /// Apply safe fixes before validating; each REF must be the directory of a bundle or a catalog
    #[arg(long)]
    fix: bool,
    #[command(flatten)]
    fix_options: FixOptions,
    /// Ask the registries whether the images of bundles exist, and for which platforms
    #[arg(long, conflicts_with = "list_optional")]
    online: bool,
    /// Validate again whenever a file of a REF or its settings changes, until Ctrl-C
    #[arg(long, conflicts_with_all = ["list_optional", "base_commit", "fix", "online", "output_file"])]
    watch: bool,
    #[command(flatten)]
    choice: RuleArgs,
    #[command(flatten)]
    report: ReportOptions,
    #[command(flatten)]
    registries: RegistryArgs,
}

const EXAMPLES: &str = "\
Examples:
  # Validate the bundle in a directory
  bundle-tool validate ./bundle

  # Validate a bundle image against all suites and print JSON
  bundle-tool validate quay.io/example/gizmo-bundle:v1.2.0 \\
    --suite all --output json

  # Validate a bundle as the pipeline of the OpenShift community catalog does
  bundle-tool validate ./bundle --profile community

  # Validate a submission, and what its pull request changes in the repository
  bundle-tool validate operators/gizmo-operator/1.2.0 \\
    --profile community --base-commit origin/main

  # Also check in the registries that the images exist for all platforms
  bundle-tool validate ./bundle --online --suite disconnected,multiarch

  # Validate a bundle while it is edited
  bundle-tool validate ./bundle --watch

  # Apply the safe fixes, and print the remaining findings
  bundle-tool validate ./bundle --fix

  # Validate the configuration of a ClusterExtension of OLM v1 against a bundle
  bundle-tool validate ./bundle --suite olmv1 \\
    --watch-namespace gizmos --install-namespace operators

  # Validate all bundles of a catalog repository, ignoring one rule
  bundle-tool validate community-operators --suite operatorhubv2 \\
    --allow channel-unconventional

  # Annotate a pull request on GitHub and write a report for code scanning
  bundle-tool validate ./bundle --output github \\
    --output-file sarif=findings.sarif";

/// What is validated if no REF is given: where `generate bundle` writes a bundle.
const DEFAULT_REFERENCE: &str = "bundle";
/// From this number of bundles on, a terminal shows progress.
const MIN_PROGRESS: usize = 20;
/// How many looks in a row may fail before `--watch` says so.
const MAX_MISSING: u32 = 4;
/// Clears a terminal and what it scrolled.
const CLEAR: &str = "\x1b[2J\x1b[3J\x1b[H";
/// How often progress is drawn.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(100);

/// What was found in a REF, and its text if text is printed.
struct Found {
    report: Report,
    text: String,
}

enum Report {
    Bundle(BundleReport),
    Catalog(CatalogReport),
}

impl Found {
    fn new(report: Report, style: Option<Style>) -> Self {
        let text =
            |subject: &Subject<'_>| style.map_or_else(String::new, |style| text::diagnostics(subject, style));
        let text = match &report {
            Report::Bundle(report) => text(&Subject::from(report)),
            Report::Catalog(report) => text(&Subject::from(report)),
        };
        Self { report, text }
    }
}

impl Validate {
    pub(crate) fn run(mut self) -> Result<Exit> {
        if self.references.is_empty() && self.base_commit.is_none() && !self.list_optional {
            if !Path::new(DEFAULT_REFERENCE).exists() {
                bail!(
                    "no directory `{DEFAULT_REFERENCE}` here: pass the path or the image name of a bundle or a catalog"
                );
            }
            self.references.push(DEFAULT_REFERENCE.to_owned());
        }
        if self.list_optional {
            self.report.print_list("--list-optional", &list_optional(), &list_optional_json())?;
            return Ok(Exit::Success);
        }
        self.report.check(&self.references)?;
        let selections = self.choice.selections()?;
        if self.fix_options.unsafe_fixes && !self.fix {
            bail!("--unsafe-fixes requires --fix");
        }
        if self.watch {
            drop(selections);
            return self.watch();
        }
        self.validate_once(selections)
    }

    /// Validates again and again, whenever files change.
    fn watch(&self) -> Result<Exit> {
        let mut paths: Vec<PathBuf> = Vec::new();
        for reference in &self.references {
            if reference == "-" || Location::of_image(reference)?.is_some() {
                bail!("cannot watch {reference}: expected a directory or a file");
            }
            paths.push(PathBuf::from(reference));
        }
        let settings = self.choice.selections()?;
        let mut beside: BTreeSet<PathBuf> = self.choice.files().map(Path::to_owned).collect();
        for path in &paths {
            beside.extend(settings.candidates(path));
            beside.extend(disk::dockerfile::path_for(path));
            beside.extend(disk::submission::configuration_of(path));
        }
        let options = walk::Options { skip_hidden_directories: true, ..walk::Options::default() };
        let mut watch = Watch::new(paths, options)?.with_files(beside.into_iter().collect())?;
        let mut is_missing = false;
        loop {
            if io::stdout().is_terminal() {
                io::stdout().write_all(CLEAR.as_bytes())?;
            }
            match self.choice.selections().and_then(|selections| self.validate_once(selections)) {
                Err(error) if is_broken_pipe(&error) => return Err(error),
                Err(error) => print_error(&error)?,
                Ok(_) => {}
            }
            writeln!(messages(), "waiting for changes; press Ctrl-C to stop")?;
            let mut failures = 0;
            loop {
                std::thread::sleep(INTERVAL);
                match watch.has_changed() {
                    Ok(has_changed) if has_changed || is_missing => {
                        is_missing = false;
                        break;
                    }
                    Ok(_) => failures = 0,
                    Err(_) => failures += 1,
                }
                // What is being replaced can be missing for a moment.
                if failures == MAX_MISSING && !is_missing {
                    is_missing = true;
                    break;
                }
            }
        }
    }

    fn validate_once(&self, selections: Selections) -> Result<Exit> {
        // Before --fix writes.
        let pull_request = match &self.base_commit {
            Some(base) => Some(self.pull_request(base, &selections)?),
            None => None,
        };
        let mut unreadable = Vec::new();
        let mut targets = Vec::new();
        for reference in &self.references {
            if self.fix {
                match self.fix_options.apply(reference, &selections, self.choice.openshift()?, FixMode::Write)
                {
                    Ok(fixed) => fixed.print_summary(reference, false)?,
                    Err(error) => {
                        failed(reference, &error, &mut unreadable)?;
                        continue;
                    }
                }
            }
            match bundles::targets(reference) {
                Ok(found) => targets.extend(found),
                Err(error) => failed(reference, &error, &mut unreadable)?,
            }
        }
        // Each bundle is read, validated, formatted and dropped by itself, so that memory does not grow with their number.
        let style = self.report.text_style();
        let runtime = SharedRuntime::default();
        let lookup = self.online.then(|| Lookup::new(&self.registries));
        let progress = progress(targets.len());
        let validate = |target: &ValidateInput| {
            let found = self.validate(target, &selections, &runtime, lookup.as_ref(), style);
            progress.inc(1);
            found
        };
        let results: Vec<Result<Found>> = targets.par_iter().map(validate).collect();
        progress.finish_and_clear();
        let (mut bundles, mut catalogs, mut text) = (Vec::new(), Vec::new(), String::new());
        if let Some(report) = pull_request {
            let found = Found::new(Report::Bundle(report), style);
            text.push_str(&found.text);
            if let Report::Bundle(report) = found.report {
                bundles.push(report);
            }
        }
        for (target, result) in targets.iter().zip(results) {
            match result {
                Ok(found) => {
                    text.push_str(&found.text);
                    match found.report {
                        Report::Bundle(report) => bundles.push(report),
                        Report::Catalog(report) => catalogs.push(report),
                    }
                }
                Err(error) => failed(&target.name(), &error, &mut unreadable)?,
            }
        }
        selections.report_unused()?;
        let is_answered = lookup.map_or(Ok(true), Lookup::report)?;
        let subjects: Vec<_> =
            bundles.iter().map(Subject::from).chain(catalogs.iter().map(Subject::from)).collect();
        let passed = subjects.iter().all(|subject| subject.passed);
        self.report.print(&Run {
            bundles: Some(&bundles),
            catalogs: (!catalogs.is_empty()).then_some(catalogs.as_slice()),
            subjects,
            text: Some(text),
            unreadable: &unreadable,
        })?;
        Ok(match (unreadable.is_empty() && is_answered, passed) {
            (false, _) => Exit::Failure,
            (true, true) => Exit::Success,
            (true, false) => Exit::Findings,
        })
    }

    /// Validates what a pull request changes in the repository of the bundles.
    fn pull_request(&self, base: &str, selections: &Selections) -> Result<BundleReport> {
        let directory = self.references.first().map_or(Path::new("."), Path::new);
        let request = pull_request::read(directory, base)?;
        let selection = selections.for_directory(Some(directory))?;
        if !selection.suites.contains(&Suite::Community) {
            bail!(
                "--base-commit requires the suite `community`, which has the rules for pull requests: pass --profile community"
            );
        }
        Ok(olm_rules::validate_pull_request("pull request", &request, &selection))
    }

    fn validate(
        &self,
        target: &ValidateInput,
        selections: &Selections,
        runtime: &SharedRuntime,
        lookup: Option<&Lookup>,
        style: Option<Style>,
    ) -> Result<Found> {
        let fill_images = |bundle: &mut Bundle| lookup.map_or(Ok(()), |lookup| lookup.fill(bundle, runtime));
        let openshift = self.choice.openshift()?;
        // The catalogs of a repository are for the versions in their paths.
        let is_reference = |path: &Path| self.references.iter().any(|reference| Path::new(reference) == path);
        let catalog = |name: &str, root: Option<&Path>, sources| {
            let openshift = match root {
                Some(path) if !is_reference(path) => OpenshiftOption::default().for_catalog(path),
                root => openshift.for_catalog(root.unwrap_or(Path::new("-"))),
            };
            let selection = selections.for_directory(root)?;
            let report = validate_catalog(name, root, sources, openshift, &selection)
                .with_context(|| format!("failed to read {name}"))?;
            Ok(Found::new(Report::Catalog(report), style))
        };
        match target {
            ValidateInput::Catalog(path) => {
                let name = kube_yaml::text::path(path);
                let sources = olm_model::disk::catalog::sources(path)
                    .with_context(|| format!("failed to read {name}"))?;
                catalog(&name, Some(path), sources)
            }
            ValidateInput::StandardInput(sources) => catalog("-", None, sources.take()),
            ValidateInput::Directory(reference) => {
                let selection = selections.for_directory(Some(Path::new(reference)))?;
                let mut bundle = bundles::directory(reference, &selection)?;
                fill_images(&mut bundle)?;
                Ok(Found::new(Report::Bundle(olm_rules::validate(&bundle, &selection)), style))
            }
            ValidateInput::Image { name: reference, location, .. } => {
                match bundles::image(reference, location, &self.registries, runtime)? {
                    bundles::Content::Bundle(mut bundle) => {
                        fill_images(&mut bundle)?;
                        let selection = selections.for_directory(None)?;
                        Ok(Found::new(Report::Bundle(olm_rules::validate(&bundle, &selection)), style))
                    }
                    bundles::Content::Catalog(sources) => catalog(reference, None, sources),
                }
            }
        }
    }
}

/// Prints why something could not be read, and keeps it for the report.
fn failed(name: &str, error: &anyhow::Error, unreadable: &mut Vec<UnreadBundle>) -> io::Result<()> {
    print_error(error)?;
    unreadable.push(UnreadBundle { path: name.to_owned(), message: with_help(error.as_ref()) });
    Ok(())
}

/// Returns a progress bar, which is hidden for few bundles and without a terminal.
fn progress(count: usize) -> ProgressBar {
    if count < MIN_PROGRESS || !shows_progress() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(count as u64);
    if let Ok(style) = ProgressStyle::with_template("validating {bar:30} {pos}/{len} {eta}") {
        bar.set_style(style);
    }
    bar.enable_steady_tick(PROGRESS_INTERVAL);
    bar
}

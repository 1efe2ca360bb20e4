//! `bundle-tool catalog validate`.

use std::io::{self, Write};

use anyhow::{Context as _, Result};
use clap::Args;
use serde::Serialize;

use super::load;
use crate::catalog::validate::{self, Problem, Report};
use crate::cli::exit::{Exit, print_error};
use crate::cli::format::{Format, OutputOption};
use crate::cli::images::Registries;
use crate::model::text::printable;
use crate::read::catalog::{CatalogError, Source};
use crate::report::{Severity, UnreadBundle};

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

  # Validate what another command renders
  opm alpha render-template basic template.yaml | bundle-tool catalog validate -")]
pub(super) struct Validate {
    /// Catalogs: directories, files, `oci:DIR`, `oci-archive:FILE`, image names, or `-` for standard input
    #[arg(required = true, value_name = "REF")]
    catalogs: Vec<String>,
    #[command(flatten)]
    format: OutputOption<Format>,
    #[command(flatten)]
    registries: Registries,
}

/// Validates the catalog that the files are.
pub(in crate::cli) fn validate(sources: Vec<Source>) -> Result<Report, CatalogError> {
    Ok(validate::report(load::decoded(sources)?))
}

/// Checks a catalog before it is written or pushed, and prints its errors. Returns whether there are none.
pub(in crate::cli) fn check(name: &str, sources: Vec<Source>) -> Result<bool> {
    let mut report = validate(sources)?;
    if report.passed() {
        return Ok(true);
    }
    report.problems.retain(|problem| problem.rule.severity == Severity::Error);
    let mut out = io::stderr().lock();
    text(name, &report.problems, &mut out)?;
    let errors = counted(report.problems.len() + report.omitted, "error");
    writeln!(
        out,
        "error: the catalog is invalid ({errors}) and was not written; use --no-validate to write it nevertheless"
    )?;
    Ok(false)
}

impl Validate {
    pub(super) fn run(self) -> Result<Exit> {
        let mut exit = Exit::Success;
        let mut catalogs = Vec::new();
        let mut unreadable = Vec::new();
        for reference in &self.catalogs {
            let report =
                load::sources(reference, &self.registries).and_then(|sources| Ok(validate(sources)?));
            match report.with_context(|| format!("failed to read {reference}")) {
                Ok(report) => {
                    if !report.passed() && exit == Exit::Success {
                        exit = Exit::Findings;
                    }
                    catalogs.push((reference.as_str(), report));
                }
                Err(error) => {
                    exit = Exit::Failure;
                    print_error(&error)?;
                    unreadable.push(UnreadBundle { path: reference.clone(), message: format!("{error:#}") });
                }
            }
        }
        let mut out = io::BufWriter::new(io::stdout().lock());
        match self.format.output {
            Format::Text => {
                for (reference, report) in &catalogs {
                    text(reference, &report.problems, &mut out)?;
                    summary(reference, report, &mut out)?;
                }
            }
            Format::Json => json(&catalogs, &unreadable, &mut out)?,
        }
        out.flush()?;
        Ok(exit)
    }
}

fn count(problems: &[Problem], severity: Severity) -> usize {
    problems.iter().filter(|problem| problem.rule.severity == severity).count()
}

fn counted(count: usize, name: &str) -> String {
    format!("{count} {name}{}", if count == 1 { "" } else { "s" })
}

/// Prints problems as `validate` prints findings.
fn text(reference: &str, problems: &[Problem], out: &mut impl Write) -> io::Result<()> {
    let reference = reference.trim_end_matches('/');
    for problem in problems {
        // The name of a single file stands for itself.
        let file = match () {
            () if reference.ends_with(&*problem.place.file) => reference.to_owned(),
            () => format!("{reference}/{}", problem.place.file),
        };
        write!(out, "{}", printable(&file))?;
        if problem.place.line > 0 {
            write!(out, ":{}:{}", problem.place.line, problem.place.column)?;
        }
        let rule = problem.rule;
        writeln!(out, ": {}[{}]: {}", rule.severity, rule.id, printable(&problem.message))?;
        if !problem.path.is_empty() {
            writeln!(out, "    at {}", printable(&problem.path))?;
        }
        writeln!(out, "    help: {}", rule.help)?;
    }
    Ok(())
}

fn summary(reference: &str, report: &Report, out: &mut impl Write) -> io::Result<()> {
    let packages = counted(report.packages.len(), "package");
    let channels = counted(report.channels, "channel");
    let bundles = counted(report.bundles, "bundle");
    let verdict = if report.passed() { "passed" } else { "failed" };
    let errors = counted(count(&report.problems, Severity::Error), "error");
    let warnings = counted(count(&report.problems, Severity::Warning), "warning");
    write!(
        out,
        "{}: {packages}, {channels}, {bundles}, {verdict}: {errors}, {warnings}",
        printable(reference)
    )?;
    match report.omitted {
        0 => writeln!(out),
        omitted => writeln!(out, " ({} of the same rules omitted)", counted(omitted, "more finding")),
    }
}

#[derive(Serialize)]
struct Json<'a> {
    version: u32,
    catalogs: Vec<Entry<'a>>,
    unreadable: &'a [UnreadBundle],
}

#[derive(Serialize)]
struct Entry<'a> {
    path: &'a str,
    passed: bool,
    packages: &'a [String],
    channels: usize,
    bundles: usize,
    findings: &'a [Problem],
    omitted: usize,
}

fn json(catalogs: &[(&str, Report)], unreadable: &[UnreadBundle], out: &mut impl Write) -> io::Result<()> {
    let catalogs = catalogs.iter().map(|(path, report)| Entry {
        path,
        passed: report.passed(),
        packages: &report.packages,
        channels: report.channels,
        bundles: report.bundles,
        findings: &report.problems,
        omitted: report.omitted,
    });
    serde_json::to_writer_pretty(&mut *out, &Json { version: 1, catalogs: catalogs.collect(), unreadable })?;
    writeln!(out)
}

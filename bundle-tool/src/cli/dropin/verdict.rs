//! Reproduces the verdict of `operator-sdk bundle validate` with bundle-tool's rules.
//!
//! An error remains an error if operator-sdk reports it, too, or if it belongs to an optional validator that was selected. What only
//! the API server or OLM rejects becomes a warning that names what rejects it, so that bundles pass or fail as with operator-sdk.
//!
//! Source: `internal/cmd/operator-sdk/bundle/validate` and `internal/validate` of operator-sdk v1.42.

use std::io::{self, IsTerminal as _, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use serde::Deserialize;

use super::log::{self, Level};
use super::{external_validator, removed_apis};
use crate::cli::bundles;
use crate::cli::images::RegistryArgs;
use crate::cli::runtime::SharedRuntime;
use kube_yaml::text::printable;
use olm_model::Bundle;
use olm_model::report::{Finding, Severity, Suite, Validator};
use olm_report::{SdkOutput, SdkResult};
use olm_rules::{Selection, Settings, UNREAD_INPUT};

/// The maximum size of a file of categories, in bytes.
const MAX_CATEGORIES: u64 = 1 << 20;

/// What to validate besides the bundle's format.
#[derive(Debug, Default)]
pub(crate) struct Options {
    /// The optional validators.
    pub(crate) suites: Vec<Suite>,
    /// The cluster that `--optional-values` describes.
    pub(crate) settings: Settings,
    /// Programs that validate the bundle, too.
    pub(crate) external: Vec<String>,
    /// A JSON file with the valid categories, which replace those of OperatorHub.io.
    pub(crate) categories: Option<PathBuf>,
}

/// Returns the verdict on a bundle directory or image.
pub(crate) fn of_reference(
    reference: &str,
    registries: &RegistryArgs,
    options: &Options,
) -> Result<SdkResult> {
    let bundle = if Path::new(reference).exists() {
        let selection = Selection { suites: options.suites.clone(), ..Selection::default() };
        bundles::directory(reference, &selection)?
    } else {
        bundles::read(reference, registries, &SharedRuntime::default())
            .with_context(|| format!("error unpacking image {reference}"))?
    };
    let mut outputs = outputs(&bundle, options)?;
    let mut run = |directory: &Path| -> Result<()> {
        for program in &options.external {
            outputs.extend(external_validator::run(program, directory)?);
        }
        Ok(())
    };
    if options.external.is_empty() || Path::new(reference).is_dir() {
        run(Path::new(reference))?;
    } else {
        let scratch = tempfile::tempdir().context("failed to create a temporary directory")?;
        let files = bundle.files.iter().map(|file| (file.path.clone(), file.bytes.clone())).collect();
        atomic_files::tree(scratch.path(), files)?;
        run(scratch.path())?;
    }
    Ok(SdkResult::new(outputs))
}

/// Returns the verdict on a bundle without external validators.
pub(crate) fn of_bundle(bundle: &Bundle, options: &Options) -> Result<SdkResult> {
    Ok(SdkResult::new(outputs(bundle, options)?))
}

fn outputs(bundle: &Bundle, options: &Options) -> Result<Vec<SdkOutput>> {
    let selection = Selection {
        suites: options.suites.clone(),
        settings: options.settings.clone(),
        ..Selection::default()
    };
    let report = olm_rules::validate(bundle, &selection);
    let categories = options.categories.as_deref().filter(|_| options.suites.contains(&Suite::Categories));
    let counts = |finding: &&Finding| {
        finding.ignored.is_none() && !(categories.is_some() && finding.rule == "category-unknown")
    };
    let mut outputs: Vec<SdkOutput> = report.findings.iter().filter(counts).map(output).collect();
    if let Some(path) = categories {
        outputs.extend(custom_categories(bundle, path)?);
    }
    if options.suites.contains(&Suite::DeprecatedApis) {
        outputs.extend(removed_apis::permissions(bundle));
    }
    Ok(outputs)
}

/// Reports the categories of the CSV that are not in a file with custom categories.
fn custom_categories(bundle: &Bundle, path: &Path) -> Result<Vec<SdkOutput>> {
    #[derive(Deserialize)]
    struct Categories {
        categories: Vec<String>,
    }
    let failed = || format!("failed to read the categories in {}", path.display());
    let known = olm_model::disk::file::read(path, MAX_CATEGORIES).with_context(failed)?;
    let known: Categories = serde_json::from_slice(&known).with_context(failed)?;
    let written =
        bundle.csv().and_then(|csv| csv.root.dig(&["metadata", "annotations", "categories"])?.as_str());
    let unknown = written.into_iter().flat_map(|text| text.split(',')).map(str::trim);
    Ok(unknown
        .filter(|category| !known.categories.iter().any(|other| other == category))
        .map(|category| SdkOutput {
            r#type: Severity::Error,
            message: format!("category `{category}` is not in {} [category-unknown]", path.display()),
        })
        .collect())
}

/// Returns a finding as operator-sdk would report it.
fn output(finding: &Finding) -> SdkOutput {
    let rule = olm_rules::find(finding.rule);
    let is_its = rule.is_none_or(|rule| {
        rule.is_rejected_by(Validator::OperatorSdk)
            || rule.suite != Suite::Bundle
            || UNREAD_INPUT.contains(&rule.id)
    });
    let message = finding.one_line();
    if finding.severity != Severity::Error || is_its {
        return SdkOutput { r#type: finding.severity, message };
    }
    let by = rule.and_then(|rule| rule.impacts.iter().find_map(|impact| impact.rejected_by()));
    let by = by.map(|by| format!(" (rejected by {by})")).unwrap_or_default();
    SdkOutput { r#type: Severity::Warning, message: format!("{message}{by}") }
}

/// Writes a line for each finding.
pub(crate) fn print_text(result: &SdkResult, out: &mut impl Write) -> io::Result<()> {
    let is_terminal = io::stdout().is_terminal();
    for output in result.outputs() {
        let level = match output.r#type {
            Severity::Error => Level::Error,
            Severity::Warning => Level::Warning,
            Severity::Info => Level::Info,
        };
        log::write(level, &printable(&output.message), is_terminal, out)?;
    }
    Ok(())
}

//! Reproduces the verdict of `operator-sdk bundle validate` with bundle-tool's rules.
//!
//! The result has what operator-sdk reports, too, and what belongs to an optional validator that was selected, so that bundles pass
//! or fail as with operator-sdk. What only the API server or OLM rejects, or only bundle-tool warns of, is kept apart: scripts stop at
//! any warning in the output of operator-sdk, so it goes to standard error.
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
use kube_yaml::Value;
use kube_yaml::text::printable;
use olm_model::report::{Finding, Project, Severity, Source, Suite, Validator};
use olm_model::{Bundle, Object};
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

/// What operator-sdk reports about a bundle, and what bundle-tool knows besides.
#[derive(Debug)]
pub(crate) struct Verdict {
    /// What operator-sdk reports.
    pub(crate) result: SdkResult,
    /// What else bundle-tool finds: warnings.
    pub(crate) more: SdkResult,
}

impl Verdict {
    fn new(outputs: Outputs) -> Self {
        Self { result: SdkResult::new(outputs.own), more: SdkResult::new(outputs.more) }
    }

    /// Writes a line for each finding to standard error, in the order of [`Verdict`].
    pub(crate) fn print(&self, out: &mut impl Write) -> io::Result<()> {
        let is_terminal = io::stderr().is_terminal();
        print_text(&self.result, is_terminal, out)?;
        print_text(&self.more, is_terminal, out)
    }
}

/// Findings by whether operator-sdk reports them.
#[derive(Debug, Default)]
struct Outputs {
    own: Vec<SdkOutput>,
    more: Vec<SdkOutput>,
}

/// Returns the verdict on a bundle directory or image.
pub(crate) fn of_reference(reference: &str, registries: &RegistryArgs, options: &Options) -> Result<Verdict> {
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
            outputs.own.extend(external_validator::run(program, directory)?);
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
    Ok(Verdict::new(outputs))
}

/// Returns the verdict on a bundle without external validators.
pub(crate) fn of_bundle(bundle: &Bundle, options: &Options) -> Result<Verdict> {
    Ok(Verdict::new(outputs(bundle, options)?))
}

fn outputs(bundle: &Bundle, options: &Options) -> Result<Outputs> {
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
    let mut outputs = Outputs::default();
    for finding in report.findings.iter().filter(counts) {
        let (is_its, output) = output(finding);
        if is_its { outputs.own.push(output) } else { outputs.more.push(output) }
    }
    outputs.own.extend(preserved_fields(bundle));
    if let Some(path) = categories {
        outputs.own.extend(custom_categories(bundle, path)?);
    }
    if options.suites.contains(&Suite::DeprecatedApis) {
        outputs.own.extend(removed_apis::permissions(bundle));
    }
    Ok(outputs)
}

/// Reports the CRDs of v1beta1 that keep unknown fields, which is the default there. The rules report the version alone.
///
/// Source: `validatePreserveUnknownFields` in pkg/apis/apiextensions/validation/validation.go of `k8s.io/apiextensions-apiserver`.
fn preserved_fields(bundle: &Bundle) -> Vec<SdkOutput> {
    let definitions = bundle.of_kind("CustomResourceDefinition").filter(|crd| {
        let is_false =
            crd.root.dig(&["spec", "preserveUnknownFields"]).and_then(Value::as_bool) == Some(false);
        crd.api_version() == "apiextensions.k8s.io/v1beta1" && !is_false
    });
    let message = "spec.preserveUnknownFields: Invalid value: true: cannot set to true, set x-kubernetes-preserve-unknown-fields to \
                   true in spec.versions[*].schema instead";
    let output = |crd: Object<'_>| SdkOutput {
        r#type: Severity::Error,
        message: format!("{}: CustomResourceDefinition `{}`: {message}", crd.file.path, crd.name()),
    };
    definitions.map(output).collect()
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

/// Returns a finding as operator-sdk would report it, and whether it does.
fn output(finding: &Finding) -> (bool, SdkOutput) {
    let rule = olm_rules::find(finding.rule);
    let is_its = rule.is_none_or(|rule| {
        let is_its_warning = |source: &Source| {
            let is_its_check = match source.project {
                Project::OperatorSdk => true,
                Project::OperatorFrameworkApi => source.file.starts_with("pkg/validation/"),
                _ => false,
            };
            finding.severity != Severity::Error && is_its_check
        };
        rule.is_rejected_by(Validator::OperatorSdk)
            || rule.suite != Suite::Bundle
            || UNREAD_INPUT.contains(&rule.id)
            || rule.sources.iter().any(is_its_warning)
    });
    let message = finding.one_line();
    if finding.severity != Severity::Error || is_its {
        return (is_its, SdkOutput { r#type: finding.severity, message });
    }
    let by = rule.and_then(|rule| rule.impacts.iter().find_map(|impact| impact.rejected_by()));
    let by = by.map(|by| format!(" (rejected by {by})")).unwrap_or_default();
    (false, SdkOutput { r#type: Severity::Warning, message: format!("{message}{by}") })
}

/// Writes a line for each finding of one result; `is_terminal` is whether `out` is one.
pub(crate) fn print_text(result: &SdkResult, is_terminal: bool, out: &mut impl Write) -> io::Result<()> {
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

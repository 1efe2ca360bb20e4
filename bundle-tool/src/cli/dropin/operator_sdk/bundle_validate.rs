//! `operator-sdk bundle validate`.
//!
//! Source: `internal/cmd/operator-sdk/bundle/validate` of operator-sdk v1.42.

use std::io::{self, IsTerminal as _, Write as _};
use std::path::Path;

use anyhow::{Context as _, Result, anyhow, bail};

use super::super::cobra::Matches;
use super::super::native::{Becomes, NativeCommand};
use super::super::registries::registries;
use super::super::verdict::{self, Options};
use super::super::{Status, UsageError, log};
use crate::cli::selection::{OPTIONAL, read_index_dockerfile};
use crate::terminal::stderr;
use olm_model::LabelSelector;
use olm_model::kubernetes::{Minor, Versions};
use olm_model::report::Suite;
use olm_model::version;
use olm_rules::Settings;

/// The native command.
pub(crate) const NATIVE: NativeCommand = NativeCommand {
    has_same_output: false,
    reads_images: true,
    ..NativeCommand::new(
        &["validate"],
        &[
            ("image-builder", Becomes::Omitted),
            ("select-optional", Becomes::Same),
            ("list-optional", Becomes::Same),
            ("optional-values", Becomes::OmittedIf(is_unset_version)),
            ("output", Becomes::Same),
            ("alpha-select-external", Becomes::Missing("`validate` does not run external validators")),
        ],
    )
};

/// Returns whether a value is a version of Kubernetes that is not set, as pipelines pass it.
fn is_unset_version(text: &str) -> bool {
    matches!(text, "k8s-version=" | "k8s-version=None")
}

pub(crate) fn run(matches: &Matches) -> Result<Status> {
    let selector = matches.text("select-optional");
    let selector: LabelSelector =
        selector.parse().map_err(|error| anyhow!("unable to parse selector {selector:?}: {error}"))?;
    if matches.bool("list-optional") {
        io::stdout().lock().write_all(list().as_bytes())?;
        return Ok(Status::SUCCESS);
    }
    let output = matches.text("output");
    let invalid = |message: String| UsageError(format!("invalid command args: {message}"));
    let [bundle] = &matches.arguments[..] else {
        bail!(invalid("an image tag or directory is a required argument".to_owned()));
    };
    if output != "text" && output != "json-alpha1" {
        bail!(invalid(format!("invalid value for output flag: {output}")));
    }
    let mut suites: Vec<Suite> = Vec::new();
    if !selector.is_empty() {
        suites.extend(
            OPTIONAL.iter().filter(|one| selector.matches(|key| one.label(key))).map(|one| one.suite),
        );
        if suites.is_empty() {
            let text = matches.text("select-optional");
            bail!(invalid(format!("selector {text:?} does not match any validator labels")));
        }
    }
    let reads_index = suites.contains(&Suite::SdkCommunity);
    let mut settings = Settings::default();
    for (key, value) in matches.map("optional-values") {
        match key {
            // Pipelines that do not know the version pass `None` or an empty value.
            "k8s-version" if !is_unset_version(&format!("{key}={value}")) => {
                let parsed = version::tolerant(value).with_context(|| {
                    format!("invalid Kubernetes version `{value}`: expected a version such as 1.30")
                })?;
                let number = match parsed.major {
                    0 => 0,
                    1 => u16::try_from(parsed.minor).unwrap_or(u16::MAX),
                    // Any other one is above all versions of Kubernetes, as for operator-sdk.
                    _ => u16::MAX,
                };
                let minor = Minor::kubernetes(number);
                settings.versions = Some(Versions::range(minor, minor));
            }
            "index-path" if !value.is_empty() && reads_index => {
                settings.index_dockerfile = Some(read_index_dockerfile(Path::new(value))?);
            }
            // Validators ignore keys that they do not know.
            _ => {}
        }
    }
    let external = matches.text("alpha-select-external");
    let external = external.split(':').map(str::trim).filter(|path| !path.is_empty()).map(str::to_owned);
    let options = Options {
        suites,
        settings,
        external: external.collect(),
        categories: std::env::var_os("OPERATOR_BUNDLE_CATEGORIES")
            .filter(|path| !path.is_empty())
            .map(Into::into),
    };
    let found = verdict::of_reference(bundle, &registries(matches, [bundle.as_str()])?, &options)?;
    let mut out = io::BufWriter::new(io::stdout().lock());
    if output == "text" {
        verdict::print_text(&found.result, io::stdout().is_terminal(), &mut out)?;
    } else {
        found.result.write(&mut out)?;
    }
    out.flush()?;
    verdict::print_text(&found.more, io::stderr().is_terminal(), &mut stderr())?;
    if !found.result.passed() {
        return Ok(Status::FAILURE);
    }
    log::info("All validation tests have completed successfully");
    Ok(Status::SUCCESS)
}

/// Returns the list of optional validators in the columns of operator-sdk.
fn list() -> String {
    let mut rows = vec![["NAME".to_owned(), "LABELS".to_owned(), "DESCRIPTION".to_owned()]];
    for one in &OPTIONAL {
        for (index, (key, value)) in one.labels().iter().enumerate() {
            let label = format!("{key}={value}");
            rows.push(if index == 0 {
                [one.name.to_owned(), label, one.description.to_owned()]
            } else {
                [String::new(), label, String::new()]
            });
        }
    }
    let width = |column: usize| rows.iter().map(|row| row[column].len()).max().unwrap_or_default() + 4;
    let (first, second) = (width(0), width(1));
    rows.iter().map(|[a, b, c]| format!("{a:first$}{b:second$}{c}\n")).collect()
}

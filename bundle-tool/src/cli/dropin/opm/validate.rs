//! `opm validate`.
//!
//! Source: `cmd/opm/validate/validate.go` of operator-registry v1.73.

use std::io::{self, Write as _};
use std::path::Path;

use anyhow::{Result, bail};
use serde_json::{Value as Json, json};

use super::super::cobra::Matches;
use super::super::native::{Becomes, NativeCommand};
use super::super::registries::INSECURE;
use super::super::{Status, UsageError, log};
use crate::cli::commands::catalog::validate::validate;
use kube_yaml::go_json;
use kube_yaml::text::printable;
use olm_model::disk;
use olm_model::read::catalog::Source;
use olm_model::report::{Finding, Validator};
use olm_rules::Selection;

/// The native command.
pub(crate) const NATIVE: NativeCommand = NativeCommand {
    has_same_output: false,
    ..NativeCommand::new(
        &["catalog", "validate"],
        &[
            ("output", Becomes::Missing("`catalog validate` has another JSON format")),
            ("skip-tls", INSECURE),
            ("skip-tls-verify", INSECURE),
            ("use-http", INSECURE),
        ],
    )
};

pub(crate) fn run(matches: &Matches) -> Result<Status> {
    let directory = Path::new(matches.argument(0));
    match std::fs::metadata(directory) {
        Err(error) => bail!(UsageError(format!("stat {}: {}", directory.display(), reason(&error)))),
        Ok(found) if !found.is_dir() => {
            bail!(UsageError(format!("{:?} is not a directory", matches.argument(0))))
        }
        Ok(_) => {}
    }
    let output = matches.text("output");
    if !matches!(output, "" | "json" | "yaml") {
        bail!(UsageError(format!("invalid --output value {output:?}, expected (json|yaml)")));
    }
    let problems = problems(directory)?;
    let message = (!problems.is_empty()).then(|| format!("invalid index:\n└── {}", problems.join("\n└── ")));
    if output.is_empty() {
        if let Some(message) = &message {
            log::fatal(message);
        }
    } else {
        let mut out = io::stdout().lock();
        let error: Json = message.as_ref().map_or(Json::Null, |message| json!({ "message": message }));
        let result = if error.is_null() {
            json!({ "passed": true })
        } else {
            json!({ "passed": false, "error": error })
        };
        if output == "json" {
            let error = result.get("error").map(go_json::pretty).map(|text| text.replace('\n', "\n  "));
            let error = error.map(|text| format!(",\n  \"error\": {text}")).unwrap_or_default();
            writeln!(out, "{{\n  \"passed\": {}{error}\n}}", result["passed"])?;
        } else {
            writeln!(out, "{}", kube_yaml::emit(&result))?;
        }
    }
    Ok(if message.is_none() { Status::SUCCESS } else { Status::FAILURE })
}

/// Returns what opm rejects in a catalog.
pub(crate) fn problems(directory: &Path) -> Result<Vec<String>> {
    problems_in(&directory.display().to_string(), Some(directory), disk::catalog::sources(directory)?)
}

/// Returns what opm rejects in the files of a catalog.
pub(crate) fn problems_in(name: &str, root: Option<&Path>, sources: Vec<Source>) -> Result<Vec<String>> {
    let report = validate(name, root, sources, None, &Selection::default())?;
    let is_opms = |finding: &&Finding| {
        olm_rules::find(finding.rule).is_none_or(|rule| rule.is_rejected_by(Validator::Opm))
    };
    let findings = report.findings.iter().filter(|finding| finding.is_failure()).filter(is_opms);
    Ok(findings.map(|finding| printable(&finding.one_line()).into_owned()).collect())
}

/// Returns the reason of an error as Go words it.
fn reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "no such file or directory".to_owned(),
        io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        _ => error.to_string(),
    }
}

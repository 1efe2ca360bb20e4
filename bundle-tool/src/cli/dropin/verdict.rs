//! Reproduces the verdict of `operator-sdk bundle validate` with bundle-tool's rules.
//!
//! An error remains an error if operator-sdk reports it, too, or if it belongs to an optional validator that was selected. What only
//! the API server or OLM rejects becomes a warning that names what rejects it, so that bundles pass or fail as with operator-sdk.
//!
//! Source: `internal/cmd/operator-sdk/bundle/validate` and `internal/validate` of operator-sdk v1.42.

use std::fmt;
use std::io::{self, IsTerminal as _, Read as _, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, anyhow, bail};
use serde::de::{self, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use super::log;
use super::log::Level;
use crate::cli::bundles;
use crate::cli::images::RegistryArgs;
use crate::cli::runtime::SharedRuntime;
use kube_yaml::text::{printable, size, write_json_indented};
use olm_model::Bundle;
use olm_model::report::{Finding, Severity, Suite, Validator};
use olm_rules::{Selection, Settings, UNREAD_INPUT};

/// The maximum size of what an external validator prints, in bytes.
const MAX_OUTPUT: u64 = 4 << 20;
/// The maximum number of errors, and of warnings, of an external validator.
const MAX_FINDINGS: usize = 10_000;
/// The maximum time that an external validator takes.
const MAX_TIME: Duration = Duration::from_mins(10);

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

/// The result, in the JSON form of operator-sdk.
#[derive(Debug, Serialize)]
pub(crate) struct Verdict {
    passed: bool,
    /// `null` without findings, as Go prints a nil slice.
    outputs: Option<Vec<Output>>,
}

#[derive(Debug, Serialize)]
struct Output {
    r#type: &'static str,
    message: String,
}

/// What an external validator prints.
///
/// Source: `ManifestResult` in `pkg/validation/errors/error.go` of operator-framework/api.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "PascalCase")]
struct External {
    #[allow(dead_code, reason = "part of the format, of which unknown fields are rejected")]
    #[serde(alias = "name")]
    name: String,
    #[serde(alias = "errors", deserialize_with = "findings")]
    errors: Option<Vec<ExternalFinding>>,
    #[serde(alias = "warnings", deserialize_with = "findings")]
    warnings: Option<Vec<ExternalFinding>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "PascalCase")]
struct ExternalFinding {
    #[allow(dead_code, reason = "part of the format, of which unknown fields are rejected")]
    #[serde(alias = "type")]
    r#type: String,
    #[serde(alias = "level")]
    level: String,
    #[serde(alias = "field")]
    field: String,
    #[serde(alias = "badValue", alias = "badvalue")]
    bad_value: serde_json::Value,
    #[serde(alias = "detail")]
    detail: String,
}

/// Reads a list of at most [`MAX_FINDINGS`] findings, or null.
fn findings<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<ExternalFinding>>, D::Error> {
    struct List;

    impl<'de> Visitor<'de> for List {
        type Value = Option<Vec<ExternalFinding>>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a list or null")
        }

        fn visit_unit<E>(self) -> Result<Self::Value, E> {
            Ok(None)
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
            let mut found = Vec::new();
            while let Some(item) = items.next_element()? {
                if found.len() == MAX_FINDINGS {
                    return Err(de::Error::custom(format_args!("more than {MAX_FINDINGS} findings")));
                }
                found.push(item);
            }
            Ok(Some(found))
        }
    }

    deserializer.deserialize_any(List)
}

/// Runs an external validator on the bundle in a directory, and returns what it prints.
///
/// # Errors
/// It cannot be run, fails, prints more than [`MAX_OUTPUT`], or takes longer than `limit`.
fn output_of(program: &str, directory: &Path, limit: Duration) -> Result<Vec<u8>> {
    let failed = || format!("failed to run the external validator {program}");
    let mut command = Command::new(program);
    command.arg(directory).stdin(Stdio::null()).stdout(Stdio::piped());
    let mut child = command.spawn().with_context(failed)?;
    let result = wait(&mut child, program, Instant::now() + limit);
    if result.is_err() {
        // The program may ignore that nobody reads its output. It may also have ended, and then cannot be killed.
        let _ = child.kill();
        let _ = child.wait();
    }
    let (bytes, status) = result?;
    if !status.success() {
        bail!("the external validator {program} failed: {status}");
    }
    Ok(bytes)
}

/// Waits until a program has closed its output and has ended.
fn wait(child: &mut Child, program: &str, deadline: Instant) -> Result<(Vec<u8>, ExitStatus)> {
    let failed = || format!("failed to run the external validator {program}");
    let too_long = || anyhow!("the external validator {program} timed out and was stopped");
    let stdout = child.stdout.take().with_context(failed)?;
    let (sender, receiver) = mpsc::channel();
    // A thread, because a read has no time limit. It ends with the program that keeps the output open.
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let result = stdout.take(MAX_OUTPUT + 1).read_to_end(&mut bytes);
        // If nobody receives, the time is over.
        let _ = sender.send(result.map(|_| bytes));
    });
    let bytes = match receiver.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
        Ok(result) => result.with_context(failed)?,
        Err(_) => return Err(too_long()),
    };
    if bytes.len() as u64 > MAX_OUTPUT {
        bail!("the external validator {program} printed more than {}", size(MAX_OUTPUT));
    }
    let mut pause = Duration::from_millis(1);
    loop {
        if let Some(status) = child.try_wait().with_context(failed)? {
            return Ok((bytes, status));
        }
        if Instant::now() >= deadline {
            return Err(too_long());
        }
        std::thread::sleep(pause);
        pause = (2 * pause).min(Duration::from_millis(100));
    }
}

/// Returns the verdict on a bundle directory or image.
pub(crate) fn of(reference: &str, registries: &RegistryArgs, options: &Options) -> Result<Verdict> {
    let bundle = if Path::new(reference).exists() {
        let selection = Selection { suites: options.suites.clone(), ..Selection::default() };
        bundles::directory(reference, &selection)?
    } else {
        bundles::read(reference, registries, &SharedRuntime::default())
            .with_context(|| format!("error unpacking image {reference}"))?
    };
    let mut verdict = of_bundle(&bundle, options)?;
    if !options.external.is_empty() {
        if Path::new(reference).is_dir() {
            verdict.add_external(&options.external, Path::new(reference))?;
        } else {
            let scratch = tempfile::tempdir().context("failed to create a temporary directory")?;
            let files = bundle.files.iter().map(|file| (file.path.clone(), file.bytes.clone())).collect();
            atomic_files::tree(scratch.path(), files)?;
            verdict.add_external(&options.external, scratch.path())?;
        }
    }
    Ok(verdict)
}

/// Returns the verdict on a bundle without external validators.
pub(crate) fn of_bundle(bundle: &Bundle, options: &Options) -> Result<Verdict> {
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
    let mut outputs: Vec<Output> = report.findings.iter().filter(counts).map(output).collect();
    if let Some(path) = categories {
        outputs.extend(custom_categories(bundle, path)?);
    }
    // operator-sdk prints warnings before errors, validator by validator; here errors come first.
    outputs.sort_by_key(|output| output.r#type != "error");
    let passed = outputs.iter().all(|output| output.r#type != "error");
    Ok(Verdict { passed, outputs: Some(outputs).filter(|outputs| !outputs.is_empty()) })
}

/// Reports the categories of the CSV that are not in a file with custom categories.
fn custom_categories(bundle: &Bundle, path: &Path) -> Result<Vec<Output>> {
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
        .map(|category| Output {
            r#type: "error",
            message: format!("category `{category}` is not in {} [category-unknown]", path.display()),
        })
        .collect())
}

/// Returns a finding as operator-sdk would report it.
fn output(finding: &Finding) -> Output {
    let place = match (&finding.file, finding.line, finding.column) {
        (Some(file), Some(line), Some(column)) => format!("{file}:{line}:{column}: "),
        (Some(file), ..) => format!("{file}: "),
        (None, ..) => String::new(),
    };
    let rule = olm_rules::find(finding.rule);
    let is_its = rule.is_none_or(|rule| {
        rule.is_rejected_by(Validator::OperatorSdk)
            || rule.suite != Suite::Bundle
            || UNREAD_INPUT.contains(&rule.id)
    });
    let text = format!("{place}{} [{}]", finding.message, finding.rule);
    let (r#type, message) = match finding.severity {
        Severity::Error if is_its => ("error", text),
        Severity::Error => {
            let by = rule.and_then(|rule| rule.impacts.iter().find_map(|impact| impact.rejected_by()));
            let by = by.map(|by| format!(" (rejected by {by})")).unwrap_or_default();
            ("warning", format!("{text}{by}"))
        }
        Severity::Warning => ("warning", text),
        Severity::Info => ("info", text),
    };
    Output { r#type, message }
}

impl Verdict {
    /// Returns whether there is no error.
    pub(crate) fn passed(&self) -> bool {
        self.passed
    }

    /// Writes a line for each finding.
    pub(crate) fn print_text(&self, out: &mut impl Write) -> io::Result<()> {
        let is_terminal = io::stdout().is_terminal();
        for output in self.outputs.iter().flatten() {
            let level = match output.r#type {
                "error" => Level::Error,
                "warning" => Level::Warning,
                _ => Level::Info,
            };
            log::write(level, &printable(&output.message), is_terminal, out)?;
        }
        Ok(())
    }

    /// Writes the JSON document.
    pub(crate) fn print_json(&self, out: &mut impl Write) -> io::Result<()> {
        write_json_indented(self, "    ", out)
    }

    /// Runs external validators on the bundle in a directory, and adds their findings.
    fn add_external(&mut self, programs: &[String], directory: &Path) -> Result<()> {
        for program in programs {
            let bytes = output_of(program, directory, MAX_TIME)?;
            // operator-sdk decodes one document and ignores what follows it.
            let mut documents = serde_json::Deserializer::from_slice(&bytes).into_iter::<External>();
            let found = documents
                .next()
                .unwrap_or_else(|| Ok(External::default()))
                .with_context(|| format!("the external validator {program} printed no valid result"))?;
            let outputs = self.outputs.get_or_insert_default();
            for (r#type, findings) in [("warning", found.warnings), ("error", found.errors)] {
                for finding in findings.into_iter().flatten() {
                    self.passed &= r#type != "error";
                    outputs.push(Output { r#type, message: finding.text() });
                }
            }
        }
        Ok(())
    }
}

impl ExternalFinding {
    /// Returns the finding as operator-sdk prints it.
    fn text(&self) -> String {
        let value = match &self.bad_value {
            serde_json::Value::Null => None,
            serde_json::Value::String(text) => Some(text.clone()),
            other => Some(other.to_string()),
        };
        let detail = if self.detail.is_empty() { String::new() } else { format!(": {}", self.detail) };
        let text = match (self.field.as_str(), value) {
            ("", None) => detail,
            ("", Some(value)) => format!("Value {value}{detail}"),
            (field, None) => format!("Field {field}{detail}"),
            (field, Some(value)) => format!("Field {field}, Value {value}{detail}"),
        };
        if text.is_empty() { "ErrMessageMissing".to_owned() } else { format!("{}: {text}", self.level) }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    /// Runs a shell script as an external validator.
    fn run(script: &str, limit: Duration) -> Result<Vec<u8>> {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("validator");
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
        output_of(path.to_str().unwrap(), directory.path(), limit)
    }

    #[test]
    fn external_validators_are_limited() {
        assert_eq!(run("echo '{}'", MAX_TIME).unwrap(), b"{}\n");
        let brief = Duration::from_millis(200);
        for (script, limit, message) in [
            ("exit 3", MAX_TIME, "failed: exit status: 3"),
            // Without a limit, each of these never ends.
            (
                "trap '' PIPE; while :; do echo xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx; done 2>/dev/null",
                MAX_TIME,
                "printed more than 4.0 MiB",
            ),
            ("exec sleep 1000", brief, "timed out and was stopped"),
            ("exec >&-; exec sleep 1000", brief, "timed out and was stopped"),
        ] {
            let error = run(script, limit).unwrap_err().to_string();
            assert!(error.contains(message), "{script}: {error}");
        }
    }

    #[test]
    fn findings_of_external_validators_are_limited() {
        let text = |count| format!("{{\"Errors\":[{}],\"Warnings\":null}}", vec!["{}"; count].join(","));
        let found: External = serde_json::from_str(&text(MAX_FINDINGS)).unwrap();
        assert_eq!(
            (found.errors.map(|errors| errors.len()), found.warnings.is_none()),
            (Some(MAX_FINDINGS), true)
        );
        let error = serde_json::from_str::<External>(&text(MAX_FINDINGS + 1)).unwrap_err().to_string();
        assert!(error.starts_with("more than 10000 findings"), "{error}");
        assert!(serde_json::from_str::<External>("{\"Errors\": {}}").is_err());
    }
}

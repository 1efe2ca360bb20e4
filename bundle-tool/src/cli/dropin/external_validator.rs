//! Programs that validate bundles in addition to operator-sdk.
//!
//! Source: `pkg/validation/external.go` and `pkg/validation/errors/error.go` of operator-framework/api.

use std::fmt;
use std::io::Read as _;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, anyhow, bail};
use serde::de::{self, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

use kube_yaml::text::size;
use olm_model::report::Severity;
use olm_report::SdkOutput;

/// The maximum size of what an external validator prints, in bytes.
const MAX_OUTPUT: u64 = 4 << 20;
/// The maximum number of errors, and of warnings, of an external validator.
const MAX_FINDINGS: usize = 10_000;
/// The maximum time that an external validator takes.
const MAX_TIME: Duration = Duration::from_mins(10);

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

/// Runs an external validator on the bundle in a directory, and returns its findings.
///
/// # Errors
/// As [`output_of`]; or it prints no valid result.
pub(crate) fn run(program: &str, directory: &Path) -> Result<Vec<SdkOutput>> {
    let bytes = output_of(program, directory, MAX_TIME)?;
    // operator-sdk decodes one document and ignores what follows it.
    let mut documents = serde_json::Deserializer::from_slice(&bytes).into_iter::<External>();
    let found = documents
        .next()
        .unwrap_or_else(|| Ok(External::default()))
        .with_context(|| format!("the external validator {program} printed no valid result"))?;
    let findings = [(Severity::Warning, found.warnings), (Severity::Error, found.errors)];
    Ok(findings
        .into_iter()
        .flat_map(|(r#type, findings)| {
            findings
                .into_iter()
                .flatten()
                .map(move |finding| SdkOutput { r#type, message: finding.to_string() })
        })
        .collect())
}

impl fmt::Display for ExternalFinding {
    /// Writes the finding as operator-sdk prints it.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
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
        if text.is_empty() {
            formatter.write_str("ErrMessageMissing")
        } else {
            write!(formatter, "{}: {text}", self.level)
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    /// Runs a shell script as an external validator.
    fn run_script(script: &str, limit: Duration) -> Result<Vec<u8>> {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("validator");
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
        output_of(path.to_str().unwrap(), directory.path(), limit)
    }

    #[test]
    fn external_validators_are_limited() {
        assert_eq!(run_script("echo '{}'", MAX_TIME).unwrap(), b"{}\n");
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
            let error = run_script(script, limit).unwrap_err().to_string();
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

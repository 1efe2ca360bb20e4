//! SARIF 2.1.0, `--output sarif`, for code scanning and editors.
//!
//! Source: the OASIS standard, <https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html>. Columns count Unicode
//! code points; paths are URIs relative to where the command ran.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, Write};

use serde_json::{Value, json};

use super::diagnostic::{Diagnostic, Subject};
use kube_yaml::text::write_json;
use olm_model::report::UnreadBundle;
use olm_model::report::{Ignored, IgnoredBy, Severity};

/// The documentation of a rule.
#[derive(Debug, Clone, Default)]
pub struct RuleDescription {
    /// The rule's id.
    pub id: String,
    /// What it looks for.
    pub what: String,
    /// What happens to a bundle that breaks it; may be empty.
    pub why: String,
    /// An instruction that fixes a finding.
    pub help: String,
    /// The severity before the user's choice.
    pub severity: Option<Severity>,
    /// The suite; empty for rules of catalogs.
    pub suite: String,
}

/// Prints one log with one run. `describe` returns the documentation of a rule.
///
/// # Errors
/// The output cannot be written.
pub fn sarif(
    subjects: &[Subject<'_>],
    unreadable: &[UnreadBundle],
    describe: &dyn Fn(&str) -> RuleDescription,
    out: &mut (impl Write + ?Sized),
) -> io::Result<()> {
    let mut indices = BTreeMap::new();
    for diagnostic in subjects.iter().flat_map(|subject| &subject.diagnostics) {
        indices.entry(diagnostic.rule).or_insert(0);
    }
    for (index, position) in indices.values_mut().enumerate() {
        *position = index;
    }
    let rules: Vec<_> = indices.keys().map(|id| rule(&describe(id))).collect();
    let results: Vec<_> = subjects
        .iter()
        .flat_map(|subject| &subject.diagnostics)
        .map(|diagnostic| result(diagnostic, indices.get(diagnostic.rule).copied().unwrap_or_default()))
        .collect();
    let notifications: Vec<_> = unreadable
        .iter()
        .map(|bundle| json!({"level": "error", "message": {"text": format!("{}: {}", bundle.path, bundle.message)}}))
        .collect();
    let log = json!({
        "$schema": "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": "bundle-tool",
                "semanticVersion": env!("CARGO_PKG_VERSION"),
                "rules": rules,
            }},
            "columnKind": "unicodeCodePoints",
            "invocations": [{
                "executionSuccessful": unreadable.is_empty(),
                "toolExecutionNotifications": notifications,
            }],
            "results": results,
        }],
    });
    write_json(&log, out)
}

fn rule(rule: &RuleDescription) -> Value {
    let mut description = json!({
        "id": rule.id,
        "shortDescription": {"text": rule.what},
        "help": {"text": rule.help},
    });
    if !rule.why.is_empty() {
        description["fullDescription"] = json!({"text": format!("{} {}", rule.what, rule.why)});
    }
    if let Some(severity) = rule.severity {
        description["defaultConfiguration"] = json!({"level": level(severity)});
    }
    if !rule.suite.is_empty() {
        description["properties"] = json!({"tags": [rule.suite]});
    }
    description
}

fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Info => "note",
    }
}

fn result(diagnostic: &Diagnostic<'_>, index: usize) -> Value {
    let mut location = location(&diagnostic.file, diagnostic.place, diagnostic.end_column);
    if !diagnostic.path.is_empty() {
        location["logicalLocations"] = json!([{"fullyQualifiedName": diagnostic.path, "kind": "member"}]);
    }
    let mut result = json!({
        "ruleId": diagnostic.rule,
        "ruleIndex": index,
        "level": level(diagnostic.severity),
        "message": {"text": diagnostic.message},
        "locations": [location],
    });
    if !diagnostic.related.is_empty() {
        let related = diagnostic.related.iter().enumerate().map(|(id, place)| {
            let mut location = self::location(&place.file, Some(place.place), None);
            location["id"] = json!(id);
            location["message"] = json!({"text": place.message});
            location
        });
        result["relatedLocations"] = Value::Array(related.collect());
    }
    if let Some(versions) = diagnostic.versions {
        result["properties"] = json!({"versions": versions});
    }
    if let Some(ignored) = diagnostic.ignored {
        result["suppressions"] = json!([suppression(ignored)]);
    }
    result
}

fn suppression(ignored: &Ignored) -> Value {
    let kind = if ignored.by == IgnoredBy::Comment { "inSource" } else { "external" };
    let mut suppression = json!({"kind": kind});
    if !ignored.reason.is_empty() {
        suppression["justification"] = json!(ignored.reason);
    }
    suppression
}

fn location(file: &str, place: Option<(u32, u32)>, end_column: Option<u32>) -> Value {
    let mut physical = json!({"artifactLocation": {"uri": uri(file)}});
    if let Some((line, column)) = place.filter(|(line, column)| *line > 0 && *column > 0) {
        physical["region"] = json!({"startLine": line, "startColumn": column});
        if let Some(end) = end_column.filter(|end| *end >= column) {
            physical["region"]["endColumn"] = json!(end);
        }
    }
    json!({"physicalLocation": physical})
}

/// Returns a path as a URI reference: everything is escaped that is not allowed in one, and a colon, which would end a
/// scheme.
fn uri(path: &str) -> String {
    let path = path.strip_prefix("./").unwrap_or(path);
    let mut uri = String::with_capacity(path.len());
    if path.starts_with('/') {
        uri.push_str("file://");
    }
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~/@+=,!$&'()*;".contains(&byte) {
            uri.push(char::from(byte));
        } else {
            // Writing to a string cannot fail.
            let _ = write!(uri, "%{byte:02X}");
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_uris() {
        for (path, expected) in [
            ("./bundle/manifests/a.yaml", "bundle/manifests/a.yaml"),
            ("/tmp/a b", "file:///tmp/a%20b"),
            ("oci:dir/a", "oci%3Adir/a"),
            ("ä#?%", "%C3%A4%23%3F%25"),
            ("localhost:5000/a@sha256:00", "localhost%3A5000/a@sha256%3A00"),
        ] {
            assert_eq!(uri(path), expected);
        }
    }
}

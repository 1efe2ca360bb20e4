//! The examples of custom resources in a CSV's annotations, and the APIs that they must be of.

use std::collections::BTreeSet;
use std::fmt;

use serde_json::Value as Json;

use crate::prelude::*;
use kube_yaml::{Kind, Value, json_only};
use olm_model::csv::CrdDescription;

/// The annotation with the examples.
pub(crate) const KEY: &str = "alm-examples";
/// The alternative name, used if the first annotation is missing.
pub(crate) const OTHER_KEY: &str = "olm.examples";

/// A group, version and kind.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Gvk {
    group: String,
    version: String,
    kind: String,
}

impl fmt::Display for Gvk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.group.is_empty() {
            write!(f, "{}/", self.group)?;
        }
        write!(f, "{} {}", self.version, self.kind)
    }
}

/// Returns the name of the annotation that is used.
pub(crate) fn key(csv: &Csv<'_>) -> &'static str {
    let annotations = csv.typed.metadata.annotations.as_ref();
    let has = |key: &str| annotations.is_some_and(|annotations| annotations.contains_key(key));
    if !has(KEY) && has(OTHER_KEY) { OTHER_KEY } else { KEY }
}

/// Returns the examples as written.
pub(crate) fn annotation<'c>(csv: &'c Csv<'_>) -> Option<&'c str> {
    Some(csv.typed.metadata.annotations.as_ref()?.get(key(csv))?.as_str())
}

/// An error in the examples.
#[derive(Debug)]
pub(crate) struct ExampleError {
    pub(crate) message: String,
    /// The offset in the annotation in bytes.
    pub(crate) offset: Option<usize>,
}

impl From<&str> for ExampleError {
    fn from(message: &str) -> Self {
        Self { message: message.to_owned(), offset: None }
    }
}

impl ExampleError {
    /// Converts an error of the JSON parser, whose lines and columns are relative to the annotation.
    fn syntax(text: &str, error: &serde_json::Error) -> Self {
        let (line, column) = (error.line(), error.column());
        let message = error.to_string();
        let message = message.strip_suffix(&format!(" at line {line} column {column}")).unwrap_or(&message);
        let before: usize = text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum();
        let offset = before + column.saturating_sub(1);
        if is_yaml(text) {
            return "expected JSON, found YAML".into();
        }
        let message = match quote_near(text, offset) {
            Some(quote) => format!("invalid JSON: typographic quote `{quote}`: must be `\"`"),
            None => format!("invalid JSON: {message}"),
        };
        Self { message, offset: Some(offset) }
    }
}

/// Returns whether a text is a list or a map that is written in YAML's own way, without brackets.
fn is_yaml(text: &str) -> bool {
    if text.trim_start().starts_with(['[', '{']) {
        return false;
    }
    let parsed = kube_yaml::parse(text.as_bytes());
    let kind = parsed.documents.first().map(|document| document.root().kind());
    parsed.error.is_none() && matches!(kind, Some(Kind::Array | Kind::Object))
}

/// Returns the typographic quote that a string at an offset begins or ends with.
fn quote_near(text: &str, offset: usize) -> Option<char> {
    let start = text.floor_char_boundary(offset.min(text.len()));
    let char = text[start..].chars().next()?;
    "\u{201c}\u{201d}\u{201e}\u{201f}\u{2018}\u{2019}\u{ab}\u{bb}\u{2033}".contains(char).then_some(char)
}

/// Returns the APIs that the examples are of, or the error in them.
pub(crate) fn read(csv: &Csv<'_>) -> Option<Result<BTreeSet<Gvk>, ExampleError>> {
    let text = annotation(csv)?;
    if text.is_empty() {
        return Some(Ok(BTreeSet::new()));
    }
    let json: Json = match kube_yaml::json::from_str(text) {
        Ok(json) => json,
        Err(error) => return Some(Err(ExampleError::syntax(text, &error))),
    };
    if let Some(offset) = json_only(text.as_bytes()) {
        let problem =
            "invalid YAML: the JSON has an escaped surrogate pair, an escaped slash or a control character";
        return Some(Err(ExampleError { message: problem.to_owned(), offset: Some(offset) }));
    }
    Some(match json {
        Json::Null => Ok(BTreeSet::new()),
        Json::Array(examples) => examples.iter().map(gvk).collect(),
        _ => Err("expected a list of examples".into()),
    })
}

fn gvk(example: &Json) -> Result<Gvk, ExampleError> {
    let Json::Object(example) = example else {
        return Err("expected each example to be an object".into());
    };
    let text = |key: &str| example.get(key).and_then(Json::as_str).unwrap_or_default();
    if text("kind").is_empty() {
        return Err("missing `kind` in an example".into());
    }
    let (group, version) = match text("apiVersion").split_once('/') {
        Some((_, version)) if version.contains('/') => ("", ""),
        Some((group, version)) => (group, version),
        None => ("", text("apiVersion")),
    };
    Ok(Gvk { group: group.to_owned(), version: version.to_owned(), kind: text("kind").to_owned() })
}

/// Returns the APIs that the operator claims to own, but that no CRD of the bundle defines: owned-crd-missing reports
/// them, and what follows for their examples is no defect of its own.
pub(crate) fn undefined(context: &Context<'_>, csv: &Csv<'_>) -> BTreeSet<Gvk> {
    let mut defined = BTreeSet::new();
    for crd in context.bundle.of_kind("CustomResourceDefinition") {
        let text = |keys: &[&str]| crd.root.dig(keys).and_then(Value::as_str).unwrap_or_default();
        let kind = text(&["spec", "names", "kind"]);
        let versions = crd.root.dig(&["spec", "versions"]).into_iter().flat_map(Value::items);
        let versions = versions.filter_map(|version| version.get("name").and_then(Value::as_str));
        for version in versions.chain([text(&["spec", "version"])]) {
            defined.insert((crd.name(), version, kind));
        }
    }
    let owned = csv.typed.spec.customresourcedefinitions.owned.iter();
    let missing = owned.filter(|owned| {
        !defined.contains(&(owned.name.as_str(), owned.version.as_str(), owned.kind.as_str()))
    });
    let gvk = |owned: &CrdDescription| Gvk {
        group: owned.name.split_once('.').map_or("", |(_, group)| group).to_owned(),
        version: owned.version.clone(),
        kind: owned.kind.clone(),
    };
    missing.map(gvk).collect()
}

impl Gvk {
    /// Returns whether this may be meant to be the other API: the group or the kind is the same.
    pub(crate) fn resembles(&self, other: &Self) -> bool {
        self.group == other.group || self.kind == other.kind
    }
}

/// Returns the APIs that the operator owns.
pub(crate) fn provided(csv: &Csv<'_>) -> BTreeSet<Gvk> {
    let crds = csv.typed.spec.customresourcedefinitions.owned.iter().filter_map(|owned| {
        let (_, group) = owned.name.split_once('.')?;
        Some(Gvk { group: group.to_owned(), version: owned.version.clone(), kind: owned.kind.clone() })
    });
    let services = csv.typed.spec.apiservicedefinitions.owned.iter().map(|owned| Gvk {
        group: owned.group.clone(),
        version: owned.version.clone(),
        kind: owned.kind.clone(),
    });
    crds.chain(services).collect()
}

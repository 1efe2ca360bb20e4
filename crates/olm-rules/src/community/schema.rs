//! Schemas of the pipeline's configuration files, in the part of JSON Schema that they use.

use std::collections::BTreeSet;

use crate::prelude::*;
use kube_yaml::{Kind, Value};
use olm_model::Document;
use olm_model::report::suggest::{alternatives, did_you_mean, unknown};

/// What a value has to be.
pub(crate) enum Schema {
    /// A string.
    String,
    /// `true` or `false`.
    Boolean,
    /// One of these strings.
    OneOf(&'static [&'static str]),
    /// A list; `true` if it must have an item, and `true` if its items must be unique.
    List(&'static Schema, bool, bool),
    /// A map; `true` if it may have other fields.
    Map(&'static [Field], bool),
}

/// A field: its name, whether it is required, and what it has to be.
pub(crate) type Field = (&'static str, bool, Schema);

/// Reports what is wrong with a document.
pub(crate) fn check(document: &Document, schema: &Schema, reporter: &mut Reporter<'_>) {
    value(document, document.tree.root(), &Path::ROOT, schema, reporter);
}

fn value(
    document: &Document,
    found: Value<'_>,
    path: &Path<'_>,
    schema: &Schema,
    reporter: &mut Reporter<'_>,
) {
    let mut report = |message: String| {
        reporter.document(document, path, found.position(), message);
    };
    let expected = match (schema, found.kind()) {
        (Schema::String, Kind::String) | (Schema::Boolean, Kind::Boolean) => return,
        (Schema::OneOf(allowed), Kind::String) => {
            if !allowed.contains(&found.text()) {
                let name = path.to_string();
                report(unknown(name.rsplit('.').next().unwrap_or_default(), found.text(), allowed));
            }
            return;
        }
        (Schema::List(items, required, unique), Kind::Array) => {
            if *required && found.is_empty() {
                report("empty list: expected at least one item".to_owned());
            }
            let mut seen = BTreeSet::new();
            for (index, item) in found.items().enumerate() {
                let path = path.index(index);
                if *unique && !seen.insert(item.to_json().to_string()) {
                    reporter.document(
                        document,
                        &path,
                        item.position(),
                        format!("duplicate item `{}`", item.to_json()),
                    );
                }
                value(document, item, &path, items, reporter);
            }
            return;
        }
        (Schema::Map(fields, open), Kind::Object) => {
            return map(document, found, path, fields, *open, reporter);
        }
        (Schema::String | Schema::OneOf(_), _) => "a string",
        (Schema::Boolean, _) => "a boolean",
        (Schema::List(..), _) => "a list",
        (Schema::Map(..), _) => "a map",
    };
    report(format!("expected {expected}, found {}", found.kind()));
}

fn map(
    document: &Document,
    found: Value<'_>,
    path: &Path<'_>,
    fields: &'static [Field],
    open: bool,
    reporter: &mut Reporter<'_>,
) {
    let names: Vec<&str> = fields.iter().map(|(name, ..)| *name).collect();
    let mut misspelled = BTreeSet::new();
    for (key, _) in found.unique_entries().filter(|(key, _)| !names.contains(&key.text())) {
        let near = did_you_mean(key.text(), names.iter().copied());
        if !open || !near.is_empty() {
            let all = if near.is_empty() { format!(": must be {}", alternatives(&names)) } else { near };
            let path = path.field(key.text());
            reporter.document(
                document,
                &path,
                key.position(),
                format!("unknown field `{}`{all}", key.text()),
            );
            misspelled.extend(olm_model::report::suggest::nearest(key.text(), names.iter().copied()));
        }
    }
    for (name, required, schema) in fields {
        match found.get(name) {
            Some(field) => value(document, field, &path.field(name), schema, reporter),
            // One defect is one finding.
            None if *required && !misspelled.contains(name) => {
                reporter.document(
                    document,
                    path,
                    found.position(),
                    format!("missing required field `{name}`"),
                );
            }
            None => {}
        }
    }
}

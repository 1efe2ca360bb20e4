use crate::model::yaml::{Kind, Value};
use crate::rules::prelude::*;
use std::collections::HashSet;

pub(super) static RULE: Rule = Rule {
    id: "yaml-duplicate-key",
    suite: Suite::Bundle,
    severity: Severity::Warning,
    what: "A map has the same key twice.",
    impacts: &[Impact::Specific(
        "Kubernetes and OLM use the last value without an error; kubectl and other YAML tools reject the file.",
    )],
    help: "remove one of the keys",
    sources: &[Source::symbols(Project::SigsYaml, "yaml.go", &["Unmarshal", "UnmarshalStrict"])],
    check: Check::Bundle(check),
};

/// Maximum number of keys that are compared pairwise.
const MAX_PAIRWISE: usize = 16;

fn check(context: &Context<'_>, reporter: &mut Reporter<'_>) {
    let files = context.bundle.files.iter().filter(|file| file.is_manifest() || file.is_metadata());
    for file in files {
        if let Some(tree) = file.document() {
            walk(tree.root(), &mut |key| {
                let message = format!("duplicate key `{}`", key.text());
                reporter.place(file, key.position(), message);
            });
        }
    }
}

fn walk<'a>(value: Value<'a>, found: &mut impl FnMut(Value<'a>)) {
    match value.kind() {
        Kind::Array => value.items().for_each(|item| walk(item, found)),
        Kind::Object => {
            if value.len() <= MAX_PAIRWISE {
                for (index, (key, _)) in value.entries().enumerate() {
                    if value.entries().take(index).any(|(other, _)| other.text() == key.text()) {
                        found(key);
                    }
                }
            } else {
                let mut seen = HashSet::with_capacity(value.len());
                value
                    .entries()
                    .map(|(key, _)| key)
                    .filter(|key| !seen.insert(key.text()))
                    .for_each(&mut *found);
            }
            value.entries().for_each(|(_, value)| walk(value, found));
        }
        _ => {}
    }
}

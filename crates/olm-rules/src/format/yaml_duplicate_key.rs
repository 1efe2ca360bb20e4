use crate::prelude::*;
use kube_yaml::{Kind, Value};
use std::collections::HashMap;

pub(crate) static RULE: Rule = Rule {
    id: "yaml-duplicate-key",
    suite: Suite::Bundle,
    severity: Severity::Warning,
    what: "A map has the same key twice.",
    impacts: &[Impact::Specific(
        "Kubernetes and OLM use the last value without an error; kubectl and other YAML tools reject the file.",
    )],
    help: "remove one of the keys",
    sources: &[Source::symbols(Project::SigsYaml, "yaml.go", &["Unmarshal", "UnmarshalStrict"]).since("1.1")],
    check: Check::Bundle(check),
};

/// Maximum number of keys that are compared pairwise.
const MAX_PAIRWISE: usize = 16;

fn check(context: &Context<'_>, reporter: &mut Reporter<'_>) {
    let files = context.bundle.files.iter().filter(|file| file.is_manifest() || file.is_metadata());
    for file in files {
        if let Some(tree) = file.document() {
            walk(tree.root(), &mut |map, earlier, (key, value)| {
                let message = format!("duplicate key `{}`", key.text());
                // The last one counts.
                let is_scalar = !matches!(value.kind(), Kind::Array | Kind::Object);
                let same = is_scalar && earlier.1.kind() == value.kind() && earlier.1.text() == value.text();
                let safety = if same { Safety::Safe } else { Safety::Unsafe };
                let what = format!("{} (line {})", key.text(), earlier.0.position().line);
                // A merged key (`<<`) is written in another map, which needs it.
                if earlier.0.position() >= map.position() && key.position() >= map.position() {
                    reporter.fix(Fix::at(safety, earlier.0.position(), &what, Change::RemoveDuplicate));
                }
                reporter.place(file, key.position(), message);
                reporter.related_place(file, earlier.0.position(), "also used here");
            });
        }
    }
}

/// A key and its value.
type Entry<'a> = (Value<'a>, Value<'a>);

/// Calls `found` with each map, the entries whose key an earlier one has, and the last of these.
fn walk<'a>(value: Value<'a>, found: &mut impl FnMut(Value<'a>, Entry<'a>, Entry<'a>)) {
    match value.kind() {
        Kind::Array => value.items().for_each(|item| walk(item, found)),
        Kind::Object => {
            if value.len() <= MAX_PAIRWISE {
                for (index, entry) in value.entries().enumerate() {
                    let earlier = value.entries().take(index);
                    let last = earlier.filter(|(other, _)| other.text() == entry.0.text()).last();
                    if let Some(earlier) = last {
                        found(value, earlier, entry);
                    }
                }
            } else {
                let mut seen = HashMap::with_capacity(value.len());
                for entry in value.entries() {
                    if let Some(earlier) = seen.insert(entry.0.text(), entry) {
                        found(value, earlier, entry);
                    }
                }
            }
            value.entries().for_each(|(_, value)| walk(value, found));
        }
        _ => {}
    }
}

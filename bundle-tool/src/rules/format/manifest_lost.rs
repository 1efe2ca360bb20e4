use std::collections::BTreeMap;

use crate::model::bundle::{ANNOTATIONS_FILE, METADATA};
use crate::report::{Severity, Suite};
use crate::rules::{Check, Context, Reporter, Rule};

pub(super) static RULE: Rule = Rule {
    id: "manifest-lost",
    suite: Suite::Bundle,
    severity: Severity::Warning,
    what: "A manifest has a file name that OLM's unpacker needs for another file: `annotations.yaml`, that of a file in `metadata/`, or one that differs from another manifest's in odd characters alone.",
    why: "The unpacker puts all files of both folders into one ConfigMap, by their names with `-` for each odd character: the manifest is never created.",
    help: "give the file another name, of letters, digits, `-`, `_` and `.`",
    source: "operator-registry, pkg/configmap/configmap_writer.go (Populate, TranslateInvalidChars)",
    check: Check::Bundle(check),
};

fn check(context: &Context<'_>, reporter: &mut Reporter<'_>) {
    let annotations = ANNOTATIONS_FILE.strip_prefix(METADATA).unwrap_or_default();
    // Files are sorted by their paths, in the unpacker's order, and the last of a name is the one that stays.
    let mut kept = BTreeMap::new();
    let files = context.bundle.files.iter();
    for file in files.filter(|file| file.is_manifest() || file.is_metadata()) {
        if file.name() != annotations {
            kept.insert(key(file.name()), file);
        } else if file.is_manifest() {
            reporter.path(&file.path, "OLM takes every file of this name for the bundle's annotations");
        }
    }
    for file in context.bundle.manifests().filter(|file| file.name() != annotations) {
        if let Some(other) = kept.get(&key(file.name())).filter(|other| other.path != file.path) {
            reporter.path(&file.path, format!("OLM puts '{}' into its place", other.path));
        }
    }
}

/// The name of a file in the ConfigMap.
fn key(name: &str) -> String {
    let plain = |char: char| char.is_ascii_alphanumeric() || matches!(char, '-' | '_' | '.');
    name.chars().map(|char| if plain(char) { char } else { '-' }).collect()
}

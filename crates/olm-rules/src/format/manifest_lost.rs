use std::collections::BTreeMap;

use super::annotations_missing::is_annotations;
use crate::prelude::*;
use olm_model::bundle::ANNOTATIONS_FILE;
use olm_model::file::METADATA;

pub(crate) static RULE: Rule = Rule {
    id: "manifest-lost",
    suite: Suite::Bundle,
    severity: Severity::Warning,
    what: "The name of a manifest collides with another file when OLM unpacks the bundle.",
    impacts: &[Impact::Specific(
        "OLM unpacks all files into one ConfigMap, whose keys are the file names with all characters other than letters, digits, `-`, `_` and `.` replaced with `-`: the object in the lost file is never created.",
    )],
    help: "rename the file, using only letters, digits, `-`, `_` and `.`",
    sources: &[Source::symbols(
        Project::OperatorRegistry,
        "pkg/configmap/configmap_writer.go",
        &["Populate", "TranslateInvalidChars"],
    )
    .since("1.5")],
    check: Check::Bundle(check),
};

fn check(context: &Context<'_>, reporter: &mut Reporter<'_>) {
    let annotations = ANNOTATIONS_FILE.strip_prefix(METADATA).unwrap_or_default();
    // Files are sorted by path, in the unpacker's order; the last file of a name replaces the others.
    let mut kept = BTreeMap::new();
    let files = context.bundle.files.iter();
    for file in files.filter(|file| file.is_manifest() || file.is_metadata()) {
        if file.name() != annotations {
            kept.insert(key(file.name()), file);
        } else if file.is_manifest() && !is_annotations(file) {
            // unsupported-kind reports annotations.
            reporter.help("rename the file");
            reporter.path(&file.path, "reserved file name: OLM reads the file as the bundle's annotations");
        }
    }
    for file in context.bundle.manifests().filter(|file| file.name() != annotations) {
        if let Some(other) = kept.get(&key(file.name())).filter(|other| other.path != file.path) {
            reporter.path(
                &file.path,
                format!("file name collision: OLM replaces the file with `{}`", other.path),
            );
        }
    }
}

/// Returns the key of a file in the ConfigMap.
fn key(name: &str) -> String {
    let plain = |char: char| char.is_ascii_alphanumeric() || matches!(char, '-' | '_' | '.');
    name.chars().map(|char| if plain(char) { char } else { '-' }).collect()
}

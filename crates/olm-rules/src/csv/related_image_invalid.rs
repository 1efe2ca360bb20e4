use std::collections::BTreeMap;

use kube_yaml::Unknown;

use crate::prelude::*;
use crate::reporter::rename;
use oci_images::reference::Reference;

pub(crate) static RULE: Rule = Rule {
    id: "related-image-invalid",
    suite: Suite::Bundle,
    severity: Severity::Warning,
    what: "An entry of `spec.relatedImages` has no image, or an invalid image reference.",
    impacts: &[Impact::Specific(
        "Mirroring tools fail, and operator-framework/api v0.45 and later reject the bundle.",
    )],
    help: "set image to a full image reference, preferably with a digest",
    sources: &[Source::symbols(
        Project::OperatorFrameworkApi,
        "pkg/validation/internal/bundle.go",
        &["validateRelatedImages"],
    )
    .since("0.40")],
    check: Check::Csv(check),
};

fn check(csv: &Csv<'_>, reporter: &mut Reporter<'_>) {
    let root = Path::ROOT;
    let list = root.field("spec.relatedImages");
    let others = other_names(csv);
    for (index, related) in csv.typed.spec.related_images.iter().enumerate() {
        let image = related.image.as_str();
        let entry = list.index(index);
        let message = if let Some(other) = others.get(&index) {
            let message = format!("missing required field `image`: the entry has `{}` instead", other.name);
            reporter.fix(rename(other));
            reporter.at(csv.object.file, &other.path, other.position, message);
            continue;
        } else if image.is_empty() {
            "missing required field `image`".to_owned()
        } else if let Err(error) = image.parse::<Reference>() {
            format!("invalid image reference `{image}`: {error}")
        } else {
            continue;
        };
        reporter.field(&csv.object, &entry.field("image"), message);
    }
}

/// Returns the first unknown field of each entry without an image, which probably is the image, by the index of the entry.
pub(super) fn other_names<'c>(csv: &'c Csv<'_>) -> BTreeMap<usize, &'c Unknown> {
    let mut others = BTreeMap::new();
    for unknown in &csv.unknown {
        let below = unknown.path.strip_prefix("spec.relatedImages[").and_then(|rest| rest.split_once(']'));
        let Some(index) = below.and_then(|(index, _)| index.parse::<usize>().ok()) else { continue };
        if csv.typed.spec.related_images.get(index).is_some_and(|related| related.image.is_empty()) {
            others.entry(index).or_insert(unknown);
        }
    }
    others
}

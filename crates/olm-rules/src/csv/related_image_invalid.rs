use crate::prelude::*;
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
    for (index, related) in csv.typed.spec.related_images.iter().enumerate() {
        let image = related.image.as_str();
        let entry = list.index(index);
        let message = if image.is_empty() {
            missing(csv, &entry)
        } else if let Err(error) = image.parse::<Reference>() {
            format!("invalid image reference `{image}`: {error}")
        } else {
            continue;
        };
        reporter.field(&csv.object, &entry.field("image"), message);
    }
}

/// Returns the message for an entry without an image, which may have it under another name.
fn missing(csv: &Csv<'_>, entry: &Path<'_>) -> String {
    let below = format!("{entry}.");
    let mut others = csv.unknown.iter().filter(|unknown| unknown.path.starts_with(&below));
    match others.next() {
        Some(other) => format!("missing required field `image`: the entry has `{}` instead", other.name),
        None => "missing required field `image`".to_owned(),
    }
}

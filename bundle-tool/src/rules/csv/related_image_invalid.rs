use crate::rules::prelude::*;
use oci_images::reference::Reference;

pub(super) static RULE: Rule = Rule {
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
        let message = if image.is_empty() {
            "missing required field `image`".to_owned()
        } else if let Err(error) = image.parse::<Reference>() {
            format!("invalid image reference `{image}`: {error}")
        } else {
            continue;
        };
        let entry = list.index(index);
        reporter.field(&csv.object, &entry.field("image"), message);
    }
}

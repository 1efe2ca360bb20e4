use std::collections::BTreeSet;

use crate::prelude::*;
use crate::shared::images;

pub(crate) static RULE: Rule = Rule {
    id: "disconnected-image-unlisted",
    suite: Suite::Disconnected,
    severity: Severity::Warning,
    what: "A container, or an environment variable `RELATED_IMAGE_…`, refers to an image that is not in `spec.relatedImages`.",
    impacts: &[Impact::Specific(
        "Tools that mirror catalogs copy the images in `spec.relatedImages`, and those of containers, but not those that only a variable names. preflight warns about every image that is not listed.",
    )],
    help: "add the image to spec.relatedImages",
    sources: &[
        Source::symbols(
            Project::Preflight,
            "internal/policy/operator/related_images.go",
            &["RelatedImagesCheck.validate"],
        )
        .since("1.4"),
        Source::symbols(Project::OperatorRegistry, "alpha/action/render.go", &["getRelatedImages"])
            .since("1.19"),
    ],
    check: Check::Csv(check),
};

fn check(csv: &Csv<'_>, reporter: &mut Reporter<'_>) {
    let related = &csv.typed.spec.related_images;
    // disconnected-related-images-missing reports that there are none.
    if related.is_empty() {
        return;
    }
    let listed: BTreeSet<&str> = related.iter().map(|related| related.image.as_str()).collect();
    images::each(csv, |path, image| {
        if !listed.contains(image) {
            reporter.field(&csv.object, path, format!("image `{image}` is not in spec.relatedImages"));
        }
    });
}

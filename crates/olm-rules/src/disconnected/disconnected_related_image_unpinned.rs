use super::sources::{RESTRICTED_NETWORK, RESTRICTED_NETWORK_IGNORED};
use crate::prelude::*;
use crate::shared::images;
use oci_images::reference::Reference;

pub(crate) static RULE: Rule = Rule {
    id: "disconnected-related-image-unpinned",
    suite: Suite::Disconnected,
    severity: Severity::Warning,
    what: "An image in `spec.relatedImages` is referred to by a tag.",
    impacts: &[RESTRICTED_NETWORK_IGNORED],
    help: "refer to the image by its digest: `registry.example.com/gizmo@sha256:…`",
    sources: RESTRICTED_NETWORK,
    check: Check::Csv(check),
};

fn check(csv: &Csv<'_>, reporter: &mut Reporter<'_>) {
    let root = Path::ROOT;
    let list = root.field("spec.relatedImages");
    for (index, related) in csv.typed.spec.related_images.iter().enumerate() {
        // related-image-invalid reports what is no image at all.
        if related.image.parse::<Reference>().is_ok() && !images::is_pinned(&related.image) {
            let message = format!("image `{}` is not pinned to a digest", related.image);
            reporter.field(&csv.object, &list.index(index).field("image"), message);
        }
    }
}

use super::sources::RESTRICTED_NETWORK;
use crate::rules::prelude::*;
use crate::rules::shared::images;

pub(super) static RULE: Rule = Rule {
    id: "disconnected-related-image-unpinned",
    suite: Suite::Disconnected,
    severity: Severity::Error,
    what: "An image in `spec.relatedImages` is referred to by a tag.",
    impacts: &[Impact::PreflightFails("FollowsRestrictedNetworkEnablementGuidelines")],
    help: "refer to the image by its digest: `registry.example.com/gizmo@sha256:…`",
    sources: RESTRICTED_NETWORK,
    check: Check::Csv(check),
};

fn check(csv: &Csv<'_>, reporter: &mut Reporter<'_>) {
    let root = Path::ROOT;
    let list = root.field("spec.relatedImages");
    for (index, related) in csv.typed.spec.related_images.iter().enumerate() {
        if !images::is_pinned(&related.image) {
            let message = format!("image `{}` is not pinned to a digest", related.image);
            reporter.field(&csv.object, &list.index(index).field("image"), message);
        }
    }
}

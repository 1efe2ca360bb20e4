use super::sources::RESTRICTED_NETWORK;
use crate::rules::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "disconnected-related-images-missing",
    suite: Suite::Disconnected,
    severity: Severity::Error,
    what: "The CSV has no `spec.relatedImages`.",
    impacts: &[Impact::PreflightFails("FollowsRestrictedNetworkEnablementGuidelines")],
    help: "list all images that the operator and its operands run in spec.relatedImages, each by digest",
    sources: RESTRICTED_NETWORK,
    check: Check::Csv(check),
};

fn check(csv: &Csv<'_>, reporter: &mut Reporter<'_>) {
    if csv.typed.spec.related_images.is_empty() {
        reporter.field(&csv.object, &Path::ROOT.field("spec.relatedImages"), "spec.relatedImages is empty");
    }
}

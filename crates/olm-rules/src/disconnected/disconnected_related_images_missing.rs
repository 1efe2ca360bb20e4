use super::sources::{RESTRICTED_NETWORK, RESTRICTED_NETWORK_IGNORED};
use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "disconnected-related-images-missing",
    suite: Suite::Disconnected,
    severity: Severity::Warning,
    what: "The CSV has no `spec.relatedImages`.",
    impacts: &[RESTRICTED_NETWORK_IGNORED],
    help: "list all images that the operator and its operands run in spec.relatedImages, each by digest",
    sources: RESTRICTED_NETWORK,
    check: Check::Csv(check),
};

fn check(csv: &Csv<'_>, reporter: &mut Reporter<'_>) {
    if csv.typed.spec.related_images.is_empty() {
        reporter.field(&csv.object, &Path::ROOT.field("spec.relatedImages"), "spec.relatedImages is empty");
    }
}

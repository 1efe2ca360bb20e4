use std::collections::HashSet;

use crate::model::yaml::{Path, Value};
use crate::report::{Severity, Suite};
use crate::rules::kubernetes::names;
use crate::rules::{Check, Crd, Reporter, Rule};

pub(super) static RULE: Rule = Rule {
    id: "crd-conversion-review-versions",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "The versions of ConversionReview that a conversion webhook understands are missing, doubled or no names, or none of them is `v1` or `v1beta1`.",
    why: "The API server refuses the CRD.",
    help: "set spec.conversion.webhook.conversionReviewVersions: [v1]",
    source: "apiextensions-apiserver, pkg/apis/apiextensions/validation/validation.go (validateConversionReviewVersions)",
    check: Check::Crd(check),
};

fn check(crd: &Crd<'_>, reporter: &mut Reporter<'_>) {
    if crd.text(&["conversion", "strategy"]) != "Webhook" {
        return;
    }
    // Without a webhook, another rule says so.
    let Some(webhook) = crd.spec.dig(&["conversion", "webhook"]).filter(|webhook| !webhook.is_null()) else {
        return;
    };
    let path = Path::ROOT.field("spec.conversion.webhook.conversionReviewVersions");
    let versions: Vec<_> = webhook
        .get("conversionReviewVersions")
        .into_iter()
        .flat_map(Value::items)
        .map(|version| version.as_str().unwrap_or_default())
        .collect();
    if !versions.iter().any(|version| matches!(*version, "v1" | "v1beta1")) {
        reporter.field(
            &crd.object,
            &path,
            "none of the versions is v1 or v1beta1, which the API server sends",
        );
        return;
    }
    let mut seen = HashSet::new();
    for (index, version) in versions.iter().enumerate() {
        if !seen.insert(version) {
            reporter.field(&crd.object, &path.index(index), format!("'{version}' is there twice"));
        } else if let Err(problem) = names::dns_1035_label(version) {
            reporter.field(&crd.object, &path.index(index), problem);
        }
    }
}

use std::collections::HashSet;

use crate::kubernetes::names;
use crate::prelude::*;
use kube_yaml::Value;

pub(crate) static RULE: Rule = Rule {
    id: "crd-conversion-review-versions",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "`conversionReviewVersions` of a conversion webhook has no supported version, an invalid name or a duplicate. The supported versions are `v1` and `v1beta1`.",
    impacts: &[Impact::CrdRejected],
    help: "set spec.conversion.webhook.conversionReviewVersions to `[v1]`",
    sources: &[Source::symbols(
        Project::ApiextensionsApiserver,
        "pkg/apis/apiextensions/validation/validation.go",
        &["validateConversionReviewVersions"],
    )
    .since("1.16")],
    check: Check::Crd(check),
};

fn check(crd: &Crd<'_>, reporter: &mut Reporter<'_>) {
    if crd.string(&["conversion", "strategy"]) != "Webhook" {
        return;
    }
    // Another rule reports a missing webhook.
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
        reporter.field(&crd.object, &path, "no supported version: must contain `v1` or `v1beta1`");
        return;
    }
    let mut seen = HashSet::new();
    for (index, version) in versions.iter().enumerate() {
        if !seen.insert(version) {
            reporter.field(&crd.object, &path.index(index), format!("duplicate version `{version}`"));
        } else if let Err(problem) = names::dns_1035_label(version) {
            reporter.field(&crd.object, &path.index(index), problem);
        }
    }
}

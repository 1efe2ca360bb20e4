use std::collections::BTreeSet;

use crate::kubernetes::names;
use crate::prelude::*;
use kube_yaml::Value;

pub(crate) static RULE: Rule = Rule {
    id: "webhook-review-version-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "The `admissionReviewVersions` of a webhook contain no supported version, an invalid one or a duplicate.",
    impacts: &[Impact::WebhookRejected],
    help: "set admissionReviewVersions to `[v1]`",
    sources: &[Source::symbols(
        Project::Kubernetes,
        "pkg/apis/admissionregistration/validation/validation.go",
        &["validateAdmissionReviewVersions"],
    )
    .since("1.16")],
    check: Check::Webhook(check),
};

fn check(webhook: &Webhook<'_>, errors: &mut ErrorReporter<'_, '_>) {
    if !webhook.is_admission() {
        return;
    }
    let list = webhook.path.field("admissionReviewVersions");
    let versions = &webhook.typed.admission_review_versions;
    let written = webhook.object.root.dig(&["spec", "webhookdefinitions"]);
    let written = written.and_then(|list| list.item(webhook.index)?.get("admissionReviewVersions"));
    // Another rule reports a missing list.
    if written.is_none_or(Value::is_null) {
        return;
    }
    if !versions.iter().any(|version| version == "v1" || version == "v1beta1") {
        errors.add(&list, "no supported version: must contain `v1` or `v1beta1`");
    }
    let mut seen = BTreeSet::new();
    for (index, version) in versions.iter().enumerate() {
        if seen.insert(version) {
            errors.check(&list.index(index), names::dns_1035_label(version));
        } else {
            errors.add(&list.index(index), format!("duplicate version `{version}`"));
        }
    }
}

use std::collections::BTreeSet;

use crate::model::yaml::Value;
use crate::report::{Severity, Suite};
use crate::rules::kubernetes::{Errors, names};
use crate::rules::webhook::Webhook;
use crate::rules::{Check, Rule};

pub(super) static RULE: Rule = Rule {
    id: "webhook-review-version-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A webhook understands no version of reviews, none that the API server sends, one twice, or one that is no version.",
    why: "The API server refuses the webhook, and the CSV fails with InstallComponentFailed.",
    help: "use admissionReviewVersions: [v1]",
    source: "k8s.io/kubernetes, pkg/apis/admissionregistration/validation/validation.go (validateAdmissionReviewVersions)",
    check: Check::Webhook(check),
};

fn check(webhook: &Webhook<'_>, errors: &mut Errors<'_, '_>) {
    if !webhook.is_admission() {
        return;
    }
    let list = webhook.path.field("admissionReviewVersions");
    let versions = &webhook.typed.admission_review_versions;
    let written = webhook.object.root.dig(&["spec", "webhookdefinitions"]);
    let written = written.and_then(|list| list.items().nth(webhook.index)?.get("admissionReviewVersions"));
    // A list that is missing is named by another rule.
    if written.is_none_or(Value::is_null) {
        return;
    }
    if !versions.iter().any(|version| version == "v1" || version == "v1beta1") {
        errors.add(&list, "neither v1 nor v1beta1 is there, which is what the API server sends");
    }
    let mut seen = BTreeSet::new();
    for (index, version) in versions.iter().enumerate() {
        if seen.insert(version) {
            errors.check(&list.index(index), names::dns_1035_label(version));
        } else {
            errors.add(&list.index(index), format!("'{version}' is there already"));
        }
    }
}

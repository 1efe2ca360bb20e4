use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "conversion-review-versions",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A conversion webhook supports none of the review versions that the API server sends.",
    impacts: &[
        Impact::InstallFails,
        Impact::Specific("OLM copies the versions to the CRD, and the API server rejects the update."),
    ],
    help: "set admissionReviewVersions to `[v1]`",
    sources: &[Source::symbols(
        Project::ApiextensionsApiserver,
        "pkg/apis/apiextensions/validation/validation.go",
        &["validateConversionReviewVersions"],
    )
    .since("1.16")],
    check: Check::Csv(check),
};

fn check(csv: &Csv<'_>, reporter: &mut Reporter<'_>) {
    let root = Path::ROOT;
    let list = root.field("spec.webhookdefinitions");
    for (index, webhook) in csv.typed.spec.webhookdefinitions.iter().enumerate() {
        let versions = &webhook.admission_review_versions;
        let known = |version: &String| version == "v1" || version == "v1beta1";
        // webhook-field-missing reports a missing list.
        let written = csv.dig(&["spec", "webhookdefinitions"]).and_then(|list| list.item(index));
        let there = written.and_then(|webhook| webhook.get("admissionReviewVersions"));
        if webhook.r#type == "ConversionWebhook"
            && there.is_some_and(|versions| !versions.is_null())
            && !versions.iter().any(known)
        {
            let entry = list.index(index);
            let message = "no supported version: must contain `v1` or `v1beta1`";
            reporter.field(&csv.object, &entry.field("admissionReviewVersions"), message);
        }
    }
}

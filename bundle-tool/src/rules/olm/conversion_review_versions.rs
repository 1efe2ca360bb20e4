use crate::model::yaml::Path;
use crate::report::{Severity, Suite};
use crate::rules::{Check, Csv, Reporter, Rule};

pub(super) static RULE: Rule = Rule {
    id: "conversion-review-versions",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A conversion webhook understands none of the review versions that the API server sends.",
    why: "OLM writes them into the CRD, and the API server refuses the update.",
    help: "write admissionReviewVersions: [v1]",
    source: "k8s.io/apiextensions-apiserver, pkg/apis/apiextensions/validation (conversionReviewVersions)",
    check: Check::Csv(check),
};

fn check(csv: &Csv<'_>, reporter: &mut Reporter<'_>) {
    let root = Path::ROOT;
    let list = root.field("spec.webhookdefinitions");
    for (index, webhook) in csv.typed.spec.webhookdefinitions.iter().enumerate() {
        let versions = &webhook.admission_review_versions;
        let known = |version: &String| version == "v1" || version == "v1beta1";
        // That the list is missing is webhook-field-missing's.
        let written =
            csv.object.root.dig(&["spec", "webhookdefinitions"]).and_then(|list| list.items().nth(index));
        let there = written.and_then(|webhook| webhook.get("admissionReviewVersions"));
        if webhook.r#type == "ConversionWebhook"
            && there.is_some_and(|versions| !versions.is_null())
            && !versions.iter().any(known)
        {
            let entry = list.index(index);
            let message = "neither v1 nor v1beta1 is among the review versions";
            reporter.field(&csv.object, &entry.field("admissionReviewVersions"), message);
        }
    }
}

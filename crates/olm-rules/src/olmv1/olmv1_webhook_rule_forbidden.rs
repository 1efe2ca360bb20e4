use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "olmv1-webhook-rule-forbidden",
    suite: Suite::Olmv1,
    severity: Severity::Error,
    what: "An admission webhook intercepts the API group of OLM v1, or webhook configurations by a name that OLM v0 accepts.",
    impacts: &[Impact::OlmV1Rejects],
    help: "list the API groups and resources that the webhook validates",
    sources: &[Source::symbols(
        Project::OperatorController,
        "internal/operator-controller/rukpak/render/registryv1/validators/validator.go",
        &["CheckWebhookRules"],
    )
    .since("1.6")],
    check: Check::Csv(check),
};

/// Matched in any case. webhook-rule-forbidden reports `*` and the lowercase plurals.
const GUARDED: [&str; 4] = [
    "mutatingwebhookconfiguration",
    "mutatingwebhookconfigurations",
    "validatingwebhookconfiguration",
    "validatingwebhookconfigurations",
];

fn check(csv: &Csv<'_>, reporter: &mut Reporter<'_>) {
    let root = Path::ROOT;
    let list = root.field("spec.webhookdefinitions");
    for (index, webhook) in csv.typed.spec.webhookdefinitions.iter().enumerate() {
        if webhook.r#type == "ConversionWebhook" {
            continue;
        }
        let entry = list.index(index);
        let rules = entry.field("rules");
        for (index, rule) in webhook.rules.iter().enumerate() {
            let path = rules.index(index);
            let groups = rule.api_groups.as_deref().unwrap_or_default();
            if groups.iter().any(|group| group == "olm.operatorframework.io") {
                let message = "forbidden API group `olm.operatorframework.io`";
                reporter.field(&csv.object, &path.field("apiGroups"), message);
            }
            let guarded = |resource: &&String| {
                let lower = resource.to_ascii_lowercase();
                GUARDED.contains(&lower.as_str()) && !(lower == **resource && lower.ends_with('s'))
            };
            let resources = rule.resources.as_deref().unwrap_or_default();
            if groups.iter().any(|group| group == "admissionregistration.k8s.io")
                && let Some(resource) = resources.iter().find(guarded)
            {
                let message = format!("forbidden resource `{resource}` of `admissionregistration.k8s.io`");
                reporter.field(&csv.object, &path.field("resources"), message);
            }
        }
    }
}

use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "webhook-rule-forbidden",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A rule of a webhook matches all API groups, OLM's own group, or webhook configurations.",
    impacts: &[
        Impact::CsvFails("InvalidWebhookDescription"),
        Impact::Specific("Such a webhook could block OLM itself."),
    ],
    help: "in apiGroups, list only the API groups that the webhook handles, instead of `*`",
    sources: &[Source::symbols(
        Project::OperatorLifecycleManager,
        "pkg/controller/install/webhook.go",
        &["ValidWebhookRules"],
    )
    .since("0.15")],
    check: Check::Csv(check),
};

/// What OLM protects in the group of webhook configurations; it compares kinds, although rules name resources.
const GUARDED: [&str; 3] = ["*", "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"];

fn check(csv: &Csv<'_>, reporter: &mut Reporter<'_>) {
    let root = Path::ROOT;
    let list = root.field("spec.webhookdefinitions");
    for (index, webhook) in csv.typed.spec.webhookdefinitions.iter().enumerate() {
        let entry = list.index(index);
        let rules = entry.field("rules");
        for (index, rule) in webhook.rules.iter().enumerate() {
            let rule_path = rules.index(index);
            let has =
                |list: &Option<Vec<String>>, wanted: &str| list.iter().flatten().any(|item| item == wanted);
            let (field, message) = if has(&rule.api_groups, "*") {
                ("apiGroups", "forbidden API group `*`")
            } else if has(&rule.api_groups, "operators.coreos.com") {
                ("apiGroups", "forbidden API group `operators.coreos.com`")
            } else if has(&rule.api_groups, "admissionregistration.k8s.io")
                && GUARDED.iter().any(|resource| has(&rule.resources, resource))
            {
                ("resources", "forbidden resources: webhook configurations")
            } else {
                continue;
            };
            reporter.field(&csv.object, &rule_path.field(field), message);
        }
    }
}

use crate::model::yaml::Path;
use crate::report::{Severity, Suite};
use crate::rules::{Check, Csv, Reporter, Rule};

pub(super) static RULE: Rule = Rule {
    id: "webhook-rule-forbidden",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A webhook's rule covers all API groups, OLM's own, or webhook configurations.",
    why: "OLM refuses the CSV, since such a webhook could lock it out: InvalidWebhookDescription.",
    help: "name the groups that the webhook is for",
    source: "operator-lifecycle-manager, pkg/controller/install/webhook.go (ValidWebhookRules)",
    check: Check::Csv(check),
};

/// What OLM guards of the group of webhook configurations; it means the kinds, though rules name resources.
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
                ("apiGroups", "OLM takes no webhook for all API groups")
            } else if has(&rule.api_groups, "operators.coreos.com") {
                ("apiGroups", "OLM takes no webhook for its own API group")
            } else if has(&rule.api_groups, "admissionregistration.k8s.io")
                && GUARDED.iter().any(|resource| has(&rule.resources, resource))
            {
                ("resources", "OLM takes no webhook for webhook configurations")
            } else {
                continue;
            };
            reporter.field(&csv.object, &rule_path.field(field), message);
        }
    }
}

use crate::kubernetes::names;
use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "olmv1-webhook-name-invalid",
    suite: Suite::Olmv1,
    severity: Severity::Error,
    what: "The generateName of a webhook is not a DNS-1123 subdomain.",
    impacts: &[Impact::OlmV1Rejects],
    help: "use lowercase letters, digits, `-` and `.`, with a letter or digit at both ends",
    sources: &[Source::symbols(
        Project::OperatorController,
        "internal/operator-controller/rukpak/render/registryv1/validators/validator.go",
        &["CheckWebhookNameIsDNS1123SubDomain"],
    )
    .since("1.6")],
    check: Check::Csv(check),
};

fn check(csv: &Csv<'_>, reporter: &mut Reporter<'_>) {
    let root = Path::ROOT;
    let list = root.field("spec.webhookdefinitions");
    for (index, webhook) in csv.typed.spec.webhookdefinitions.iter().enumerate() {
        if let Err(message) = names::dns_subdomain(&webhook.generate_name) {
            reporter.field(&csv.object, &list.index(index).field("generateName"), message);
        }
    }
}

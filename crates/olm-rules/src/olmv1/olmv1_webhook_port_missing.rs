use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "olmv1-webhook-port-missing",
    suite: Suite::Olmv1,
    severity: Severity::Warning,
    what: "A webhook has no containerPort.",
    impacts: &[Impact::Specific(
        "OLM v0 defaults to 443. OLM v1 writes port 0 into the webhook configuration while the Service listens on 443, and the API \
         server cannot reach the webhook.",
    )],
    help: "set containerPort to the port of the webhook server, or to 443",
    sources: &[Source::symbols(
        Project::OperatorController,
        "internal/operator-controller/rukpak/render/registryv1/generators/generators.go",
        &["BundleValidatingWebhookResourceGenerator", "BundleMutatingWebhookResourceGenerator"],
    )
    .since("1.6")],
    check: Check::Csv(check),
};

fn check(csv: &Csv<'_>, reporter: &mut Reporter<'_>) {
    let root = Path::ROOT;
    let list = root.field("spec.webhookdefinitions");
    for (index, webhook) in csv.typed.spec.webhookdefinitions.iter().enumerate() {
        if webhook.container_port == 0 {
            let message = format!("missing containerPort of webhook `{}`", webhook.generate_name);
            reporter.field(&csv.object, &list.index(index), message);
        }
    }
}

use crate::model::yaml::Path;
use crate::report::{Severity, Suite};
use crate::rules::{Check, Csv, Reporter, Rule};

pub(super) static RULE: Rule = Rule {
    id: "conversion-install-modes",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A CSV with a conversion webhook supports another install mode than AllNamespaces.",
    why: "There is one conversion for the whole cluster: operator-sdk and OLM refuse the CSV.",
    help: "support AllNamespaces alone, or convert without a webhook",
    source: "operator-framework/api, pkg/validation/internal/csv.go (validateInstallModes); operator-lifecycle-manager, pkg/controller/install/webhook.go (isSingletonOperator)",
    check: Check::Csv(check),
};

fn check(csv: &Csv<'_>, reporter: &mut Reporter<'_>) {
    let spec = &csv.typed.spec;
    let converts = spec
        .webhookdefinitions
        .iter()
        .any(|webhook| webhook.r#type == "ConversionWebhook" || !webhook.conversion_crds.is_empty());
    let alone = spec.install_modes.iter().all(|mode| mode.supported == (mode.r#type == "AllNamespaces"));
    if converts && !alone {
        let message = "with a conversion webhook, only the install mode AllNamespaces may be supported";
        reporter.field(&csv.object, &Path::ROOT.field("spec.installModes"), message);
    }
}

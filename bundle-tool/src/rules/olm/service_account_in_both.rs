use crate::model::csv::StrategyDeployment;
use crate::model::yaml::Path;
use crate::report::{Severity, Suite};
use crate::rules::{Check, Context, Reporter, Rule};

pub(super) static RULE: Rule = Rule {
    id: "service-account-in-both",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A ServiceAccount is an object of the bundle, and a Deployment of the CSV runs under it.",
    why: "operator-sdk refuses the bundle: OLM creates the accounts of the CSV itself, and the two would fight for it.",
    help: "delete the ServiceAccount from manifests/",
    source: "operator-framework/api, pkg/validation/internal/bundle.go (validateServiceAccounts)",
    check: Check::Bundle(check),
};

fn check(context: &Context<'_>, reporter: &mut Reporter<'_>) {
    let Some(csv) = context.csvs.first() else { return };
    let deployments = &csv.typed.spec.install.spec.deployments;
    for account in context.objects.iter().filter(|object| object.is("v1", "ServiceAccount")) {
        let runs = |deployment: &StrategyDeployment| {
            let pod = deployment.spec.template.spec.as_ref();
            pod.and_then(|pod| pod.service_account_name.as_deref()).unwrap_or_default() == account.name()
        };
        if !account.name().is_empty() && deployments.iter().any(runs) {
            let message = format!("OLM creates the account '{}' for the CSV", account.name());
            reporter.field(account, &Path::ROOT.field("metadata.name"), message);
        }
    }
}

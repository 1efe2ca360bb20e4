use crate::model::yaml::Path;
use crate::report::{Severity, Suite};
use crate::rules::{Check, Csv, Reporter, Rule};

pub(super) static RULE: Rule = Rule {
    id: "hub-provider-missing",
    suite: Suite::OperatorHubV2,
    severity: Severity::Error,
    what: "The CSV names no provider.",
    why: "OperatorHub shows it, and refuses an operator without one.",
    help: "write spec.provider.name",
    source: "operator-framework/api, pkg/validation/internal/operatorhub.go (checkSpecProviderName)",
    check: Check::Csv(check),
};

fn check(csv: &Csv<'_>, reporter: &mut Reporter<'_>) {
    if csv.typed.spec.provider.name.trim().is_empty() {
        reporter.field(&csv.object, &Path::ROOT.field("spec.provider.name"), "the provider has no name");
    }
}

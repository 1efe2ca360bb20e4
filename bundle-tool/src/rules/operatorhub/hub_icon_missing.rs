use crate::model::yaml::Path;
use crate::report::{Severity, Suite};
use crate::rules::{Check, Csv, Reporter, Rule};

pub(super) static RULE: Rule = Rule {
    id: "hub-icon-missing",
    suite: Suite::OperatorHubV2,
    severity: Severity::Warning,
    what: "The operator has no icon.",
    why: "OperatorHub shows a placeholder.",
    help: "add an icon: an SVG, PNG, JPEG or GIF in base64",
    source: "operator-framework/api, pkg/validation/internal/operatorhub.go (checkSpecIcon)",
    check: Check::Csv(check),
};

fn check(csv: &Csv<'_>, reporter: &mut Reporter<'_>) {
    if csv.typed.spec.icon.is_empty() {
        reporter.field(&csv.object, &Path::ROOT.field("spec.icon"), "the operator has no icon");
    }
}

use crate::model::version::{self, Version};
use crate::model::yaml::Path;
use crate::report::{Severity, Suite};
use crate::rules::{Check, Csv, Reporter, Rule};

pub(super) static RULE: Rule = Rule {
    id: "hub-version-missing",
    suite: Suite::OperatorHubV2,
    severity: Severity::Error,
    what: "The operator has no version, or 0.0.0.",
    why: "OperatorHub refuses it.",
    help: "write spec.version",
    source: "operator-framework/api, pkg/validation/internal/operatorhub.go (checkSpecVersion)",
    check: Check::Csv(check),
};

fn check(csv: &Csv<'_>, reporter: &mut Reporter<'_>) {
    let version = &csv.typed.spec.version;
    if version.is_empty() || version::tolerant(version).is_ok_and(|version| version == Version::new(0, 0, 0))
    {
        reporter.field(&csv.object, &Path::ROOT.field("spec.version"), "the operator has no version");
    }
}

use super::install_mode_unknown::KNOWN;
use crate::model::yaml::Path;
use crate::report::{Severity, Suite};
use crate::rules::{Check, Csv, Reporter, Rule};

pub(super) static RULE: Rule = Rule {
    id: "install-mode-none",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "The CSV supports none of the four install modes, or lists none.",
    why: "operator-sdk refuses the bundle, and OLM could install the operator in no operator group.",
    help: "support at least one of OwnNamespace, SingleNamespace, MultiNamespace and AllNamespaces",
    source: "operator-framework/api, pkg/validation/internal/csv.go (validateInstallModes)",
    check: Check::Csv(check),
};

fn check(csv: &Csv<'_>, reporter: &mut Reporter<'_>) {
    let root = Path::ROOT;
    let list = root.field("spec.installModes");
    let modes = &csv.typed.spec.install_modes;
    if modes.is_empty() {
        reporter.field(&csv.object, &list, "the CSV lists no install modes");
    } else if !modes.iter().any(|mode| mode.supported && KNOWN.contains(&mode.r#type.as_str())) {
        reporter.field(&csv.object, &list, "none of the four install modes is supported");
    }
}

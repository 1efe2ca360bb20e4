use crate::model::yaml::Path;
use crate::report::{Severity, Suite};
use crate::rules::{Check, Csv, Reporter, Rule};

pub(super) static RULE: Rule = Rule {
    id: "install-mode-unknown",
    suite: Suite::Bundle,
    severity: Severity::Warning,
    what: "The CSV lists an install mode that OLM does not know.",
    why: "OLM ignores it.",
    help: "the modes are OwnNamespace, SingleNamespace, MultiNamespace and AllNamespaces",
    source: "operator-framework/api, pkg/operators/v1alpha1/clusterserviceversion_types.go (InstallModeType)",
    check: Check::Csv(check),
};

/// The install modes that OLM knows.
pub(super) const KNOWN: [&str; 4] = ["OwnNamespace", "SingleNamespace", "MultiNamespace", "AllNamespaces"];

fn check(csv: &Csv<'_>, reporter: &mut Reporter<'_>) {
    let root = Path::ROOT;
    let list = root.field("spec.installModes");
    for (index, mode) in csv.typed.spec.install_modes.iter().enumerate() {
        if !KNOWN.contains(&mode.r#type.as_str()) {
            let message = format!("OLM knows no install mode '{}'", mode.r#type);
            reporter.field(&csv.object, &list.index(index), message);
        }
    }
}

use crate::model::yaml::Path;
use crate::report::{Severity, Suite};
use crate::rules::{Check, Csv, Reporter, Rule};

pub(super) static RULE: Rule = Rule {
    id: "install-mode-duplicate",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "The CSV lists an install mode twice.",
    why: "OLM refuses the CSV: InvalidInstallModes.",
    help: "list each of the four modes once",
    source: "operator-framework/api, pkg/operators/v1alpha1/clusterserviceversion.go (NewInstallModeSet)",
    check: Check::Csv(check),
};

fn check(csv: &Csv<'_>, reporter: &mut Reporter<'_>) {
    let root = Path::ROOT;
    let list = root.field("spec.installModes");
    let modes = &csv.typed.spec.install_modes;
    for (index, mode) in modes.iter().enumerate() {
        if modes[..index].iter().any(|other| other.r#type == mode.r#type) {
            let message = format!("the install mode '{}' is listed already", mode.r#type);
            reporter.field(&csv.object, &list.index(index), message);
        }
    }
}

use crate::rules::prelude::*;
use std::collections::BTreeSet;

pub(super) static RULE: Rule = Rule {
    id: "install-mode-duplicate",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "The CSV lists an install mode twice.",
    impacts: &[Impact::CsvFails("InvalidInstallModes")],
    help: "list each install mode once",
    sources: &[Source::symbols(
        Project::OperatorFrameworkApi,
        "pkg/operators/v1alpha1/clusterserviceversion.go",
        &["NewInstallModeSet"],
    )],
    check: Check::Csv(check),
};

fn check(csv: &Csv<'_>, reporter: &mut Reporter<'_>) {
    let root = Path::ROOT;
    let list = root.field("spec.installModes");
    let modes = &csv.typed.spec.install_modes;
    let mut seen = BTreeSet::new();
    for (index, mode) in modes.iter().enumerate() {
        if !seen.insert(&mode.r#type) {
            let message = format!("duplicate install mode `{}`", mode.r#type);
            reporter.field(&csv.object, &list.index(index), message);
        }
    }
}

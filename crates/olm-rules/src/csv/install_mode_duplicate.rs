use crate::prelude::*;
use std::collections::BTreeMap;

pub(crate) static RULE: Rule = Rule {
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
    )
    .since("0.2")],
    check: Check::Csv(check),
};

fn check(csv: &Csv<'_>, reporter: &mut Reporter<'_>) {
    let root = Path::ROOT;
    let list = root.field("spec.installModes");
    let modes = &csv.typed.spec.install_modes;
    let mut seen = BTreeMap::new();
    for (index, mode) in modes.iter().enumerate() {
        let first = *seen.entry(&mode.r#type).or_insert(index);
        if first < index {
            let message = format!("duplicate install mode `{}`", mode.r#type);
            let same = modes[..index]
                .iter()
                .any(|other| other.r#type == mode.r#type && other.supported == mode.supported);
            let fix = Fix::new(Safety::Safe, &list.index(index), Change::Remove);
            reporter.fix(same.then_some(fix)).field(&csv.object, &list.index(index), message);
            reporter.related(&csv.object, &list.index(first), "first listed here");
        }
    }
}

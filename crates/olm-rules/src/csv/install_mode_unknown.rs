use crate::prelude::*;
use olm_model::csv::INSTALL_MODES;
use olm_model::report::suggest::{nearest, unknown};

pub(crate) static RULE: Rule = Rule {
    id: "install-mode-unknown",
    suite: Suite::Bundle,
    severity: Severity::Warning,
    what: "The CSV lists an install mode that OLM does not support.",
    impacts: &[Impact::Ignored],
    help: "use `OwnNamespace`, `SingleNamespace`, `MultiNamespace` and `AllNamespaces`",
    sources: &[Source::symbols(
        Project::OperatorFrameworkApi,
        "pkg/operators/v1alpha1/clusterserviceversion_types.go",
        &["InstallModeType"],
    )
    .since("0.2")],
    check: Check::Csv(check),
};

fn check(csv: &Csv<'_>, reporter: &mut Reporter<'_>) {
    let root = Path::ROOT;
    let list = root.field("spec.installModes");
    for (index, mode) in csv.typed.spec.install_modes.iter().enumerate() {
        if !INSTALL_MODES.contains(&mode.r#type.as_str()) {
            let message = unknown("install mode", &mode.r#type, &INSTALL_MODES);
            let entry = list.index(index);
            let fix = |name: &str| {
                Fix::new(Safety::Unsafe, &entry.field("type"), Change::SetString(name.to_owned()))
            };
            reporter.fix(nearest(&mode.r#type, INSTALL_MODES).map(fix));
            reporter.field(&csv.object, &entry, message);
        }
    }
}

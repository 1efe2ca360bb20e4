use crate::prelude::*;
use olm_model::csv::INSTALL_MODES;

pub(crate) static RULE: Rule = Rule {
    id: "install-mode-none",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "The CSV lists no install modes, or supports none of them.",
    impacts: &[
        Impact::SdkRejects,
        Impact::Specific("OLM cannot install the operator in any operator group."),
    ],
    help: "set `supported: true` for at least one of `OwnNamespace`, `SingleNamespace`, `MultiNamespace` and `AllNamespaces`",
    sources: &[Source::symbols(
        Project::OperatorFrameworkApi,
        "pkg/validation/internal/csv.go",
        &["validateInstallModes"],
    )
    .since("0.2")],
    check: Check::Csv(check),
};

fn check(csv: &Csv<'_>, reporter: &mut Reporter<'_>) {
    let root = Path::ROOT;
    let list = root.field("spec.installModes");
    let modes = &csv.typed.spec.install_modes;
    if modes.is_empty() {
        reporter.field(&csv.object, &list, "missing install modes: at least one is required");
    } else if !modes.iter().any(|mode| mode.supported && INSTALL_MODES.contains(&mode.r#type.as_str())) {
        reporter.field(&csv.object, &list, "no supported install mode: at least one is required");
    }
}

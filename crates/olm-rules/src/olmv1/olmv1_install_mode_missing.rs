use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "olmv1-install-mode-missing",
    suite: Suite::Olmv1,
    severity: Severity::Error,
    what: "The CSV does not support the install mode `AllNamespaces`.",
    impacts: &[
        Impact::OlmV1Rejects,
        Impact::Specific(
            "Only its feature gate `SingleOwnNamespaceInstallSupport`, which is off by default, allows `OwnNamespace` and \
             `SingleNamespace`.",
        ),
    ],
    help: "set `supported: true` for the type `AllNamespaces` in spec.installModes, if the operator can watch all namespaces",
    sources: &[Source::symbols(
        Project::OperatorController,
        "internal/operator-controller/applier/provider.go",
        &["RegistryV1ManifestProvider.Get"],
    )
    .since("0.13")],
    check: Check::Csv(check),
};

fn check(csv: &Csv<'_>, reporter: &mut Reporter<'_>) {
    let modes = &csv.typed.spec.install_modes;
    if !modes.iter().any(|mode| mode.supported && mode.r#type == "AllNamespaces") {
        let path = Path::ROOT.field("spec.installModes");
        reporter.field(
            &csv.object,
            &path,
            "the install mode `AllNamespaces` is not supported, which OLM v1 requires",
        );
    }
}

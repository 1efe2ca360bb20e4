use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "conversion-install-modes",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A CSV with a conversion webhook supports install modes other than `AllNamespaces`.",
    impacts: &[
        Impact::SdkRejects,
        Impact::InstallFails,
        Impact::Specific("A CRD has a single conversion webhook for the whole cluster, so the operator must serve all namespaces."),
    ],
    help: "support only the install mode `AllNamespaces`, or remove the conversion webhook",
    sources: &[
        Source::symbols(
            Project::OperatorFrameworkApi,
            "pkg/validation/internal/csv.go",
            &["validateInstallModes"],
        )
        .since("0.4"),
        Source::symbols(
            Project::OperatorLifecycleManager,
            "pkg/controller/install/webhook.go",
            &["isSingletonOperator"],
        )
        .since("0.17"),
    ],
    check: Check::Csv(check),
};

fn check(csv: &Csv<'_>, reporter: &mut Reporter<'_>) {
    let spec = &csv.typed.spec;
    let converts = spec
        .webhookdefinitions
        .iter()
        .any(|webhook| webhook.r#type == "ConversionWebhook" || !webhook.conversion_crds.is_empty());
    let alone = spec.install_modes.iter().all(|mode| mode.supported == (mode.r#type == "AllNamespaces"));
    if converts && !alone {
        let message =
            "unsupported install modes: a conversion webhook requires only `AllNamespaces` to be supported";
        reporter.field(&csv.object, &Path::ROOT.field("spec.installModes"), message);
    }
}

use crate::prelude::*;
use olm_model::Annotations;

pub(crate) static RULE: Rule = Rule {
    id: "olmv1-package-missing",
    suite: Suite::Olmv1,
    severity: Severity::Error,
    what: "`metadata/annotations.yaml` does not set the package name.",
    impacts: &[Impact::OlmV1Rejects],
    help: "set the annotation `operators.operatorframework.io.bundle.package.v1` to the name of the package",
    sources: &[Source::symbols(
        Project::OperatorController,
        "internal/operator-controller/rukpak/render/registryv1/validators/validator.go",
        &["CheckPackageNameNotEmpty"],
    )
    .since("1.3")],
    check: Check::Bundle(check),
};

fn check(context: &Context<'_>, reporter: &mut Reporter<'_>) {
    let Some(annotations) = context.bundle.annotations() else { return };
    if annotations.get(Annotations::PACKAGE).is_none_or(str::is_empty) {
        reporter.path("metadata/annotations.yaml", "missing package name");
    }
}

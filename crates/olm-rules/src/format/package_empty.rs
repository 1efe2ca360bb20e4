use crate::prelude::*;
use olm_model::Annotations;

pub(crate) static RULE: Rule = Rule {
    id: "package-empty",
    suite: Suite::Bundle,
    severity: Severity::Warning,
    what: "The package name in `metadata/annotations.yaml` is empty.",
    impacts: &[Impact::Specific("The bundle cannot be added to a catalog.")],
    help: "set the annotation to the name of the package",
    sources: &[
        Source::symbols(Project::OperatorRegistry, "alpha/declcfg/declcfg.go", &["Package"]).since("1.19")
    ],
    check: Check::Bundle(check),
};

fn check(context: &Context<'_>, reporter: &mut Reporter<'_>) {
    let Some(annotations) = context.bundle.annotations() else { return };
    if annotations.get(Annotations::PACKAGE) == Some("") {
        reporter.annotation(&annotations, Annotations::PACKAGE, "empty package name".to_owned());
    }
}

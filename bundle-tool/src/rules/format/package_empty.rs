use crate::model::Annotations;
use crate::report::{Severity, Suite};
use crate::rules::{Check, Context, Reporter, Rule};

pub(super) static RULE: Rule = Rule {
    id: "package-empty",
    suite: Suite::Bundle,
    severity: Severity::Warning,
    what: "The package's name in `metadata/annotations.yaml` is empty.",
    why: "No catalogue can hold a package without a name.",
    help: "write the package's name",
    source: "operator-registry, alpha/declcfg (olm.package)",
    check: Check::Bundle(check),
};

fn check(context: &Context<'_>, reporter: &mut Reporter<'_>) {
    let Some(annotations) = context.bundle.annotations() else { return };
    if annotations.get(Annotations::PACKAGE) == Some("") {
        super::report_annotation(
            &annotations,
            Annotations::PACKAGE,
            reporter,
            "the package has no name".to_owned(),
        );
    }
}

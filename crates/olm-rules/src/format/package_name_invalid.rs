use crate::kubernetes::names;
use crate::prelude::*;
use olm_model::Annotations;

pub(crate) static RULE: Rule = Rule {
    id: "package-name-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "The package name in `metadata/annotations.yaml` is not a DNS label: it has uppercase letters, `_` or dots, or more than 63 characters.",
    impacts: &[Impact::OpmRejects],
    help: "use at most 63 lowercase letters, digits and `-`, with a letter or digit at both ends",
    sources: &[Source::file(Project::OperatorRegistry, "alpha/declcfg/declcfg_to_model.go").since("1.41")],
    check: Check::Bundle(check),
};

fn check(context: &Context<'_>, reporter: &mut Reporter<'_>) {
    let Some(annotations) = context.bundle.annotations() else { return };
    // That it is missing is reported by other rules.
    let Some(name) = annotations.get(Annotations::PACKAGE).filter(|name| !name.is_empty()) else { return };
    if names::dns_label(name).is_err() {
        let message = format!("invalid package name `{name}`: expected a DNS label");
        reporter.annotation(&annotations, Annotations::PACKAGE, message);
    }
}

use crate::model::yaml::Path;
use crate::report::{Impact, Project, Severity, Source, Suite};
use crate::rules::kubernetes::names;
use crate::rules::{Check, Crd, Reporter, Rule};

pub(super) static RULE: Rule = Rule {
    id: "crd-singular-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "The singular name of a CRD is not a DNS label.",
    impacts: &[Impact::CrdRejected],
    help: "remove spec.names.singular, which defaults to the lowercased kind, or correct it",
    sources: &[Source::symbols(
        Project::ApiextensionsApiserver,
        "pkg/apis/apiextensions/validation/validation.go",
        &["ValidateCustomResourceDefinitionNames"],
    )],
    check: Check::Crd(check),
};

fn check(crd: &Crd<'_>, reporter: &mut Reporter<'_>) {
    let singular = crd.text(&["names", "singular"]);
    // If it is missing, the API server derives it from the kind.
    if !singular.is_empty()
        && let Err(problem) = names::dns_1035_label(singular)
    {
        reporter.field(&crd.object, &Path::ROOT.field("spec.names.singular"), problem);
    }
}

use crate::model::yaml::Path;
use crate::report::{Severity, Suite};
use crate::rules::kubernetes::names;
use crate::rules::{Check, Crd, Reporter, Rule};

pub(super) static RULE: Rule = Rule {
    id: "crd-singular-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "The singular name of a CRD is no DNS label.",
    why: "The API server refuses the CRD.",
    help: "mend spec.names.singular",
    source: "apiextensions-apiserver, pkg/apis/apiextensions/validation/validation.go (ValidateCustomResourceDefinitionNames)",
    check: Check::Crd(check),
};

fn check(crd: &Crd<'_>, reporter: &mut Reporter<'_>) {
    let singular = crd.text(&["names", "singular"]);
    // Where it is missing, the API server makes it from the kind.
    if !singular.is_empty()
        && let Err(problem) = names::dns_1035_label(singular)
    {
        reporter.field(&crd.object, &Path::ROOT.field("spec.names.singular"), problem);
    }
}

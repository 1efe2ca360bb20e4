use crate::model::yaml::Path;
use crate::report::{Severity, Suite};
use crate::rules::kubernetes::names;
use crate::rules::{Check, Crd, Reporter, Rule};

pub(super) static RULE: Rule = Rule {
    id: "crd-list-kind-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "The kind of a CRD's lists is, in lower case, no DNS label, or it is the same as the kind.",
    why: "The API server refuses the CRD.",
    help: "mend spec.names.listKind",
    source: "apiextensions-apiserver, pkg/apis/apiextensions/validation/validation.go (ValidateCustomResourceDefinitionNames)",
    check: Check::Crd(check),
};

fn check(crd: &Crd<'_>, reporter: &mut Reporter<'_>) {
    let kind = crd.text(&["names", "kind"]);
    let written = crd.text(&["names", "listKind"]);
    if names::dns_1035_label(&kind.to_lowercase()).is_err() && written.is_empty() {
        return;
    }
    // Where it is missing, the API server makes it from the kind.
    let derived = if written.is_empty() { format!("{kind}List") } else { written.to_owned() };
    let problem = if written == kind && !kind.is_empty() {
        format!("kind and listKind are both '{kind}'")
    } else if let Err(problem) = names::dns_1035_label(&derived.to_lowercase()) {
        format!("{problem} (the listKind '{derived}' may be of mixed case)")
    } else {
        return;
    };
    reporter.field(&crd.object, &Path::ROOT.field("spec.names.listKind"), problem);
}

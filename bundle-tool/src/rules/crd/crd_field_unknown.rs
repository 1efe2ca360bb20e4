use super::shape;
use crate::report::{Severity, Suite};
use crate::rules::{Check, Crd, Reporter, Rule};

pub(super) static RULE: Rule = Rule {
    id: "crd-field-unknown",
    suite: Suite::Bundle,
    severity: Severity::Warning,
    what: "A CRD has a field, outside of its schemas, that Kubernetes does not know.",
    why: "The field is dropped: what it asks for does not happen.",
    help: "remove the field, or mend its name",
    source: "apiextensions-apiserver, pkg/apis/apiextensions/v1/types.go",
    check: Check::Crd(check),
};

fn check(crd: &Crd<'_>, reporter: &mut Reporter<'_>) {
    let Ok(decoded) = crd.object.decode::<shape::Crd>() else { return };
    for field in decoded.unknown {
        reporter.at(crd.object.file, &field.path, field.position, "Kubernetes does not know this field");
    }
}

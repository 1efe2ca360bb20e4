use super::shape;
use crate::report::{Severity, Suite};
use crate::rules::{Check, Crd, Reporter, Rule};

pub(super) static RULE: Rule = Rule {
    id: "crd-field-type",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A field of a CRD, outside of its schemas, has a value of the wrong type.",
    why: "The API server cannot read the CRD.",
    help: "give the field a value of its type",
    source: "apiextensions-apiserver, pkg/apis/apiextensions/v1/types.go",
    check: Check::Crd(check),
};

fn check(crd: &Crd<'_>, reporter: &mut Reporter<'_>) {
    if let Err(error) = crd.object.decode::<shape::Crd>() {
        reporter.at(crd.object.file, &error.path, error.position, error.message);
    }
}

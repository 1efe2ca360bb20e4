use super::fields;
use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "crd-field-type",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A field of a CRD, outside of its schemas, has a value of the wrong type.",
    impacts: &[Impact::CrdRejected],
    help: "set the field to a value of the expected type",
    sources: &[
        Source::file(Project::ApiextensionsApiserver, "pkg/apis/apiextensions/v1/types.go").since("1.16")
    ],
    check: Check::Crd(check),
};

fn check(crd: &Crd<'_>, reporter: &mut Reporter<'_>) {
    if let Err(error) = crd.object.decode::<fields::Crd>() {
        reporter.at(crd.object.file, &error.path, error.position, error.message);
    }
}

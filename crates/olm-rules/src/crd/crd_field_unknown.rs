use super::fields;
use crate::prelude::*;
use crate::reporter::{rename, unknown_field};

pub(crate) static RULE: Rule = Rule {
    id: "crd-field-unknown",
    suite: Suite::Bundle,
    severity: Severity::Warning,
    what: "A CRD has a field, outside of its schemas, that Kubernetes does not declare.",
    impacts: &[Impact::FieldDropped],
    help: "remove the field, or correct its name or indentation",
    sources: &[
        Source::file(Project::ApiextensionsApiserver, "pkg/apis/apiextensions/v1/types.go").since("1.16")
    ],
    check: Check::Crd(check),
};

fn check(crd: &Crd<'_>, reporter: &mut Reporter<'_>) {
    let Ok(decoded) = crd.object.decode::<fields::Crd>() else { return };
    for field in decoded.unknown {
        if reporter.skip_if_full() {
            continue;
        }
        reporter.fix(rename(&field));
        reporter.at(crd.object.file, &field.path, field.position, unknown_field(&field));
    }
}

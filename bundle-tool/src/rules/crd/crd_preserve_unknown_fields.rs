use crate::model::yaml::{Path, Value};
use crate::report::{Severity, Suite};
use crate::rules::{Check, Crd, Reporter, Rule};

pub(super) static RULE: Rule = Rule {
    id: "crd-preserve-unknown-fields",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "`spec.preserveUnknownFields` is true.",
    why: "The API server refuses the CRD.",
    help: "remove it, and set x-kubernetes-preserve-unknown-fields: true where the schema needs it",
    source: "apiextensions-apiserver, pkg/apis/apiextensions/validation/validation.go (validatePreserveUnknownFields)",
    check: Check::Crd(check),
};

fn check(crd: &Crd<'_>, reporter: &mut Reporter<'_>) {
    if crd.spec.get("preserveUnknownFields").and_then(Value::as_bool) == Some(true) {
        let path = Path::ROOT.field("spec.preserveUnknownFields");
        reporter.field(&crd.object, &path, "new CRDs may not preserve unknown fields as a whole");
    }
}

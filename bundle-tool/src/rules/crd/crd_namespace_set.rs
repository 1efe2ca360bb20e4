use crate::model::yaml::Path;
use crate::report::{Severity, Suite};
use crate::rules::{Check, Crd, Reporter, Rule};

pub(super) static RULE: Rule = Rule {
    id: "crd-namespace-set",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A CRD is given a namespace.",
    why: "CRDs belong to no namespace: `operator-sdk bundle validate` refuses the bundle.",
    help: "remove metadata.namespace",
    source: "apimachinery, pkg/api/validation/objectmeta.go (ValidateObjectMetaAccessor)",
    check: Check::Crd(check),
};

fn check(crd: &Crd<'_>, reporter: &mut Reporter<'_>) {
    if !crd.object.namespace().is_empty() {
        let path = Path::ROOT.field("metadata.namespace");
        reporter.field(&crd.object, &path, "a CustomResourceDefinition has no namespace");
    }
}

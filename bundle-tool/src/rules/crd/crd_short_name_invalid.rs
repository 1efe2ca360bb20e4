use crate::model::yaml::{Path, Value};
use crate::report::{Severity, Suite};
use crate::rules::kubernetes::names;
use crate::rules::{Check, Crd, Reporter, Rule};

pub(super) static RULE: Rule = Rule {
    id: "crd-short-name-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A short name of a CRD is no DNS label.",
    why: "The API server refuses the CRD.",
    help: "mend spec.names.shortNames",
    source: "apiextensions-apiserver, pkg/apis/apiextensions/validation/validation.go (ValidateCustomResourceDefinitionNames)",
    check: Check::Crd(check),
};

fn check(crd: &Crd<'_>, reporter: &mut Reporter<'_>) {
    let list = Path::ROOT.field("spec.names.shortNames");
    let names = crd.spec.dig(&["names", "shortNames"]).into_iter().flat_map(Value::items);
    for (index, name) in names.enumerate() {
        if let Err(problem) = names::dns_1035_label(name.as_str().unwrap_or_default()) {
            reporter.field(&crd.object, &list.index(index), problem);
        }
    }
}

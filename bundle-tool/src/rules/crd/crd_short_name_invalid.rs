use crate::model::yaml::{Path, Value};
use crate::report::{Impact, Project, Severity, Source, Suite};
use crate::rules::kubernetes::names;
use crate::rules::{Check, Crd, Reporter, Rule};

pub(super) static RULE: Rule = Rule {
    id: "crd-short-name-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A short name of a CRD is not a DNS label.",
    impacts: &[Impact::CrdRejected],
    help: "set each entry of spec.names.shortNames to lowercase letters, digits and `-`",
    sources: &[Source::symbols(
        Project::ApiextensionsApiserver,
        "pkg/apis/apiextensions/validation/validation.go",
        &["ValidateCustomResourceDefinitionNames"],
    )],
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

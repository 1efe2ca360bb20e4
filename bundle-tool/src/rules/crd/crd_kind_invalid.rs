use crate::model::yaml::Path;
use crate::report::{Severity, Suite};
use crate::rules::kubernetes::names;
use crate::rules::{Check, Crd, Reporter, Rule};

pub(super) static RULE: Rule = Rule {
    id: "crd-kind-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "The kind of a CRD is missing, or is, in lower case, no DNS label.",
    why: "The API server refuses the CRD.",
    help: "mend spec.names.kind",
    source: "apiextensions-apiserver, pkg/apis/apiextensions/validation/validation.go (ValidateCustomResourceDefinitionNames)",
    check: Check::Crd(check),
};

fn check(crd: &Crd<'_>, reporter: &mut Reporter<'_>) {
    let kind = crd.text(&["names", "kind"]);
    let problem = if kind.is_empty() {
        "the kind is missing".to_owned()
    } else if let Err(problem) = names::dns_1035_label(&kind.to_lowercase()) {
        format!("{problem} (the kind '{kind}' may be of mixed case)")
    } else {
        return;
    };
    reporter.field(&crd.object, &Path::ROOT.field("spec.names.kind"), problem);
}

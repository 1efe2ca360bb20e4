use crate::model::yaml::Path;
use crate::report::{Severity, Suite};
use crate::rules::kubernetes::names;
use crate::rules::{Check, Crd, Reporter, Rule};

pub(super) static RULE: Rule = Rule {
    id: "crd-group-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "The group of a CRD is missing, or is no DNS name with at least one dot.",
    why: "The API server refuses the CRD.",
    help: "set spec.group to a domain of yours, like cache.example.com",
    source: "apiextensions-apiserver, pkg/apis/apiextensions/validation/validation.go (validateCustomResourceDefinitionSpec)",
    check: Check::Crd(check),
};

fn check(crd: &Crd<'_>, reporter: &mut Reporter<'_>) {
    let group = crd.text(&["group"]);
    let problem = if group.is_empty() {
        "the group is missing".to_owned()
    } else if let Err(problem) = names::dns_subdomain(group) {
        problem
    } else if !group.contains('.') {
        format!("the group '{group}' has no dot; it must be a domain")
    } else {
        return;
    };
    reporter.field(&crd.object, &Path::ROOT.field("spec.group"), problem);
}

use crate::kubernetes::names;
use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "crd-group-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "The group of a CRD is missing, or is not a DNS name with at least one dot.",
    impacts: &[Impact::CrdRejected],
    help: "set spec.group to a domain that you own, such as `cache.example.com`",
    sources: &[Source::symbols(
        Project::ApiextensionsApiserver,
        "pkg/apis/apiextensions/validation/validation.go",
        &["validateCustomResourceDefinitionSpec"],
    )
    .since("1.16")],
    check: Check::Crd(check),
};

fn check(crd: &Crd<'_>, reporter: &mut Reporter<'_>) {
    let group = crd.string(&["group"]);
    let problem = if group.is_empty() {
        "missing required field `spec.group`".to_owned()
    } else if let Err(problem) = names::dns_subdomain(group) {
        problem
    } else if !group.contains('.') {
        format!("invalid group `{group}`: must be a domain with at least one dot")
    } else {
        return;
    };
    reporter.field(&crd.object, &Path::ROOT.field("spec.group"), problem);
}

use crate::model::yaml::Path;
use crate::report::{Impact, Project, Severity, Source, Suite};
use crate::rules::kubernetes::names;
use crate::rules::{Check, Crd, Reporter, Rule};

pub(super) static RULE: Rule = Rule {
    id: "crd-plural-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "The plural name of a CRD is missing, or is not a DNS label.",
    impacts: &[Impact::CrdRejected],
    help: "set spec.names.plural to the plural of the kind in lowercase, such as `memcacheds`",
    sources: &[Source::symbols(
        Project::ApiextensionsApiserver,
        "pkg/apis/apiextensions/validation/validation.go",
        &["ValidateCustomResourceDefinitionNames"],
    )],
    check: Check::Crd(check),
};

fn check(crd: &Crd<'_>, reporter: &mut Reporter<'_>) {
    let plural = crd.text(&["names", "plural"]);
    let problem = if plural.is_empty() {
        "missing required field `spec.names.plural`".to_owned()
    } else if let Err(problem) = names::dns_1035_label(plural) {
        problem
    } else {
        return;
    };
    reporter.field(&crd.object, &Path::ROOT.field("spec.names.plural"), problem);
}

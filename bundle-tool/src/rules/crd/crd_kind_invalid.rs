use crate::model::yaml::Path;
use crate::report::{Impact, Project, Severity, Source, Suite};
use crate::rules::kubernetes::names;
use crate::rules::{Check, Crd, Reporter, Rule};

pub(super) static RULE: Rule = Rule {
    id: "crd-kind-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "The kind of a CRD is missing, or is not a DNS label when lowercased.",
    impacts: &[Impact::CrdRejected],
    help: "set spec.names.kind to a CamelCase name of letters and digits, such as `Memcached`",
    sources: &[Source::symbols(
        Project::ApiextensionsApiserver,
        "pkg/apis/apiextensions/validation/validation.go",
        &["ValidateCustomResourceDefinitionNames"],
    )],
    check: Check::Crd(check),
};

fn check(crd: &Crd<'_>, reporter: &mut Reporter<'_>) {
    let kind = crd.text(&["names", "kind"]);
    let problem = if kind.is_empty() {
        "missing required field `spec.names.kind`".to_owned()
    } else if let Err(problem) = names::kind("kind", kind) {
        problem
    } else {
        return;
    };
    reporter.field(&crd.object, &Path::ROOT.field("spec.names.kind"), problem);
}

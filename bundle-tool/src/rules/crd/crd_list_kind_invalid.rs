use crate::model::yaml::Path;
use crate::report::{Impact, Project, Severity, Source, Suite};
use crate::rules::kubernetes::names;
use crate::rules::{Check, Crd, Reporter, Rule};

pub(super) static RULE: Rule = Rule {
    id: "crd-list-kind-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "The list kind of a CRD is not a DNS label when lowercased, or equals the kind.",
    impacts: &[Impact::CrdRejected],
    help: "remove spec.names.listKind, which defaults to the kind and `List`, or correct it",
    sources: &[Source::symbols(
        Project::ApiextensionsApiserver,
        "pkg/apis/apiextensions/validation/validation.go",
        &["ValidateCustomResourceDefinitionNames"],
    )],
    check: Check::Crd(check),
};

fn check(crd: &Crd<'_>, reporter: &mut Reporter<'_>) {
    let kind = crd.text(&["names", "kind"]);
    let written = crd.text(&["names", "listKind"]);
    if names::dns_1035_label(&kind.to_lowercase()).is_err() && written.is_empty() {
        return;
    }
    // If it is missing, the API server derives it from the kind.
    let derived = if written.is_empty() { format!("{kind}List") } else { written.to_owned() };
    let problem = if written == kind && !kind.is_empty() {
        format!("invalid listKind `{kind}`: must differ from `kind`")
    } else if let Err(problem) = names::kind("listKind", &derived) {
        problem
    } else {
        return;
    };
    reporter.field(&crd.object, &Path::ROOT.field("spec.names.listKind"), problem);
}

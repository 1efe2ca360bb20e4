use crate::kubernetes::names;
use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "crd-version-name-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "The name of a version of a CRD is missing, or is not a DNS label.",
    impacts: &[Impact::CrdRejected],
    help: "set the name of the version to a name like `v1` or `v1alpha1`",
    sources: &[Source::symbols(
        Project::ApiextensionsApiserver,
        "pkg/apis/apiextensions/validation/validation.go",
        &["validateCustomResourceDefinitionSpec"],
    )
    .since("1.16")],
    check: Check::Crd(check),
};

fn check(crd: &Crd<'_>, reporter: &mut Reporter<'_>) {
    let versions = Path::ROOT.field("spec.versions");
    for (index, version) in crd.versions.iter().enumerate() {
        if let Err(problem) = names::dns_1035_label(version.name()) {
            reporter.field(&crd.object, &versions.index(index).field("name"), problem);
        }
    }
}

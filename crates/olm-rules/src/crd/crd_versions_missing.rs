use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "crd-versions-missing",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A CRD has no versions.",
    impacts: &[Impact::CrdRejected],
    help: "add a version with `served: true`, `storage: true` and a schema to spec.versions",
    sources: &[Source::symbols(
        Project::ApiextensionsApiserver,
        "pkg/apis/apiextensions/validation/validation.go",
        &["validateCustomResourceDefinitionSpec"],
    )
    .since("1.16")],
    check: Check::Crd(check),
};

fn check(crd: &Crd<'_>, reporter: &mut Reporter<'_>) {
    if crd.versions.is_empty() {
        reporter.field(
            &crd.object,
            &Path::ROOT.field("spec.versions"),
            "missing versions: at least one is required",
        );
    }
}

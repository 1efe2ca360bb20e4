use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "crd-namespace-set",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A CRD has a namespace.",
    impacts: &[Impact::SdkRejects],
    help: "remove metadata.namespace: CRDs are cluster-scoped",
    sources: &[Source::symbols(
        Project::Apimachinery,
        "pkg/api/validation/objectmeta.go",
        &["ValidateObjectMetaAccessor"],
    )
    .since("1.16")],
    check: Check::Crd(check),
};

fn check(crd: &Crd<'_>, reporter: &mut Reporter<'_>) {
    if !crd.object.namespace().is_empty() {
        let path = Path::ROOT.field("metadata.namespace");
        reporter.fix(Fix::new(Safety::Safe, &path, Change::Remove));
        reporter.field(
            &crd.object,
            &path,
            "unexpected namespace: a `CustomResourceDefinition` is cluster-scoped",
        );
    }
}

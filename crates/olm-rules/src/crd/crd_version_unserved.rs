use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "crd-version-unserved",
    suite: Suite::Bundle,
    severity: Severity::Warning,
    what: "A CRD serves none of its versions.",
    impacts: &[Impact::Specific(
        "The API server accepts the CRD, but its objects cannot be read or written.",
    )],
    help: "set `served: true` for at least one version",
    sources: &[Source::file(Project::ApiextensionsApiserver, "pkg/apiserver/customresource_handler.go")
        .since("1.16")],
    check: Check::Crd(check),
};

fn check(crd: &Crd<'_>, reporter: &mut Reporter<'_>) {
    if !crd.versions.is_empty() && !crd.versions.iter().any(|version| version.flag("served")) {
        reporter.field(&crd.object, &Path::ROOT.field("spec.versions"), "no version sets `served: true`");
    }
}

use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "crd-storage-version",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A CRD does not mark exactly one version as the storage version.",
    impacts: &[Impact::CrdRejected],
    help: "set `storage: true` for one version and `storage: false` for all others",
    sources: &[Source::symbols(
        Project::ApiextensionsApiserver,
        "pkg/apis/apiextensions/validation/validation.go",
        &["validateCustomResourceDefinitionSpec"],
    )
    .since("1.16")],
    check: Check::Crd(check),
};

fn check(crd: &Crd<'_>, reporter: &mut Reporter<'_>) {
    let stored: Vec<_> =
        crd.versions.iter().filter(|version| version.flag("storage")).map(Version::name).collect();
    if crd.versions.is_empty() || stored.len() == 1 {
        return;
    }
    let message = if stored.is_empty() {
        "no version sets `storage: true`".to_owned()
    } else {
        format!("several versions set `storage: true`: {}", stored.join(", "))
    };
    reporter.field(&crd.object, &Path::ROOT.field("spec.versions"), message);
}

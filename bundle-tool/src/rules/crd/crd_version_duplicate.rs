use crate::rules::prelude::*;
use std::collections::HashSet;

pub(super) static RULE: Rule = Rule {
    id: "crd-version-duplicate",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "Two versions of a CRD have the same name.",
    impacts: &[Impact::CrdRejected],
    help: "remove or rename one of the versions",
    sources: &[Source::symbols(
        Project::ApiextensionsApiserver,
        "pkg/apis/apiextensions/validation/validation.go",
        &["validateCustomResourceDefinitionSpec"],
    )],
    check: Check::Crd(check),
};

fn check(crd: &Crd<'_>, reporter: &mut Reporter<'_>) {
    let versions = Path::ROOT.field("spec.versions");
    let mut seen = HashSet::new();
    for (index, version) in crd.versions.iter().enumerate() {
        if !seen.insert(version.name()) {
            let message = format!("duplicate version `{}`", version.name());
            reporter.field(&crd.object, &versions.index(index).field("name"), message);
        }
    }
}

use crate::prelude::*;
use std::collections::HashMap;

pub(crate) static RULE: Rule = Rule {
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
    )
    .since("1.16")],
    check: Check::Crd(check),
};

fn check(crd: &Crd<'_>, reporter: &mut Reporter<'_>) {
    let versions = Path::ROOT.field("spec.versions");
    let mut seen = HashMap::new();
    for (index, version) in crd.versions.iter().enumerate() {
        let first = *seen.entry(version.name()).or_insert(index);
        if first < index {
            let message = format!("duplicate version `{}`", version.name());
            reporter.field(&crd.object, &versions.index(index).field("name"), message);
            reporter.related(&crd.object, &versions.index(first).field("name"), "first defined here");
        }
    }
}

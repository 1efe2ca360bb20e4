use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "crd-schema-missing",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A version of a CRD has no schema.",
    impacts: &[Impact::CrdRejected],
    help: "add schema.openAPIV3Schema to the version",
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
        if version.schema.is_none() {
            let item = versions.index(index);
            let message = format!("missing schema of version `{}`", version.name());
            reporter.field(&crd.object, &item.field("schema.openAPIV3Schema"), message);
        }
    }
}

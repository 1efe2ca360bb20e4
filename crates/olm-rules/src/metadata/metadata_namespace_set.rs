use crate::prelude::*;
use olm_model::Object;
use olm_model::bundle::is_installable;

pub(crate) static RULE: Rule = Rule {
    id: "metadata-namespace-set",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "An object other than the CSV has a namespace.",
    impacts: &[
        Impact::SdkRejects,
        Impact::Specific(
            "OLM sets the namespace when it installs the operator, and ignores the written one.",
        ),
    ],
    help: "remove metadata.namespace",
    sources: &[
        Source::symbols(Project::OperatorSdk, "internal/registry/validate.go", &["validateObject"])
            .since("0.18"),
        Source::symbols(
            Project::Apimachinery,
            "pkg/api/validation/objectmeta.go",
            &["ValidateObjectMetaAccessor"],
        )
        .since("1.16"),
    ],
    check: Check::Object(check),
};

fn check(object: &Object<'_>, reporter: &mut Reporter<'_>) {
    // OLM also sets the namespace of the CSV, where any is accepted; crd-namespace-set validates CRDs.
    let validated_elsewhere = matches!(object.kind(), "ClusterServiceVersion" | "CustomResourceDefinition");
    if !validated_elsewhere && is_installable(object.kind()) && !object.namespace().is_empty() {
        let path = Path::ROOT.field("metadata.namespace");
        reporter.fix(Fix::new(Safety::Safe, &path, Change::Remove));
        reporter.field(
            object,
            &path,
            format!("unexpected namespace `{}`: OLM sets the namespace", object.namespace()),
        );
    }
}

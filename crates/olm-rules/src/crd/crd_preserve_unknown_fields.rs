use crate::prelude::*;
use kube_yaml::Value;

pub(crate) static RULE: Rule = Rule {
    id: "crd-preserve-unknown-fields",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A CRD sets `spec.preserveUnknownFields` to true.",
    impacts: &[Impact::CrdRejected],
    help: "remove spec.preserveUnknownFields, and set `x-kubernetes-preserve-unknown-fields: true` in the schema where it is needed",
    sources: &[Source::symbols(
        Project::ApiextensionsApiserver,
        "pkg/apis/apiextensions/validation/validation.go",
        &["validatePreserveUnknownFields"],
    )
    .since("1.16")],
    check: Check::Crd(check),
};

fn check(crd: &Crd<'_>, reporter: &mut Reporter<'_>) {
    if crd.spec.get("preserveUnknownFields").and_then(Value::as_bool) == Some(true) {
        let path = Path::ROOT.field("spec.preserveUnknownFields");
        reporter.field(
            &crd.object,
            &path,
            "unsupported value `true`: must be false in `apiextensions.k8s.io/v1`",
        );
    }
}

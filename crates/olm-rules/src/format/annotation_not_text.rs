use crate::prelude::*;
use kube_yaml::Kind;

pub(crate) static RULE: Rule = Rule {
    id: "annotation-not-text",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "An annotation in `metadata/annotations.yaml` is a list or a map.",
    impacts: &[
        Impact::SdkRejects,
        Impact::Specific("Annotations are a map of strings: the file cannot be decoded."),
    ],
    help: "set the annotation to a string",
    sources: &[Source::symbols(
        Project::OperatorRegistry,
        "pkg/lib/bundle/generate.go",
        &["AnnotationMetadata"],
    )
    .since("1.5")],
    check: Check::Bundle(check),
};

fn check(context: &Context<'_>, reporter: &mut Reporter<'_>) {
    let Some(annotations) = context.bundle.annotations() else { return };
    for (key, value) in annotations.values.entries() {
        if matches!(value.kind(), Kind::Array | Kind::Object) {
            let message =
                format!("invalid annotation `{}`: expected a string, found {}", key.text(), value.kind());
            reporter.annotation(&annotations, key.text(), message);
        }
    }
}

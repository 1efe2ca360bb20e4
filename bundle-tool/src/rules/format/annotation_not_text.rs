use crate::model::yaml::Kind;
use crate::report::{Severity, Suite};
use crate::rules::{Check, Context, Reporter, Rule};

pub(super) static RULE: Rule = Rule {
    id: "annotation-not-text",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "An annotation in `metadata/annotations.yaml` is a list or a map.",
    why: "Annotations are a map from text to text: with anything else in it no tool can read the file.",
    help: "write the annotation as text",
    source: "operator-registry, pkg/lib/bundle/generate.go (AnnotationMetadata)",
    check: Check::Bundle(check),
};

fn check(context: &Context<'_>, reporter: &mut Reporter<'_>) {
    let Some(annotations) = context.bundle.annotations() else { return };
    for (key, value) in annotations.values.entries() {
        if matches!(value.kind(), Kind::Array | Kind::Object) {
            let message = format!("the annotation `{}` is {}, where text belongs", key.text(), value.kind());
            super::report_annotation(&annotations, key.text(), reporter, message);
        }
    }
}

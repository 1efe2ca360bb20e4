use crate::model::Annotations;
use crate::report::{Severity, Suite};
use crate::rules::{Check, Context, Reporter, Rule};

pub(super) static RULE: Rule = Rule {
    id: "annotation-missing",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "`metadata/annotations.yaml` lacks one of the annotations that every bundle needs.",
    why: "operator-sdk refuses the bundle: without its media type, folders, package and channels it cannot be put into a catalogue.",
    help: "add the annotation",
    source: "operator-registry, pkg/lib/bundle/validate.go (validateAnnotations)",
    check: Check::Bundle(check),
};

const NEEDED: [&str; 5] = [
    Annotations::MEDIA_TYPE,
    Annotations::MANIFESTS,
    Annotations::METADATA,
    Annotations::PACKAGE,
    Annotations::CHANNELS,
];

fn check(context: &Context<'_>, reporter: &mut Reporter<'_>) {
    let Some(annotations) = context.bundle.annotations() else { return };
    for key in NEEDED {
        if annotations.values.get(key).is_none() {
            super::report_annotation(
                &annotations,
                key,
                reporter,
                format!("the annotation `{key}` is missing"),
            );
        }
    }
}

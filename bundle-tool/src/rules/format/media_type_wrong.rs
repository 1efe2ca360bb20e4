use crate::model::Annotations;
use crate::report::{Severity, Suite};
use crate::rules::{Check, Context, Reporter, Rule};

pub(super) static RULE: Rule = Rule {
    id: "media-type-wrong",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "The annotations name another media type than `registry+v1`, the type of bundles that hold a CSV.",
    why: "operator-sdk refuses the bundle, and OLM unpacks no other type.",
    help: "write registry+v1",
    source: "operator-registry, pkg/lib/bundle/validate.go (validateAnnotations)",
    check: Check::Bundle(check),
};

fn check(context: &Context<'_>, reporter: &mut Reporter<'_>) {
    let Some(annotations) = context.bundle.annotations() else { return };
    match annotations.get(Annotations::MEDIA_TYPE) {
        None | Some("registry+v1") => {}
        Some(other) => super::report_annotation(
            &annotations,
            Annotations::MEDIA_TYPE,
            reporter,
            format!("the media type is '{other}' instead of 'registry+v1'"),
        ),
    }
}

use super::annotations;
use crate::model::Annotations;
use crate::report::suggest::nearest;
use crate::rules::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "annotation-missing",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "`metadata/annotations.yaml` does not have one of the required annotations: media type, manifests and metadata directories, package and channels.",
    impacts: &[Impact::SdkRejects, Impact::Specific("The bundle cannot be added to a catalog.")],
    help: "add the annotation",
    sources: &[Source::symbols(
        Project::OperatorRegistry,
        "pkg/lib/bundle/validate.go",
        &["validateAnnotations"],
    )],
    check: Check::Bundle(check),
};

const REQUIRED: [&str; 5] = [
    Annotations::MEDIA_TYPE,
    Annotations::MANIFESTS,
    Annotations::METADATA,
    Annotations::PACKAGE,
    Annotations::CHANNELS,
];

fn check(context: &Context<'_>, reporter: &mut Reporter<'_>) {
    let Some(annotations) = context.bundle.annotations() else { return };
    for key in REQUIRED {
        if annotations.values.get(key).is_none() {
            annotations::report(&annotations, key, reporter, missing(key, &annotations));
        }
    }
}

/// Returns the message for a missing annotation, with a similar one that is present.
fn missing(key: &str, annotations: &Annotations<'_>) -> String {
    let present = annotations.values.entries().take(MAX_CANDIDATES).map(|(key, _)| key.text());
    match nearest(key, present) {
        Some(near) => format!("missing annotation `{key}`: a similar annotation exists: `{near}`"),
        None => format!("missing annotation `{key}`"),
    }
}

/// Maximum number of annotations that a missing one is compared with.
const MAX_CANDIDATES: usize = 100;

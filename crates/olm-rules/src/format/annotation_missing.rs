use crate::prelude::*;
use olm_model::Annotations;
use olm_model::file::{MANIFESTS, METADATA};
use olm_model::report::suggest::nearest;

pub(crate) static RULE: Rule = Rule {
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
    )
    .since("1.6")],
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
            if let Some((safety, value)) = derived(key, context) {
                reporter.fix_annotation(&annotations, safety, key, &value);
            }
            reporter.annotation(&annotations, key, missing(key, &annotations));
        }
    }
}

/// Returns the value that follows from the rest of the bundle.
fn derived(key: &str, context: &Context<'_>) -> Option<(Safety, String)> {
    match key {
        Annotations::MEDIA_TYPE if !context.csvs.is_empty() => Some((Safety::Safe, "registry+v1".to_owned())),
        Annotations::MANIFESTS => Some((Safety::Safe, MANIFESTS.to_owned())),
        Annotations::METADATA => Some((Safety::Safe, METADATA.to_owned())),
        // By convention, `name.vVERSION`.
        Annotations::PACKAGE => {
            let csv = context.csvs.first()?;
            let (package, _) = csv.object.name().split_once(".v")?;
            Some((Safety::Unsafe, package.to_owned()))
        }
        _ => None,
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

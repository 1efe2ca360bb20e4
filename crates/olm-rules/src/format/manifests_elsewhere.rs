use crate::prelude::*;
use olm_model::Annotations;

pub(crate) static RULE: Rule = Rule {
    id: "manifests-elsewhere",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "The annotations name a directory other than `manifests/` for the manifests.",
    impacts: &[Impact::SdkRejects, Impact::Specific("OLM and catalogs always read `manifests/`.")],
    help: "set the annotation to `manifests/`, and move the manifests there",
    sources: &[
        Source::symbols(
            Project::OperatorSdk,
            "internal/cmd/operator-sdk/bundle/validate/validate.go",
            &["getBundleDataFromDir"],
        )
        .since("1.1"),
        Source::symbols(Project::OperatorSdk, "internal/registry/labels.go", &["GetManifestsDir"])
            .since("0.19"),
    ],
    check: Check::Bundle(check),
};

fn check(context: &Context<'_>, reporter: &mut Reporter<'_>) {
    let Some(annotations) = context.bundle.annotations() else { return };
    let Some(directory) = annotations.get(Annotations::MANIFESTS) else { return };
    // operator-sdk also finds the manifests from the bundle's root, but fails if that contains no file.
    let at_root = || context.bundle.files.iter().any(|file| !file.path.contains('/'));
    if cleaned(directory).is_some_and(|parts| parts == ["manifests"] || parts.is_empty() && at_root()) {
        return;
    }
    let message = format!("unsupported manifests directory `{directory}`: must be `manifests/`");
    // The manifests are there, or another rule reports that there are none.
    if context.bundle.manifests().next().is_some() {
        reporter.fix_annotation(&annotations, Safety::Safe, Annotations::MANIFESTS, "manifests/");
    }
    reporter.annotation(&annotations, Annotations::MANIFESTS, message);
}

/// Returns the segments of a path without `.` and `..`; nothing if it leads out of the bundle.
fn cleaned(directory: &str) -> Option<Vec<&str>> {
    let mut parts = Vec::new();
    for part in directory.split('/').filter(|part| !part.is_empty() && *part != ".") {
        if part == ".." {
            parts.pop()?;
        } else {
            parts.push(part);
        }
    }
    Some(parts)
}

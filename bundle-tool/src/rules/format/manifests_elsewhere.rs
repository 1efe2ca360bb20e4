use crate::model::Annotations;
use crate::report::{Severity, Suite};
use crate::rules::{Check, Context, Reporter, Rule};

pub(super) static RULE: Rule = Rule {
    id: "manifests-elsewhere",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "The annotations name another folder than `manifests/` for the manifests.",
    why: "operator-sdk reads the manifests from the folder that is named, while OLM and its catalogues read `manifests/`.",
    help: "name manifests/ in the annotation, and put the manifests there",
    source: "operator-sdk, internal/cmd/operator-sdk/bundle/validate/validate.go (getBundleDataFromDir), internal/registry/labels.go (GetManifestsDir)",
    check: Check::Bundle(check),
};

fn check(context: &Context<'_>, reporter: &mut Reporter<'_>) {
    let Some(annotations) = context.bundle.annotations() else { return };
    let Some(folder) = annotations.get(Annotations::MANIFESTS) else { return };
    // In the bundle's own folder operator-sdk finds the manifests, too, but fails where no file lies beside them.
    let at_root = || context.bundle.files.iter().any(|file| !file.path.contains('/'));
    if cleaned(folder).is_some_and(|parts| parts == ["manifests"] || parts.is_empty() && at_root()) {
        return;
    }
    let message = format!("the manifests are said to be in '{folder}'");
    super::report_annotation(&annotations, Annotations::MANIFESTS, reporter, message);
}

/// The parts of a path without `.` and `..`; nothing where it leads out of the bundle.
fn cleaned(folder: &str) -> Option<Vec<&str>> {
    let mut parts = Vec::new();
    for part in folder.split('/').filter(|part| !part.is_empty() && *part != ".") {
        if part == ".." {
            parts.pop()?;
        } else {
            parts.push(part);
        }
    }
    Some(parts)
}

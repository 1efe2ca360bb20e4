use super::crds;
use crate::model::yaml::Path;
use crate::report::{Severity, Suite};
use crate::rules::{Check, Context, Reporter, Rule};

pub(super) static RULE: Rule = Rule {
    id: "crd-duplicate",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "Two files of the bundle hold a CRD of the same group, version and kind.",
    why: "operator-sdk refuses the bundle; OLM would install whichever comes last.",
    help: "keep one of the two, in v1",
    source: "operator-framework/api, pkg/validation/internal/bundle.go (validateOwnedCRDs)",
    check: Check::Bundle(check),
};

fn check(context: &Context<'_>, reporter: &mut Reporter<'_>) {
    let crds = crds::all(context);
    for (index, crd) in crds.iter().enumerate() {
        let same = |other: &&crds::Crd<'_>| {
            (other.group, other.kind) == (crd.group, crd.kind)
                && other
                    .versions
                    .iter()
                    .any(|version| crd.versions.iter().any(|mine| mine.name == version.name))
        };
        if let Some(other) = crds[..index].iter().find(same) {
            let message = format!(
                "a second CRD of {}/{}; the first is in {}",
                crd.group, crd.kind, other.object.file.path
            );
            reporter.field(&crd.object, &Path::ROOT, message);
        }
    }
}

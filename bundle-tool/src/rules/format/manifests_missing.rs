use crate::model::bundle::MANIFESTS;
use crate::report::{Severity, Suite};
use crate::rules::{Check, Context, Reporter, Rule};

pub(super) static RULE: Rule = Rule {
    id: "manifests-missing",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "The bundle has no folder `manifests/`, or nothing in it.",
    why: "OLM reads the CSV, the CRDs and all other objects from that folder.",
    help: "name the bundle's own folder, which holds manifests/ and metadata/, or generate the bundle",
    source: "operator-registry, docs/design/operator-bundle.md",
    check: Check::Bundle(check),
};

fn check(context: &Context<'_>, reporter: &mut Reporter<'_>) {
    if !context.bundle.files.iter().any(|file| file.path.starts_with(MANIFESTS)) {
        reporter.path("manifests", "the bundle has no manifests");
    }
}

use std::collections::HashMap;

use super::crds;
use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "crd-duplicate",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "Two files of the bundle contain a CRD with the same group, version and kind.",
    impacts: &[Impact::SdkRejects, Impact::Specific("OLM installs the last one.")],
    help: "keep one of the two CRDs, in `apiextensions.k8s.io/v1`",
    sources: &[Source::symbols(
        Project::OperatorFrameworkApi,
        "pkg/validation/internal/bundle.go",
        &["validateOwnedCRDs"],
    )
    .since("0.4")],
    check: Check::Bundle(check),
};

fn check(context: &Context<'_>, reporter: &mut Reporter<'_>) {
    let crds = crds::all(context);
    let mut first: HashMap<_, usize> = HashMap::new();
    for (index, crd) in crds.iter().enumerate() {
        let versions = crd.versions.keys().map(|version| (crd.group, crd.kind, *version));
        let others = versions.map(|version| *first.entry(version).or_insert(index));
        if let Some(other) = others.min().filter(|other| *other < index).map(|other| &crds[other]) {
            let message = format!(
                "duplicate CRD of `{}/{}`: the first one is in {}",
                crd.group, crd.kind, other.object.file.path
            );
            reporter.field(&crd.object, &Path::ROOT, message);
            reporter.related(&other.object, &Path::ROOT, "the first one is here");
        }
    }
}

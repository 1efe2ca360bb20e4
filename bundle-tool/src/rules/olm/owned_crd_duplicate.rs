use crate::rules::prelude::*;
use std::collections::BTreeSet;

pub(super) static RULE: Rule = Rule {
    id: "owned-crd-duplicate",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "The CSV lists the same version of an owned custom resource twice.",
    impacts: &[Impact::SdkRejects],
    help: "remove one of the entries",
    sources: &[Source::symbols(
        Project::OperatorFrameworkApi,
        "pkg/validation/internal/bundle.go",
        &["validateOwnedCRDs"],
    )],
    check: Check::Csv(check),
};

fn check(csv: &Csv<'_>, reporter: &mut Reporter<'_>) {
    let root = Path::ROOT;
    let list = root.field("spec.customresourcedefinitions.owned");
    let owned = &csv.typed.spec.customresourcedefinitions.owned;
    let mut seen = BTreeSet::new();
    for (index, entry) in owned.iter().enumerate() {
        if !seen.insert((&entry.name, &entry.version, &entry.kind)) {
            let message = format!("duplicate owned CRD `{}` version `{}`", entry.name, entry.version);
            reporter.field(&csv.object, &list.index(index), message);
        }
    }
}

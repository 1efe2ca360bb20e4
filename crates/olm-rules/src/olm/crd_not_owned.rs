use std::collections::BTreeSet;

use super::crds;
use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "crd-not-owned",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "The bundle contains a CRD that the CSV does not own.",
    impacts: &[Impact::SdkRejects, Impact::Specific("OLM creates the CRD, but no operator owns it.")],
    help: "add the CRD to spec.customresourcedefinitions.owned, or remove it from the bundle",
    sources: &[Source::symbols(
        Project::OperatorFrameworkApi,
        "pkg/validation/internal/bundle.go",
        &["validateOwnedCRDs"],
    )
    .since("0.2")],
    check: Check::Bundle(check),
};

fn check(context: &Context<'_>, reporter: &mut Reporter<'_>) {
    let Some(csv) = context.csvs.first() else { return };
    // csv-field-missing reports a missing spec.
    if csv.dig(&["spec"]).is_none() {
        return;
    }
    let owned = &csv.typed.spec.customresourcedefinitions.owned;
    let names: BTreeSet<_> = owned.iter().map(|entry| entry.name.as_str()).collect();
    let kinds: BTreeSet<_> = owned.iter().map(|entry| entry.kind.as_str()).collect();
    for crd in crds::all(context) {
        // owned-crd-missing reports an entry with errors.
        let meant = names.contains(crd.object.name()) || kinds.contains(crd.kind);
        if !meant && !crd.versions.is_empty() {
            let message = format!("CRD `{}` is not owned by the CSV", crd.object.name());
            reporter.field(&crd.object, &Path::ROOT, message);
        }
    }
}

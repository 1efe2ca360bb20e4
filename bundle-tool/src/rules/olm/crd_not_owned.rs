use super::crds;
use crate::model::csv::CrdDescription;
use crate::model::yaml::Path;
use crate::report::{Severity, Suite};
use crate::rules::{Check, Context, Reporter, Rule};

pub(super) static RULE: Rule = Rule {
    id: "crd-not-owned",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "The bundle has a CRD that the CSV does not own.",
    why: "operator-sdk refuses the bundle: OLM creates the CRD, but nobody is responsible for it.",
    help: "list the CRD in spec.customresourcedefinitions.owned, or take it out of the bundle",
    source: "operator-framework/api, pkg/validation/internal/bundle.go (validateOwnedCRDs)",
    check: Check::Bundle(check),
};

fn check(context: &Context<'_>, reporter: &mut Reporter<'_>) {
    let Some(csv) = context.csvs.first() else { return };
    // Without a spec, csv-field-missing says what is wrong.
    if csv.object.root.get("spec").is_none() {
        return;
    }
    let owned = &csv.typed.spec.customresourcedefinitions.owned;
    for crd in crds::all(context) {
        // An entry that is nearly right is owned-crd-missing's.
        let meant = |entry: &CrdDescription| entry.name == crd.object.name() || entry.kind == crd.kind;
        if !owned.iter().any(meant) && !crd.versions.is_empty() {
            let message = format!("the CSV does not own '{}'", crd.object.name());
            reporter.field(&crd.object, &Path::ROOT, message);
        }
    }
}

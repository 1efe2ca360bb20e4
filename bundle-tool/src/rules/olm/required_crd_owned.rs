use crate::model::csv::CrdDescription;
use crate::model::yaml::Path;
use crate::report::{Severity, Suite};
use crate::rules::{Check, Csv, Reporter, Rule};

pub(super) static RULE: Rule = Rule {
    id: "required-crd-owned",
    suite: Suite::Bundle,
    severity: Severity::Warning,
    what: "The CSV requires a custom resource that it owns too.",
    why: "The bundle then depends on itself: a catalogue may ask for another operator that provides the API.",
    help: "take the entry out of required",
    source: "operator-lifecycle-manager, doc/design/building-your-csv.md",
    check: Check::Csv(check),
};

fn check(csv: &Csv<'_>, reporter: &mut Reporter<'_>) {
    let root = Path::ROOT;
    let list = root.field("spec.customresourcedefinitions.required");
    let definitions = &csv.typed.spec.customresourcedefinitions;
    for (index, required) in definitions.required.iter().enumerate() {
        let same =
            |owned: &CrdDescription| (&owned.name, &owned.version) == (&required.name, &required.version);
        if definitions.owned.iter().any(same) {
            reporter.field(&csv.object, &list.index(index), format!("'{}' is owned as well", required.name));
        }
    }
}

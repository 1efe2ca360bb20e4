use crate::prelude::*;
use std::collections::BTreeMap;

pub(crate) static RULE: Rule = Rule {
    id: "required-crd-owned",
    suite: Suite::Bundle,
    severity: Severity::Warning,
    what: "The CSV requires a custom resource that it also owns.",
    impacts: &[Impact::Specific(
        "The bundle depends on itself, and a catalog may require another operator that provides the API.",
    )],
    help: "remove the entry from spec.customresourcedefinitions.required",
    sources: &[
        Source::file(Project::OperatorLifecycleManager, "doc/design/building-your-csv.md").since("0.14")
    ],
    check: Check::Csv(check),
};

fn check(csv: &Csv<'_>, reporter: &mut Reporter<'_>) {
    let root = Path::ROOT;
    let list = root.field("spec.customresourcedefinitions.required");
    let definitions = &csv.typed.spec.customresourcedefinitions;
    let owned = root.field("spec.customresourcedefinitions.owned");
    let entries = definitions.owned.iter().enumerate();
    let entries: BTreeMap<_, _> =
        entries.map(|(index, entry)| ((&entry.name, &entry.version), index)).collect();
    for (index, required) in definitions.required.iter().enumerate() {
        if let Some(&first) = entries.get(&(&required.name, &required.version)) {
            reporter.field(
                &csv.object,
                &list.index(index),
                format!("required CRD `{}` is also owned", required.name),
            );
            reporter.related(&csv.object, &owned.index(first), "owned here");
        }
    }
}

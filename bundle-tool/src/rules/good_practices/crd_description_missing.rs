use crate::model::yaml::Path;
use crate::report::{Severity, Suite};
use crate::rules::{Check, Csv, Reporter, Rule};

pub(super) static RULE: Rule = Rule {
    id: "crd-description-missing",
    suite: Suite::GoodPractices,
    severity: Severity::Warning,
    what: "The CSV says nothing about a custom resource that it owns or requires.",
    why: "People who look at the operator in a console do not learn what the resource is for.",
    help: "write its description",
    source: "operator-framework/api, pkg/validation/internal/good_practices.go (validateCrdDescriptions)",
    check: Check::Csv(check),
};

fn check(csv: &Csv<'_>, reporter: &mut Reporter<'_>) {
    let root = Path::ROOT;
    let definitions = root.field("spec.customresourcedefinitions");
    let typed = &csv.typed.spec.customresourcedefinitions;
    for (role, crds) in [("owned", &typed.owned), ("required", &typed.required)] {
        let list = definitions.field(role);
        for (index, crd) in crds.iter().enumerate().filter(|(_, crd)| crd.description.is_empty()) {
            let entry = list.index(index);
            let message = format!("'{}' has no description", crd.name);
            reporter.field(&csv.object, &entry.field("description"), message);
        }
    }
}

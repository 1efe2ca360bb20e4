use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "crd-description-missing",
    suite: Suite::GoodPractices,
    severity: Severity::Warning,
    what: "The CSV does not describe a custom resource that it owns or requires.",
    impacts: &[Impact::Specific("Consoles show no description of the resource.")],
    help: "set description to what the custom resource is for",
    sources: &[Source::symbols(
        Project::OperatorFrameworkApi,
        "pkg/validation/internal/good_practices.go",
        &["validateCrdDescriptions"],
    )
    .since("0.15")],
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
            let message = format!("missing description of `{}`", crd.name);
            reporter.field(&csv.object, &entry.field("description"), message);
        }
    }
}

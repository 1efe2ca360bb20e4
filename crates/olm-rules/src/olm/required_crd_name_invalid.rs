use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "required-crd-name-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "The CSV requires a custom resource whose name is not `<plural>.<group>`.",
    impacts: &[
        Impact::OpmRejects,
        Impact::Specific("OLM cannot derive the group from the name, and the CSV does not progress."),
    ],
    help: "set name to the full name of the CRD",
    sources: &[
        Source::symbols(
            Project::OperatorLifecycleManager,
            "pkg/controller/operators/olm/labeler.go",
            &["apiSurfaceOfCSV"],
        )
        .since("0.14"),
        Source::symbols(Project::OperatorRegistry, "pkg/registry/bundle.go", &["RequiredAPIs"]).since("1.0"),
    ],
    check: Check::Csv(check),
};

fn check(csv: &Csv<'_>, reporter: &mut Reporter<'_>) {
    let root = Path::ROOT;
    let list = root.field("spec.customresourcedefinitions.required");
    for (index, required) in csv.typed.spec.customresourcedefinitions.required.iter().enumerate() {
        if !required.name.contains('.') {
            let entry = list.index(index);
            let message = format!("invalid CRD name `{}`: must be `<plural>.<group>`", required.name);
            reporter.field(&csv.object, &entry.field("name"), message);
        }
    }
}

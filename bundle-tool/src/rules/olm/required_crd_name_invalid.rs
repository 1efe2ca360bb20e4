use crate::model::yaml::Path;
use crate::report::{Severity, Suite};
use crate::rules::{Check, Csv, Reporter, Rule};

pub(super) static RULE: Rule = Rule {
    id: "required-crd-name-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "The CSV requires a custom resource whose name is not PLURAL.GROUP.",
    why: "OLM cannot tell the API from it and leaves the CSV where it is; catalogues refuse the bundle.",
    help: "write the CRD's full name",
    source: "operator-lifecycle-manager, pkg/controller/operators/olm/labeler.go (apiSurfaceOfCSV); operator-registry, pkg/registry/bundle.go (RequiredAPIs)",
    check: Check::Csv(check),
};

fn check(csv: &Csv<'_>, reporter: &mut Reporter<'_>) {
    let root = Path::ROOT;
    let list = root.field("spec.customresourcedefinitions.required");
    for (index, required) in csv.typed.spec.customresourcedefinitions.required.iter().enumerate() {
        if !required.name.contains('.') {
            let entry = list.index(index);
            let message = format!("'{}' is no name of a CRD, which is PLURAL.GROUP", required.name);
            reporter.field(&csv.object, &entry.field("name"), message);
        }
    }
}

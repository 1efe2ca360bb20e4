use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "required-api-incomplete",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "An API that the CSV requires, in `spec.nativeAPIs`, `apiservicedefinitions.required` or `customresourcedefinitions.required`, has no version or no kind.",
    impacts: &[Impact::CsvPending],
    help: "set the version and the kind of the API, or remove the entry",
    sources: &[Source::file(
        Project::OperatorLifecycleManager,
        "pkg/controller/operators/olm/requirements.go",
    )
    .since("0.14")],
    check: Check::Csv(check),
};

fn check(csv: &Csv<'_>, reporter: &mut Reporter<'_>) {
    let root = Path::ROOT;
    let spec = &csv.typed.spec;
    let mut missing = |list: &Path<'_>, index: usize, field: &str, value: &str| {
        if value.is_empty() {
            let message = format!("missing required field `{field}`");
            reporter.field(&csv.object, &list.index(index).field(field), message);
        }
    };
    let list = root.field("spec.nativeAPIs");
    for (index, api) in spec.native_apis.iter().enumerate() {
        missing(&list, index, "version", &api.version);
        missing(&list, index, "kind", &api.kind);
    }
    let list = root.field("spec.apiservicedefinitions.required");
    for (index, api) in spec.apiservicedefinitions.required.iter().enumerate() {
        missing(&list, index, "version", &api.version);
        missing(&list, index, "kind", &api.kind);
    }
    // The kind of a required CRD is not looked at.
    let list = root.field("spec.customresourcedefinitions.required");
    for (index, crd) in spec.customresourcedefinitions.required.iter().enumerate() {
        missing(&list, index, "version", &crd.version);
    }
}

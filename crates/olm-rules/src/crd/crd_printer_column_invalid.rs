use crate::prelude::*;
use kube_yaml::Value;
use olm_model::report::suggest::{alternatives, unknown as suggest_value};

pub(crate) static RULE: Rule = Rule {
    id: "crd-printer-column-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A printer column has no name, or its type, format or JSON path is missing or invalid.",
    impacts: &[Impact::CrdRejected],
    help: "set name, type (`boolean`, `date`, `integer`, `number` or `string`) and a jsonPath that starts with a dot",
    sources: &[Source::symbols(
        Project::ApiextensionsApiserver,
        "pkg/apis/apiextensions/validation/validation.go",
        &["ValidateCustomResourceColumnDefinition"],
    )
    .since("1.16")],
    check: Check::Crd(check),
};

const TYPES: [&str; 5] = ["boolean", "date", "integer", "number", "string"];
const FORMATS: [&str; 8] = ["byte", "date", "date-time", "double", "float", "int32", "int64", "password"];

fn check(crd: &Crd<'_>, reporter: &mut Reporter<'_>) {
    let versions = Path::ROOT.field("spec.versions");
    for (index, version) in crd.versions.iter().enumerate() {
        let item = versions.index(index);
        let list = item.field("additionalPrinterColumns");
        let columns = version.value.get("additionalPrinterColumns").into_iter().flat_map(Value::items);
        for (index, column) in columns.enumerate() {
            let path = list.index(index);
            for (field, problem) in problems(column) {
                reporter.field(&crd.object, &path.field(field), problem);
            }
        }
    }
}

fn problems(column: Value<'_>) -> Vec<(&'static str, String)> {
    let text = |field: &str| column.get(field).and_then(Value::as_str).unwrap_or_default();
    let mut problems = Vec::new();
    if text("name").is_empty() {
        problems.push(("name", "missing required field `name`".to_owned()));
    }
    match text("type") {
        "" => problems
            .push(("type", format!("missing required field `type`: must be {}", alternatives(&TYPES)))),
        known if TYPES.contains(&known) => {}
        other => problems.push(("type", suggest_value("column type", other, &TYPES))),
    }
    match text("format") {
        known if known.is_empty() || FORMATS.contains(&known) => {}
        other => {
            problems.push(("format", suggest_value("column format", other, &FORMATS)));
        }
    }
    match text("jsonPath") {
        "" => problems.push(("jsonPath", "missing required field `jsonPath`".to_owned())),
        path if path.starts_with('.') => {}
        path => problems.push(("jsonPath", format!("invalid JSON path `{path}`: must start with a dot"))),
    }
    problems
}

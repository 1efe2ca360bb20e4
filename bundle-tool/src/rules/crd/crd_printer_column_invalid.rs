use crate::model::yaml::{Path, Value};
use crate::report::{Severity, Suite};
use crate::rules::{Check, Crd, Reporter, Rule};

pub(super) static RULE: Rule = Rule {
    id: "crd-printer-column-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A printer column lacks its name, type or path, or its type, format or path is none.",
    why: "The API server refuses the CRD.",
    help: "give the column a name, one of the types integer, number, string, boolean and date, and a jsonPath that begins with a dot",
    source: "apiextensions-apiserver, pkg/apis/apiextensions/validation/validation.go (ValidateCustomResourceColumnDefinition)",
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
        problems.push(("name", "the column has no name".to_owned()));
    }
    match text("type") {
        "" => problems.push(("type", format!("the column has no type; it is one of {}", TYPES.join(", ")))),
        known if TYPES.contains(&known) => {}
        other => problems.push(("type", format!("'{other}' is none of the types {}", TYPES.join(", ")))),
    }
    match text("format") {
        known if known.is_empty() || FORMATS.contains(&known) => {}
        other => {
            problems.push(("format", format!("'{other}' is none of the formats {}", FORMATS.join(", "))));
        }
    }
    match text("jsonPath") {
        "" => problems.push(("jsonPath", "the column has no path".to_owned())),
        path if path.starts_with('.') => {}
        path => problems.push(("jsonPath", format!("'{path}' does not begin with a dot"))),
    }
    problems
}

use crate::model::yaml::Path;
use crate::report::{Severity, Suite};
use crate::rules::{Check, Csv, Reporter, Rule};

pub(super) static RULE: Rule = Rule {
    id: "csv-name-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "The CSV's name, or the name in `spec.replaces`, cannot be the name of an object and the value of a label at once.",
    why: "The API server takes lower-case DNS names for objects, and OLM writes the name of the CSV into a label, which holds 63 characters.",
    help: "use lower-case letters, digits, '-' and '.', at most 63 of them",
    source: "operator-framework/api, pkg/validation/internal/csv.go (parseCSVNameFormat)",
    check: Check::Csv(check),
};

fn check(csv: &Csv<'_>, reporter: &mut Reporter<'_>) {
    let name = csv.object.name();
    if let Some(problem) = problem(name) {
        let message = format!("the name '{name}' {problem}");
        reporter.field(&csv.object, &Path::ROOT.field("metadata.name"), message);
    }
    let replaces = csv.typed.spec.replaces.as_str();
    if let Some(problem) = Some(replaces).filter(|name| !name.is_empty()).and_then(problem) {
        let message = format!("the name '{replaces}' {problem}");
        reporter.field(&csv.object, &Path::ROOT.field("spec.replaces"), message);
    }
}

fn problem(name: &str) -> Option<&'static str> {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let label = |part: &str| {
        part.bytes().all(|byte| plain(byte) || byte == b'-')
            && part.bytes().next().is_some_and(plain)
            && part.bytes().next_back().is_some_and(plain)
    };
    if name.is_empty() {
        Some("is missing")
    } else if name.len() > 63 {
        Some("is longer than 63 characters, and OLM writes it into a label")
    } else if !name.split('.').all(label) {
        Some("is no lower-case DNS name")
    } else {
        None
    }
}

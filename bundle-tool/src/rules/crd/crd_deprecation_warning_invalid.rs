use crate::model::yaml::{Path, Value};
use crate::report::{Severity, Suite};
use crate::rules::{Check, Crd, Reporter, Rule};
use kubernetes_cel::go_regex::GoRegex;

pub(super) static RULE: Rule = Rule {
    id: "crd-deprecation-warning-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A version's deprecation warning is set though the version is not deprecated, or it is empty, too long or not printable.",
    why: "The API server refuses the CRD.",
    help: "set deprecated: true, and a warning of at most 256 printable bytes",
    source: "apiextensions-apiserver, pkg/apis/apiextensions/validation/validation.go (validateDeprecationWarning)",
    check: Check::Crd(check),
};

fn check(crd: &Crd<'_>, reporter: &mut Reporter<'_>) {
    let versions = Path::ROOT.field("spec.versions");
    for (index, version) in crd.versions.iter().enumerate() {
        let Some(warning) = version.value.get("deprecationWarning").and_then(Value::as_str) else { continue };
        let problem = if !version.flag("deprecated") {
            "a warning is set for a version that is not deprecated".to_owned()
        } else if warning.is_empty() {
            "the warning is empty".to_owned()
        } else if warning.len() > 256 {
            format!("the warning has {} bytes; it may have 256", warning.len())
        } else if !is_printable(warning) {
            "the warning holds a character that cannot be printed".to_owned()
        } else {
            continue;
        };
        reporter.field(&crd.object, &versions.index(index).field("deprecationWarning"), problem);
    }
}

/// Letters, marks, numbers, punctuation, symbols, and the plain space.
fn is_printable(text: &str) -> bool {
    GoRegex::parse(r"^[\pL\pM\pN\pP\pS ]*$").is_ok_and(|regex| regex.is_match(text) == Some(true))
}

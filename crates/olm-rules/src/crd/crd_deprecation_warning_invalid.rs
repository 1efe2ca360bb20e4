use crate::prelude::*;
use kube_yaml::Value;
use kubernetes_cel::go_regex::GoRegex;

pub(crate) static RULE: Rule = Rule {
    id: "crd-deprecation-warning-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A version of a CRD sets `deprecationWarning` without `deprecated: true`, or the warning is empty, longer than 256 bytes or not printable.",
    impacts: &[Impact::CrdRejected],
    help: "set `deprecated: true`, and a deprecationWarning of at most 256 printable bytes",
    sources: &[Source::symbols(
        Project::ApiextensionsApiserver,
        "pkg/apis/apiextensions/validation/validation.go",
        &["validateDeprecationWarning"],
    )
    .since("1.19")],
    check: Check::Crd(check),
};

fn check(crd: &Crd<'_>, reporter: &mut Reporter<'_>) {
    let versions = Path::ROOT.field("spec.versions");
    for (index, version) in crd.versions.iter().enumerate() {
        let Some(warning) = version.value.get("deprecationWarning").and_then(Value::as_str) else { continue };
        let problem = if !version.flag("deprecated") {
            "unexpected deprecation warning: the version is not deprecated".to_owned()
        } else if warning.is_empty() {
            "the deprecation warning must not be empty".to_owned()
        } else if warning.len() > 256 {
            format!("deprecation warning of {} bytes exceeds the limit of 256 bytes", warning.len())
        } else if !is_printable(warning) {
            "the deprecation warning contains a character that is not printable".to_owned()
        } else {
            continue;
        };
        reporter.field(&crd.object, &versions.index(index).field("deprecationWarning"), problem);
    }
}

/// Returns whether a string has only letters, marks, numbers, punctuation, symbols and plain spaces.
fn is_printable(text: &str) -> bool {
    GoRegex::parse(r"^[\pL\pM\pN\pP\pS ]*$").is_ok_and(|regex| regex.is_match(text) == Some(true))
}

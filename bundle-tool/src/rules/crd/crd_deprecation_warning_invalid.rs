use crate::model::yaml::{Path, Value};
use crate::report::{Severity, Suite};
use crate::rules::{Check, Crd, Reporter, Rule};

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
        } else if let Some(c) = warning.chars().find(|c| !is_printable(*c)) {
            format!("the warning holds {c:?}, which cannot be printed")
        } else {
            continue;
        };
        reporter.field(&crd.object, &versions.index(index).field("deprecationWarning"), problem);
    }
}

/// Letters, marks, numbers, punctuation, symbols, and the plain space.
fn is_printable(c: char) -> bool {
    c == ' ' || !(c.is_control() || c.is_whitespace()) && !is_format(c)
}

/// The characters that show nothing, and those that mean nothing.
fn is_format(c: char) -> bool {
    matches!(u32::from(c),
        0xAD | 0x600..=0x605 | 0x61C | 0x6DD | 0x70F | 0x180E | 0x200B..=0x200F | 0x202A..=0x202E
        | 0x2060..=0x206F | 0xFDD0..=0xFDEF | 0xFEFF | 0xFFF0..=0xFFFB | 0xE000..=0xF8FF | 0xE0000..=0xE00FF
        | 0xE01F0..=0x0010_FFFF)
        || u32::from(c) & 0xFFFE == 0xFFFE
}

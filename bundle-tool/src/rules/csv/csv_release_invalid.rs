use crate::model::yaml::{Kind, Path};
use crate::report::{Severity, Suite};
use crate::rules::{Check, Csv, Reporter, Rule};

pub(super) static RULE: Rule = Rule {
    id: "csv-release-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "`spec.release` is no release: identifiers of letters, digits and '-' with dots between them, at most 20 characters.",
    why: "OLM cannot decode the CSV, or the API server refuses it.",
    help: "write a number such as '1', as text",
    source: "operator-framework/api, pkg/lib/release/release.go; the schema of clusterserviceversions.operators.coreos.com",
    check: Check::Csv(check),
};

fn check(csv: &Csv<'_>, reporter: &mut Reporter<'_>) {
    let Some(value) = csv.object.root.dig(&["spec", "release"]).filter(|value| !value.is_null()) else {
        return;
    };
    let release = value.text();
    let problem = if value.kind() != Kind::String {
        format!("expected a string, found {}", value.kind())
    } else if release.len() > 20 {
        format!("'{release}' is longer than 20 characters")
    } else if !release.split('.').all(identifier) {
        format!("'{release}' is no release")
    } else {
        return;
    };
    reporter.field(&csv.object, &Path::ROOT.field("spec.release"), problem);
}

fn identifier(text: &str) -> bool {
    let number = text.bytes().all(|byte| byte.is_ascii_digit());
    !text.is_empty()
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
        && !(number && text.len() > 1 && text.starts_with('0'))
}

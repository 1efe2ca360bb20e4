use crate::prelude::*;
use kube_yaml::Kind;

pub(crate) static RULE: Rule = Rule {
    id: "csv-release-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "`spec.release` is not a string of at most 20 characters made of identifiers separated by dots.",
    impacts: &[Impact::CsvRejected, Impact::Specific("OLM cannot decode some of these values.")],
    help: "set spec.release to a quoted number, such as `'1'`",
    sources: &[
        Source::file(Project::OperatorFrameworkApi, "pkg/lib/release/release.go").since("0.37"),
        Source::file(Project::OperatorFrameworkApi, "crds/operators.coreos.com_clusterserviceversions.yaml")
            .since("0.37"),
    ],
    check: Check::Csv(check),
};

fn check(csv: &Csv<'_>, reporter: &mut Reporter<'_>) {
    let Some(value) = csv.dig(&["spec", "release"]).filter(|value| !value.is_null()) else {
        return;
    };
    let release = value.text();
    let problem = if value.kind() != Kind::String {
        format!("expected a string, found {}", value.kind())
    } else if release.len() > 20 {
        format!("invalid release `{release}`: must be at most 20 characters")
    } else if !release.split('.').all(identifier) {
        format!(
            "invalid release `{release}`: must be identifiers of letters, digits and `-`, separated by dots, without leading zeros in numbers"
        )
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

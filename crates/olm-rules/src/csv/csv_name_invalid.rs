use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "csv-name-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "The CSV's name, or the name in `spec.replaces`, is not valid both as the name of an object and as the value of a label.",
    impacts: &[
        Impact::SdkRejects,
        Impact::CsvRejected,
        Impact::Specific("OLM copies the name into a label, which is limited to 63 characters."),
    ],
    help: "use at most 63 lowercase letters, digits, `-` and `.`, and begin and end each part between dots with a letter or a digit",
    sources: &[Source::symbols(
        Project::OperatorFrameworkApi,
        "pkg/validation/internal/csv.go",
        &["parseCSVNameFormat"],
    )
    .since("0.2")],
    check: Check::Csv(check),
};

fn check(csv: &Csv<'_>, reporter: &mut Reporter<'_>) {
    let name = csv.object.name();
    if let Some(problem) = problem(name) {
        let message =
            if name.is_empty() { problem.to_owned() } else { format!("invalid name `{name}`: {problem}") };
        reporter.field(&csv.object, &Path::ROOT.field("metadata.name"), message);
    }
    let replaces = csv.typed.spec.replaces.as_str();
    if let Some(problem) = Some(replaces).filter(|name| !name.is_empty()).and_then(problem) {
        let message = format!("invalid name `{replaces}`: {problem}");
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
        Some("missing required field `metadata.name`")
    } else if name.len() > 63 {
        Some("must be at most 63 characters, the limit of a label value")
    } else if !name.split('.').all(label) {
        Some("must be a DNS name of lowercase letters, digits, `-` and `.`")
    } else {
        None
    }
}

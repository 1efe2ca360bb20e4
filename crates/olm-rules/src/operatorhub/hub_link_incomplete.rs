use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "hub-link-incomplete",
    suite: Suite::OperatorHubV2,
    severity: Severity::Error,
    what: "A link has no name, or no valid URL.",
    impacts: &[Impact::SubmissionRejected],
    help: "set the name and the url of each link, with an `https://` URL",
    sources: &[Source::symbols(
        Project::OperatorFrameworkApi,
        "pkg/validation/internal/operatorhub.go",
        &["checkSpecLinks"],
    )
    .since("0.4")],
    check: Check::Csv(check),
};

fn check(csv: &Csv<'_>, reporter: &mut Reporter<'_>) {
    let root = Path::ROOT;
    let list = root.field("spec.links");
    for (index, link) in csv.typed.spec.links.iter().enumerate() {
        let entry = list.index(index);
        if link.name.is_empty() && link.url.is_empty() {
            reporter.field(&csv.object, &entry, "missing required fields `name` and `url`");
            continue;
        }
        if link.name.is_empty() {
            reporter.field(&csv.object, &entry.field("name"), "missing required field `name`");
        }
        if link.url.is_empty() {
            reporter.field(&csv.object, &entry.field("url"), "missing required field `url`");
        } else if !is_url(&link.url) {
            reporter.field(&csv.object, &entry.field("url"), format!("invalid URL `{}`", link.url));
        }
    }
}

/// Returns whether a string is an absolute URL or an absolute path.
fn is_url(text: &str) -> bool {
    if text.chars().any(|c| c.is_ascii_control()) {
        return false;
    }
    let escaped = text.match_indices('%').all(|(at, _)| {
        text.as_bytes().get(at + 1..at + 3).is_some_and(|hex| hex.iter().all(u8::is_ascii_hexdigit))
    });
    if text.starts_with('/') {
        return escaped;
    }
    let Some((scheme, rest)) = text.split_once(':') else { return false };
    let good_scheme = scheme.starts_with(|first: char| first.is_ascii_alphabetic())
        && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c));
    let host = rest.strip_prefix("//").map(|rest| rest.split(['/', '?', '#']).next().unwrap_or_default());
    good_scheme && escaped && host.is_none_or(|host| !host.contains([' ', '<', '>', '"', '{', '}']))
}

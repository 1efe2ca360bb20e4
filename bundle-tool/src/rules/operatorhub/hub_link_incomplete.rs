use crate::model::yaml::Path;
use crate::report::{Severity, Suite};
use crate::rules::{Check, Csv, Reporter, Rule};

pub(super) static RULE: Rule = Rule {
    id: "hub-link-incomplete",
    suite: Suite::OperatorHubV2,
    severity: Severity::Error,
    what: "A link has no name, or no URL that is one.",
    why: "OperatorHub shows both, and refuses the operator.",
    help: "write name and url of each link, the URL with https://",
    source: "operator-framework/api, pkg/validation/internal/operatorhub.go (checkSpecLinks)",
    check: Check::Csv(check),
};

fn check(csv: &Csv<'_>, reporter: &mut Reporter<'_>) {
    let root = Path::ROOT;
    let list = root.field("spec.links");
    for (index, link) in csv.typed.spec.links.iter().enumerate() {
        let entry = list.index(index);
        if link.name.is_empty() && link.url.is_empty() {
            reporter.field(&csv.object, &entry, "the link has neither a name nor a URL");
            continue;
        }
        if link.name.is_empty() {
            reporter.field(&csv.object, &entry.field("name"), "the link has no name");
        }
        if link.url.is_empty() {
            reporter.field(&csv.object, &entry.field("url"), "the link has no URL");
        } else if !is_url(&link.url) {
            reporter.field(&csv.object, &entry.field("url"), format!("'{}' is no URL", link.url));
        }
    }
}

/// Whether a text is an absolute URL, or a path from the root.
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

//! Names of every kind. Each function returns a message if the name is invalid.
//!
//! Source: `k8s.io/apimachinery/pkg/util/validation/validation.go`, `pkg/api/validation/generic.go` and
//! `pkg/api/validation/path/name.go`.

use std::borrow::Cow;

use olm_model::names;

type Verdict = Result<(), String>;

fn verdict(valid: bool, what: &str, text: &str, rule: &str) -> Verdict {
    if valid { Ok(()) } else { Err(invalid(what, text, rule)) }
}

/// Formats a message about an invalid or empty value; `rule` states what is allowed and may be empty.
pub(crate) fn invalid(what: &str, text: &str, rule: &str) -> String {
    let subject =
        if text.is_empty() { format!("empty {what}") } else { format!("invalid {what} {}", shown(text)) };
    if rule.is_empty() { subject } else { format!("{subject}: {rule}") }
}

fn lower_alphanumeric(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit()
}

/// Returns whether the first and last byte match `edge`, and all others `edge` or `inner`; an empty string does not.
fn fits(text: &str, edge: impl Fn(u8) -> bool, inner: &[u8]) -> bool {
    let bytes = text.as_bytes();
    bytes.first().is_some_and(|byte| edge(*byte))
        && bytes.last().is_some_and(|byte| edge(*byte))
        && bytes.iter().all(|byte| edge(*byte) || inner.contains(byte))
}

/// Validates a DNS label of RFC 1123, at most 63 characters: namespaces, containers, volumes.
///
/// # Errors
/// Why the text is not one.
pub fn dns_label(text: &str) -> Verdict {
    verdict(
        names::is_label(text),
        "DNS label",
        text,
        "must be at most 63 lowercase letters, digits and `-`, starting and ending with a letter or digit",
    )
}

/// Validates a DNS subdomain of RFC 1123, at most 253 characters: the names of most objects.
///
/// # Errors
/// Why the text is not one.
pub fn dns_subdomain(text: &str) -> Verdict {
    verdict(
        names::is_subdomain(text),
        "DNS name",
        text,
        "must be at most 253 lowercase letters, digits, `-` and `.`, each part starting and ending with a letter or digit",
    )
}

/// Validates a DNS name whose labels may contain and start with `_`: search domains.
pub(crate) fn dns_subdomain_with_underscores(text: &str) -> Verdict {
    let valid = text.len() <= 253
        && text
            .split('.')
            .all(|label| fits(label.strip_prefix('_').unwrap_or(label), lower_alphanumeric, b"-_"));
    let rule = "must be at most 253 lowercase letters, digits, `-`, `_` and `.`";
    verdict(valid, "DNS name", text, rule)
}

/// Validates a DNS label of RFC 1035, which starts with a letter: Services.
pub(crate) fn dns_1035_label(text: &str) -> Verdict {
    let begins = text.bytes().next().is_some_and(|byte| byte.is_ascii_lowercase());
    verdict(
        text.len() <= 63 && begins && fits(text, lower_alphanumeric, b"-"),
        "DNS label",
        text,
        "must be at most 63 lowercase letters, digits and `-`, starting with a letter and ending with a letter or digit",
    )
}

/// Validates a kind, which must be a DNS label of RFC 1035 when lowercased; `what` names the field.
pub(crate) fn kind(what: &str, text: &str) -> Verdict {
    let rule = "must be at most 63 letters, digits and `-`, starting with a letter and ending with a letter or digit";
    dns_1035_label(&text.to_lowercase()).map_err(|_| invalid(what, text, rule))
}

/// Validates a name of at least three parts, as webhooks have: `validate.example.com`.
pub(crate) fn fully_qualified(text: &str) -> Verdict {
    dns_subdomain(text)?;
    let rule = "must have at least three parts separated by dots, such as `validate.example.com`";
    verdict(text.split('.').count() >= 3, "name", text, rule)
}

const QUALIFIED_RULE: &str = "must be at most 63 letters, digits, `-`, `_` and `.`, starting and ending with a letter \
                              or digit, optionally after a DNS name and `/`";

fn is_qualified(text: &str) -> bool {
    let (prefix, name) = text.split_once('/').map_or((None, text), |(prefix, name)| (Some(prefix), name));
    prefix.is_none_or(names::is_subdomain)
        && name.len() <= 63
        && fits(name, |byte| byte.is_ascii_alphanumeric(), b"-_.")
}

/// Validates a name with an optional prefix, a DNS name and `/`: finalizers, conditions.
pub(crate) fn qualified(text: &str) -> Verdict {
    verdict(is_qualified(text), "qualified name", text, QUALIFIED_RULE)
}

/// Validates the key of a label: a qualified name.
pub(crate) fn label_key(text: &str) -> Verdict {
    verdict(is_qualified(text), "label key", text, QUALIFIED_RULE)
}

/// Validates the key of an annotation: a qualified name whose prefix may have uppercase letters.
pub(crate) fn annotation_key(text: &str) -> Verdict {
    verdict(is_qualified(&text.to_lowercase()), "annotation key", text, QUALIFIED_RULE)
}

/// Validates the value of a label: empty, or at most 63 letters, digits, `-`, `_` and `.`.
pub(crate) fn label_value(text: &str) -> Verdict {
    let valid =
        text.is_empty() || text.len() <= 63 && fits(text, |byte| byte.is_ascii_alphanumeric(), b"-_.");
    let rule =
        "must be at most 63 letters, digits, `-`, `_` and `.`, starting and ending with a letter or digit";
    verdict(valid, "label value", text, rule)
}

/// Validates the name of an environment variable: printable ASCII without `=`.
pub(crate) fn environment_variable(text: &str) -> Verdict {
    let valid = !text.is_empty() && text.bytes().all(|byte| (b' '..=b'~').contains(&byte) && byte != b'=');
    verdict(valid, "environment variable name", text, "must be printable ASCII characters other than `=`")
}

/// Validates a name of an environment variable as versions of Kubernetes before 1.32 do (`IsEnvVarName`).
pub(crate) fn strict_environment_variable(text: &str) -> Verdict {
    let valid = !text.starts_with(|c: char| c.is_ascii_digit())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._".contains(&byte))
        && !(text == "." || text == ".." || text.starts_with(".."));
    let rule = "must be letters, digits, `-`, `.` and `_`, not starting with a digit or `..`";
    verdict(valid, "environment variable name", text, rule)
}

/// Validates a key of a `ConfigMap` or Secret.
pub(crate) fn config_key(text: &str) -> Verdict {
    let valid = (1..=253).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
        && text != "."
        && !text.starts_with("..");
    let rule = "must be at most 253 letters, digits, `-`, `_` and `.`, and not be `.` or start with `..`";
    verdict(valid, "key", text, rule)
}

/// Validates the name of a port: at most 15 characters with at least one letter.
pub(crate) fn port_name(text: &str) -> Verdict {
    let valid = text.len() <= 15
        && fits(text, lower_alphanumeric, b"-")
        && text.bytes().any(|byte| byte.is_ascii_lowercase())
        && !text.contains("--");
    let rule = "must be at most 15 lowercase letters, digits and single `-`, with at least one letter";
    verdict(valid, "port name", text, rule)
}

/// Validates the name of an HTTP header.
pub(crate) fn http_header(text: &str) -> Verdict {
    let valid = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    verdict(valid, "HTTP header name", text, "must consist of letters, digits and `-`")
}

/// Validates a name that is a segment of a URL's path: Roles and their bindings.
pub(crate) fn path_segment(text: &str) -> Verdict {
    let valid = text != "." && text != ".." && !text.contains(['/', '%']);
    verdict(valid, "name", text, "must not be `.` or `..`, nor contain `/` or `%`")
}

/// Returns a `generateName` as Kubernetes validates it: a trailing dash is replaced.
pub(crate) fn prefix(text: &str) -> Cow<'_, str> {
    // Kubernetes also replaces the character before the dash.
    match text.strip_suffix('-') {
        Some(rest) if !rest.is_empty() => {
            let mut kept = rest.to_owned();
            kept.pop();
            Cow::Owned(kept + "a")
        }
        _ => Cow::Borrowed(text),
    }
}

/// Formats a value in backticks, truncated if it is long.
pub(crate) fn shown(text: &str) -> String {
    const MAX_SHOWN: usize = 80;
    match text.char_indices().nth(MAX_SHOWN) {
        Some((end, _)) => format!("`{}…` ({} bytes)", &text[..end], text.len()),
        None => format!("`{text}`"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accepts(function: fn(&str) -> Verdict, valid: &[&str], invalid: &[&str]) {
        for text in valid {
            assert_eq!(function(text), Ok(()), "{text:?}");
        }
        for text in invalid {
            assert!(function(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn dns_names() {
        let long = "a".repeat(63);
        let longer = "a".repeat(64);
        accepts(dns_label, &["a", "1", "a-b", &long], &["", "-a", "a-", "A", "a.b", "a_b", &longer, "ä"]);
        accepts(dns_subdomain, &["a", "a.b", "1.2"], &["", ".", "a.", ".a", "a..b", "a_b", "A"]);
        accepts(dns_1035_label, &["a", "a1", "a-b"], &["", "1a", "a.b", &longer]);
        accepts(dns_subdomain_with_underscores, &["_a.b_c", "a"], &["", "a_", "__a", "a."]);
        accepts(fully_qualified, &["a.b.c"], &["a.b", "a", ""]);
    }

    #[test]
    fn labels_and_keys() {
        accepts(qualified, &["a", "A_b.c-D", "x.io/a"], &["", "/a", "a/", "a/b/c", "X.io/a", "-a"]);
        accepts(label_value, &["", "a", "A.b_c"], &["-a", "a b", &"a".repeat(64)]);
        accepts(annotation_key, &["X.io/A", "a"], &["", "a b"]);
        accepts(config_key, &["a", "a.b", "a..b", ".a"], &["", ".", "..", "..a", "a/b"]);
        accepts(environment_variable, &["A", "a b", "1"], &["", "a=b", "ä", "\n"]);
    }

    #[test]
    fn ports_headers_and_segments() {
        accepts(port_name, &["http", "a-1"], &["", "1", "-a", "a--b", "abcdefghijklmnop", "Http"]);
        accepts(http_header, &["X-A"], &["", "a b", "a_b"]);
        accepts(path_segment, &["a:b", ""], &[".", "..", "a/b", "a%b"]);
    }

    #[test]
    fn a_prefix_may_end_with_a_dash() {
        assert_eq!(prefix("abc-"), "aba");
        assert_eq!(prefix("-"), "-");
        assert_eq!(prefix("abc"), "abc");
    }
}

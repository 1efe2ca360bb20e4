//! Names of every kind. Each function says what is wrong in one sentence.
//!
//! Source: `k8s.io/apimachinery/pkg/util/validation/validation.go`, `pkg/api/validation/generic.go` and
//! `pkg/api/validation/path/name.go`.

use std::borrow::Cow;

type Verdict = Result<(), String>;

fn verdict(sound: bool, message: impl FnOnce() -> String) -> Verdict {
    if sound { Ok(()) } else { Err(message()) }
}

fn lower_alphanumeric(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit()
}

/// First and last byte fit `edge`, all others `edge` or `inner`; empty texts do not fit.
fn fits(text: &str, edge: impl Fn(u8) -> bool, inner: &[u8]) -> bool {
    let bytes = text.as_bytes();
    bytes.first().is_some_and(|byte| edge(*byte))
        && bytes.last().is_some_and(|byte| edge(*byte))
        && bytes.iter().all(|byte| edge(*byte) || inner.contains(byte))
}

/// A DNS label of RFC 1123, at most 63 characters: namespaces, containers, volumes.
pub(in crate::rules) fn dns_label(text: &str) -> Verdict {
    verdict(text.len() <= 63 && fits(text, lower_alphanumeric, b"-"), || {
        format!(
            "{} is no DNS label: at most 63 lower case letters, digits and '-', not at either end",
            shown(text)
        )
    })
}

/// A DNS name of RFC 1123, at most 253 characters: most objects' names.
pub(in crate::rules) fn dns_subdomain(text: &str) -> Verdict {
    verdict(is_dns_subdomain(text), || {
        format!(
            "{} is no DNS name: at most 253 lower case letters, digits, '-' and '.', each part beginning and ending with a letter or digit",
            shown(text)
        )
    })
}

fn is_dns_subdomain(text: &str) -> bool {
    text.len() <= 253 && text.split('.').all(|label| fits(label, lower_alphanumeric, b"-"))
}

/// A DNS name in which labels may hold `_` and begin with it: search domains.
pub(in crate::rules) fn dns_subdomain_with_underscores(text: &str) -> Verdict {
    let sound = text.len() <= 253
        && text
            .split('.')
            .all(|label| fits(label.strip_prefix('_').unwrap_or(label), lower_alphanumeric, b"-_"));
    verdict(sound, || format!("{} is no DNS name, with or without '_'", shown(text)))
}

/// A DNS label of RFC 1035, which begins with a letter: Services.
pub(in crate::rules) fn dns_1035_label(text: &str) -> Verdict {
    let begins = text.bytes().next().is_some_and(|byte| byte.is_ascii_lowercase());
    verdict(text.len() <= 63 && begins && fits(text, lower_alphanumeric, b"-"), || {
        format!(
            "{} is no DNS label that begins with a letter: at most 63 lower case letters, digits and '-', not at the end",
            shown(text)
        )
    })
}

/// A name of at least three parts, as webhooks have: `validate.example.com`.
pub(in crate::rules) fn fully_qualified(text: &str) -> Verdict {
    dns_subdomain(text)?;
    verdict(text.split('.').count() >= 3, || {
        format!("'{text}' has less than three parts between dots: write it like validate.example.com")
    })
}

/// A name with an optional DNS name and `/` before it: keys of labels, finalizers, conditions.
pub(in crate::rules) fn qualified(text: &str) -> Verdict {
    let (prefix, name) = text.split_once('/').map_or((None, text), |(prefix, name)| (Some(prefix), name));
    let sound = prefix.is_none_or(is_dns_subdomain)
        && name.len() <= 63
        && fits(name, |byte| byte.is_ascii_alphanumeric(), b"-_.");
    verdict(sound, || {
        format!(
            "{} is no qualified name: at most 63 letters, digits, '-', '_' and '.', beginning and ending with a letter or digit, after an optional DNS name and '/'",
            shown(text)
        )
    })
}

/// The key of an annotation: a qualified name in letters of any case.
pub(in crate::rules) fn annotation_key(text: &str) -> Verdict {
    qualified(&text.to_lowercase()).map_err(|message| {
        if text.chars().any(char::is_uppercase) { message + " (in any case)" } else { message }
    })
}

/// A label's value: empty, or at most 63 letters, digits, `-`, `_` and `.`.
pub(in crate::rules) fn label_value(text: &str) -> Verdict {
    let sound =
        text.is_empty() || text.len() <= 63 && fits(text, |byte| byte.is_ascii_alphanumeric(), b"-_.");
    verdict(sound, || {
        format!(
            "{} is no label value: at most 63 letters, digits, '-', '_' and '.', beginning and ending with a letter or digit",
            shown(text)
        )
    })
}

/// The name of an environment variable: printable ASCII without `=`.
pub(in crate::rules) fn environment_variable(text: &str) -> Verdict {
    let sound = !text.is_empty() && text.bytes().all(|byte| (b' '..=b'~').contains(&byte) && byte != b'=');
    verdict(sound, || {
        format!("{} is no name of an environment variable: printable ASCII without '='", shown(text))
    })
}

/// A key of a `ConfigMap` or Secret.
pub(in crate::rules) fn config_key(text: &str) -> Verdict {
    let sound = (1..=253).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
        && text != "."
        && !text.starts_with("..");
    verdict(sound, || {
        format!(
            "{} is no key: at most 253 letters, digits, '-', '_' and '.', neither '.' nor beginning with '..'",
            shown(text)
        )
    })
}

/// The name of a port: at most 15 characters with a letter among them.
pub(in crate::rules) fn port_name(text: &str) -> Verdict {
    let sound = text.len() <= 15
        && fits(text, lower_alphanumeric, b"-")
        && text.bytes().any(|byte| byte.is_ascii_lowercase())
        && !text.contains("--");
    verdict(sound, || {
        format!(
            "{} is no name of a port: at most 15 lower case letters, digits and single '-', with a letter among them",
            shown(text)
        )
    })
}

/// The name of an HTTP header.
pub(in crate::rules) fn http_header(text: &str) -> Verdict {
    let sound = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    verdict(sound, || format!("{} is no HTTP header: letters, digits and '-'", shown(text)))
}

/// A name that can stand in a URL's path: Roles and their bindings.
pub(in crate::rules) fn path_segment(text: &str) -> Verdict {
    let sound = text != "." && text != ".." && !text.contains(['/', '%']);
    verdict(sound, || format!("'{text}' cannot stand in a URL: it is '.' or '..' or holds '/' or '%'"))
}

/// What may stand before a generated ending, as `generateName` does: a dash at the end is fine.
pub(in crate::rules) fn prefix(text: &str) -> Cow<'_, str> {
    // Kubernetes takes the character before the dash away, too.
    match text.strip_suffix('-') {
        Some(rest) if !rest.is_empty() => {
            let mut kept = rest.to_owned();
            kept.pop();
            Cow::Owned(kept + "a")
        }
        _ => Cow::Borrowed(text),
    }
}

/// A value in quotes, cut where it is long.
pub(in crate::rules) fn shown(text: &str) -> String {
    const LONGEST: usize = 80;
    if text.is_empty() {
        return "an empty text".to_owned();
    }
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("'{}…' ({} bytes)", &text[..end], text.len()),
        None => format!("'{text}'"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accepts(function: fn(&str) -> Verdict, sound: &[&str], unsound: &[&str]) {
        for text in sound {
            assert_eq!(function(text), Ok(()), "{text:?}");
        }
        for text in unsound {
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

//! The syntax of names in Kubernetes, as the API server accepts them.

/// Returns whether a text is a label key: `[PREFIX/]NAME`.
#[must_use]
pub fn is_label_key(text: &str) -> bool {
    let (prefix, name) = match text.split_once('/') {
        Some((prefix, name)) => (Some(prefix), name),
        None => (None, text),
    };
    let prefix_is_valid = prefix.is_none_or(is_subdomain);
    prefix_is_valid && !name.is_empty() && is_label_value(name)
}

/// Returns whether a text is a DNS subdomain (RFC 1123).
fn is_subdomain(text: &str) -> bool {
    text.len() <= 253
        && text.split('.').all(|label| {
            !label.is_empty()
                && label.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
                && !label.starts_with('-')
                && !label.ends_with('-')
        })
}

/// Returns whether a text is a label value: at most 63 letters, digits, `-`, `_` and `.`, with letters or digits at both ends.
fn is_label_value(text: &str) -> bool {
    text.len() <= 63
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-'))
        && text.bytes().next().is_none_or(|b| b.is_ascii_alphanumeric())
        && text.bytes().next_back().is_none_or(|b| b.is_ascii_alphanumeric())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn label_keys_and_values_have_the_limits_of_the_api() {
        assert!(is_label_key("a") && is_label_key("example.com/a.b_c") && is_label_value(""));
        for bad in ["", "a b", "example.com/", "Example.com/a", &"x".repeat(64)] {
            assert!(!is_label_key(bad), "{bad}");
        }
        for bad in ["-a", "a-", "a b", &"x".repeat(64)] {
            assert!(!is_label_value(bad), "{bad}");
        }
    }
}

//! Names that several parts of the system restrict in the same way: labels and subdomains of DNS.
//!
//! Source: RFC 1123, as `k8s.io/apimachinery/pkg/util/validation/validation.go` checks it.

/// The maximum length of a DNS label: namespaces, packages, parts of names.
pub const MAX_LABEL: usize = 63;

/// The maximum length of a DNS subdomain: the names of most objects.
pub const MAX_SUBDOMAIN: usize = 253;

/// Returns whether `text` has the characters of a DNS label, however long it is: lowercase letters, digits and `-`, which is
/// neither first nor last.
#[must_use]
pub fn has_label_syntax(text: &str) -> bool {
    let is_end = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let bytes = text.as_bytes();
    bytes.first().is_some_and(|byte| is_end(*byte))
        && bytes.last().is_some_and(|byte| is_end(*byte))
        && bytes.iter().all(|byte| is_end(*byte) || *byte == b'-')
}

/// The reason why a string is not a DNS label.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum LabelError {
    /// It is too long.
    #[error("must be no more than {MAX_LABEL} bytes")]
    Length,
    /// It has dots: it may be a subdomain.
    #[error("must not contain dots")]
    Dots,
    /// It has other characters, or none.
    #[error("must consist of lowercase letters, digits and `-`, and begin and end with a letter or digit")]
    Characters,
}

/// Checks that `text` is a DNS label.
///
/// # Errors
/// What is wrong with it.
pub fn check_label(text: &str) -> Result<(), LabelError> {
    if text.len() > MAX_LABEL {
        return Err(LabelError::Length);
    }
    if text.contains('.') {
        return Err(LabelError::Dots);
    }
    if has_label_syntax(text) { Ok(()) } else { Err(LabelError::Characters) }
}

/// Returns whether `text` is a DNS label.
#[must_use]
pub fn is_label(text: &str) -> bool {
    check_label(text).is_ok()
}

/// Returns whether `text` has the characters of a DNS subdomain, however long it is: labels of any length between dots.
#[must_use]
pub fn has_subdomain_syntax(text: &str) -> bool {
    text.split('.').all(has_label_syntax)
}

/// Returns whether `text` is a DNS subdomain as Kubernetes checks it: a label in it may be as long as the whole.
#[must_use]
pub fn is_subdomain(text: &str) -> bool {
    text.len() <= MAX_SUBDOMAIN && has_subdomain_syntax(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels() {
        for text in ["a", "1", "a-b", "a--b", &"a".repeat(63)] {
            assert!(is_label(text), "{text}");
        }
        for text in ["", "-", "-a", "a-", "A", "a.b", "a_b", "ä", "a b", "a\n"] {
            assert!(!is_label(text) && !has_label_syntax(text), "{text}");
        }
        let long = "a".repeat(64);
        assert!(!is_label(&long) && has_label_syntax(&long));
        let reasons =
            [(long.as_str(), LabelError::Length), ("a.b", LabelError::Dots), ("", LabelError::Characters)];
        for (text, reason) in reasons {
            assert_eq!(check_label(text), Err(reason), "{text}");
        }
    }

    #[test]
    fn subdomains() {
        let long = "a".repeat(253);
        for text in ["a", "a.b", "a-b.1", &long] {
            assert!(is_subdomain(text), "{text}");
        }
        for text in ["", ".", "a.", ".a", "a..b", "a.-b", "A.b", "a_b.c"] {
            assert!(!is_subdomain(text) && !has_subdomain_syntax(text), "{text}");
        }
        let longer = format!("{long}a");
        assert!(!is_subdomain(&longer) && has_subdomain_syntax(&longer));
    }
}

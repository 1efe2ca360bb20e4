//! The order of API versions.

use std::cmp::Ordering;

/// The stability and the numbers in the name of an API version.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Parsed {
    stability: u8,
    major: u64,
    minor: u64,
}

fn parse(name: &str) -> Option<Parsed> {
    let digits = |text: &str| -> Option<u64> {
        let number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        number.then(|| text.parse().ok()).flatten()
    };
    let rest = name.strip_prefix('v')?;
    if let Some(major) = digits(rest) {
        return Some(Parsed { stability: 2, major, minor: 0 });
    }
    let (word, stability) = if rest.contains("alpha") { ("alpha", 0) } else { ("beta", 1) };
    let (major, minor) = rest.split_once(word)?;
    Some(Parsed { stability, major: digits(major)?, minor: digits(minor)? })
}

/// Compares API versions as Kubernetes does: `v1alpha1`, `v1beta1`, `v1`. Other names come first, in reverse
/// alphabetical order.
///
/// Source: `CompareKubeAwareVersionStrings` of apimachinery (`pkg/version/helpers.go`).
#[must_use]
pub fn compare_versions(a: &str, b: &str) -> Ordering {
    match (parse(a), parse(b)) {
        (Some(a), Some(b)) => a.cmp(&b),
        (Some(_), None) => Ordering::Greater,
        (None, Some(_)) => Ordering::Less,
        (None, None) => b.cmp(a),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stable_versions_come_last() {
        let mut versions = ["v2", "v1", "foo", "v1beta2", "bar", "v1beta1", "v10", "v2alpha1"];
        versions.sort_by(|a, b| compare_versions(a, b));
        assert_eq!(versions, ["foo", "bar", "v2alpha1", "v1beta1", "v1beta2", "v1", "v2", "v10"]);
    }
}

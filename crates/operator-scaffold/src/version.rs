//! Versions of an API: their form and their order.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use super::error::Error;

/// The maximum number of digits of each number in a version.
const MAX_DIGITS: usize = 4;

/// How stable a version claims to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Stability {
    /// `v1alpha1`
    Alpha,
    /// `v1beta1`
    Beta,
    /// `v1`
    Stable,
}

/// A version of an API: `v1`, `v1beta2`, `v2alpha1`.
///
/// The order is the one in which versions of an API appear: `v1alpha1 < v1beta1 < v1 < v2alpha1`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version {
    major: u32,
    stability: Stability,
    minor: u32,
}

impl Version {
    /// Compares two versions as Kubernetes orders them by priority: stable versions are greater than beta versions,
    /// beta versions than alpha versions, whatever their numbers.
    #[must_use]
    pub(crate) fn compare_priority(&self, other: &Self) -> Ordering {
        (self.stability, self.major, self.minor).cmp(&(other.stability, other.major, other.minor))
    }
}

impl FromStr for Version {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let number = |digits: &str| {
            let plain = !digits.starts_with('0') && digits.len() <= MAX_DIGITS;
            let plain = plain && digits.bytes().all(|byte| byte.is_ascii_digit());
            digits.parse().ok().filter(|_| plain)
        };
        let parse = || {
            let rest = text.strip_prefix('v')?;
            for (word, stability) in [("alpha", Stability::Alpha), ("beta", Stability::Beta)] {
                if let Some((major, minor)) = rest.split_once(word) {
                    return Some(Self { major: number(major)?, stability, minor: number(minor)? });
                }
            }
            Some(Self { major: number(rest)?, stability: Stability::Stable, minor: 0 })
        };
        parse().ok_or_else(|| Error::Name {
            what: "version",
            value: kube_yaml::text::excerpt(text).into_owned(),
            reason: "must have the form `v1`, `v1beta1` or `v1alpha1`".to_owned(),
        })
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.stability {
            Stability::Alpha => write!(f, "v{}alpha{}", self.major, self.minor),
            Stability::Beta => write!(f, "v{}beta{}", self.major, self.minor),
            Stability::Stable => write!(f, "v{}", self.major),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_parsed_and_printed() {
        for text in ["v1", "v1alpha1", "v2beta10", "v1234"] {
            assert_eq!(text.parse::<Version>().unwrap().to_string(), text);
        }
        for text in
            ["1", "v", "v0", "v01", "v1alpha", "v1gamma1", "v1alpha1beta1", "v12345", "V1", "v1-1", "v+1", ""]
        {
            assert!(text.parse::<Version>().is_err(), "{text}");
        }
    }

    #[test]
    fn versions_have_an_order_of_appearance_and_one_of_priority() {
        let sorted = |texts: &[&str], by: fn(&Version, &Version) -> Ordering| {
            let mut list: Vec<Version> = texts.iter().map(|text| text.parse().unwrap()).collect();
            list.sort_by(by);
            list.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        let texts = ["v1", "v2alpha1", "v1beta2", "v1alpha1", "v1beta1"];
        assert_eq!(sorted(&texts, Version::cmp), ["v1alpha1", "v1beta1", "v1beta2", "v1", "v2alpha1"]);
        assert_eq!(
            sorted(&texts, Version::compare_priority),
            ["v1alpha1", "v2alpha1", "v1beta1", "v1beta2", "v1"]
        );
    }
}

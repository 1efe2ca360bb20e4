//! One minor version.

use std::fmt;
use std::str::FromStr;

/// A minor version of Kubernetes 1 or of OpenShift, written as `1.30` and `4.17`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Minor {
    major: u16,
    minor: u16,
}

/// The reason why a string is not a minor version.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected a version such as `1.30`, or `4.17` for OpenShift")]
pub struct MinorError;

/// The reason why a string is not a minor version of OpenShift.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected MAJOR.MINOR, such as 4.17")]
pub struct OpenShiftMinorError;

impl Minor {
    /// Returns `1.minor` of Kubernetes.
    #[must_use]
    pub const fn kubernetes(minor: u16) -> Self {
        Self { major: 1, minor }
    }

    /// Returns `4.minor` of OpenShift.
    #[must_use]
    pub const fn openshift(minor: u16) -> Self {
        Self { major: 4, minor }
    }

    /// Parses `4.17` or `v4.17`, without a patch number, and minor versions of later major versions.
    ///
    /// # Errors
    /// The string is anything else.
    pub fn parse_openshift(text: &str) -> Result<Self, OpenShiftMinorError> {
        let number =
            |part: &str| part.parse().ok().filter(|_| part.bytes().all(|byte| byte.is_ascii_digit()));
        let (major, minor) =
            text.strip_prefix('v').unwrap_or(text).split_once('.').ok_or(OpenShiftMinorError)?;
        let version = number(major).zip(number(minor)).map(|(major, minor)| Self { major, minor });
        version.filter(|version| version.is_openshift()).ok_or(OpenShiftMinorError)
    }

    /// Returns the number after the dot, 30 for `1.30`.
    #[must_use]
    pub const fn number(self) -> u16 {
        self.minor
    }

    /// Returns whether this is a version of OpenShift.
    #[must_use]
    pub const fn is_openshift(self) -> bool {
        self.major >= 4
    }
}

impl fmt::Display for Minor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// Parses `1.30`, `v1.30` and `1.30.4`; the patch number is ignored.
impl FromStr for Minor {
    type Err = MinorError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let text = text.trim();
        let version = crate::version::tolerant(text).map_err(|_| MinorError)?;
        if !text.contains('.') || !matches!(version.major, 1 | 4) {
            return Err(MinorError);
        }
        let minor = u16::try_from(version.minor).map_err(|_| MinorError)?;
        Ok(if version.major == 1 { Self::kubernetes(minor) } else { Self::openshift(minor) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_openshift_have_two_numbers() {
        let parsed = |text: &str| Minor::parse_openshift(text);
        assert_eq!(parsed("v4.17"), Ok(Minor::openshift(17)));
        assert!(
            parsed("4.9").unwrap() < Minor::openshift(17) && parsed("4.100").unwrap() > Minor::openshift(17)
        );
        let next = parsed("5.0").unwrap();
        assert!(next > Minor::openshift(u16::MAX) && next.is_openshift() && next.to_string() == "5.0");
        for wrong in ["", "4", "4.", "4.17.1", "v4.17.3", "4.+7", " 4.17", "1.30", "3.11", "4.99999"] {
            assert_eq!(parsed(wrong), Err(OpenShiftMinorError), "{wrong}");
        }
    }
}

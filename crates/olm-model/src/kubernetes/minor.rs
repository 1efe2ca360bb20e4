//! One minor version.

use std::fmt;
use std::str::FromStr;

/// A minor version of Kubernetes 1 or of OpenShift 4, written as `1.30` and `4.17`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Minor {
    major: u16,
    minor: u16,
}

/// The reason why a string is not a minor version.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected a version such as `1.30`, or `4.17` for OpenShift")]
pub struct MinorError;

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

    /// Returns the number after the dot, 30 for `1.30`.
    #[must_use]
    pub const fn number(self) -> u16 {
        self.minor
    }

    /// Returns whether this is a version of OpenShift.
    #[must_use]
    pub const fn is_openshift(self) -> bool {
        self.major == 4
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

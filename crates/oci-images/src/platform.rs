//! The platforms of images.

use std::fmt;
use std::str::FromStr;

/// The operating system and architecture of an image, as Go names them: `linux/amd64`, `linux/arm/v7`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Platform {
    /// GOOS.
    pub os: String,
    /// GOARCH.
    pub architecture: String,
    /// The variant of the architecture, such as `v7`.
    pub variant: Option<String>,
}

impl Default for Platform {
    /// Returns `linux/amd64`, which images without programs, such as bundles, conventionally have.
    fn default() -> Self {
        Self { os: "linux".into(), architecture: "amd64".into(), variant: None }
    }
}

impl Platform {
    /// Returns whether an image for this platform is one for `wanted`: the variant matters only if `wanted` has one.
    #[must_use]
    pub fn satisfies(&self, wanted: &Self) -> bool {
        self.os == wanted.os
            && self.architecture == wanted.architecture
            && (wanted.variant.is_none() || self.variant == wanted.variant)
    }
}

impl FromStr for Platform {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let plain = |part: &&str| !part.is_empty() && part.chars().all(|c| c.is_ascii_alphanumeric());
        let parts: Vec<_> = text.split('/').collect();
        match parts.as_slice() {
            [os, architecture, variant @ ..] if variant.len() <= 1 && parts.iter().all(plain) => Ok(Self {
                os: (*os).to_owned(),
                architecture: (*architecture).to_owned(),
                variant: variant.first().map(|variant| (*variant).to_owned()),
            }),
            _ => Err("expected OS/ARCHITECTURE or OS/ARCHITECTURE/VARIANT, such as linux/arm64".into()),
        }
    }
}

impl fmt::Display for Platform {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.os, self.architecture)?;
        self.variant.iter().try_for_each(|variant| write!(formatter, "/{variant}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn platforms() {
        let parsed = |text: &str| text.parse::<Platform>().map(|platform| platform.to_string());
        assert_eq!(parsed("linux/amd64").unwrap(), "linux/amd64");
        assert_eq!(parsed("linux/arm/v7").unwrap(), "linux/arm/v7");
        for wrong in ["linux", "linux/", "/amd64", "linux/arm/v7/x", "linux/a b"] {
            assert!(parsed(wrong).is_err(), "{wrong} was accepted");
        }
    }
}

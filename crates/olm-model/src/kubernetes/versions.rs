//! Sets of minor versions of Kubernetes.

use std::fmt;
use std::ops::RangeInclusive;

use serde::Serialize;
use serde::ser::SerializeStruct;

use super::minor::Minor;
use super::table;

/// A set of minor versions of Kubernetes, from 1.0 to 1.63.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Versions(u64);

/// The reason why a string does not select versions.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum VersionsError {
    /// It is neither a version nor a range.
    #[error(
        "invalid Kubernetes version `{0}`: expected a version such as `1.30`, or a range such as `1.30..1.34`"
    )]
    Invalid(String),
    /// It is a version of OpenShift.
    #[error("invalid Kubernetes version `{0}`: this is a version of OpenShift, which --openshift selects")]
    OpenShift(String),
    /// The version is newer than those that the rules reproduce.
    #[error("unknown Kubernetes version `{0}`: the newest that this version of bundle-tool knows is {newest}", newest = table::newest())]
    Future(String),
    /// The range contains no version.
    #[error("empty range `{0}`: the first version is newer than the last one")]
    Empty(String),
    /// The version of OpenShift is not in the table.
    #[error("unknown OpenShift version `{0}`: expected one from 4.1 to {newest}, such as `4.17`", newest = newest_openshift())]
    UnknownOpenShift(String),
}

fn newest_openshift() -> String {
    table::openshift_versions().last().map(|(version, _)| version.to_string()).unwrap_or_default()
}

impl Versions {
    const LAST: u16 = 63;

    /// Returns the versions that the rules reproduce.
    #[must_use]
    pub fn reproduced() -> Self {
        table::releases().iter().map(|release| release.minor).collect()
    }

    /// Returns the versions that are supported upstream at the date of the table.
    #[must_use]
    pub fn supported() -> Self {
        let releases = table::releases().iter();
        releases
            .filter(|release| release.end_of_life > table::updated())
            .map(|release| release.minor)
            .collect()
    }

    /// Returns the versions from the first to the last one; those beyond 1.63 count as 1.63.
    #[must_use]
    pub fn range(first: Minor, last: Minor) -> Self {
        (first.number().min(Self::LAST)..=last.number().min(Self::LAST)).map(Minor::kubernetes).collect()
    }

    /// Returns the versions whose second numbers are in a range.
    #[must_use]
    pub fn of_numbers(numbers: &RangeInclusive<u16>) -> Self {
        Self::range(Minor::kubernetes(*numbers.start()), Minor::kubernetes(*numbers.end()))
    }

    /// Parses `1.30` and `1.30..1.34`; either end of a range may be missing.
    ///
    /// # Errors
    /// The string is neither a version nor a range, selects no version, or names a version that is newer than the table.
    pub fn parse(text: &str) -> Result<Self, VersionsError> {
        let one = |part: &str| match part.parse::<Minor>() {
            Ok(minor) if minor.is_openshift() => Err(VersionsError::OpenShift(part.to_owned())),
            Ok(minor) if minor > table::newest() => Err(VersionsError::Future(part.to_owned())),
            Ok(minor) => Ok(minor),
            Err(_) => Err(VersionsError::Invalid(text.to_owned())),
        };
        let Some((first, last)) = text.split_once("..") else {
            let only = one(text)?;
            return Ok(Self::range(only, only));
        };
        if first.is_empty() && last.is_empty() {
            return Err(VersionsError::Invalid(text.to_owned()));
        }
        let first = if first.is_empty() { table::oldest() } else { one(first)? };
        let last = if last.is_empty() { table::newest() } else { one(last)? };
        if first > last { Err(VersionsError::Empty(text.to_owned())) } else { Ok(Self::range(first, last)) }
    }

    /// Parses `4.17` as the version of Kubernetes in OpenShift 4.17, and `4.17..4.20` as those in a range of versions of OpenShift; either
    /// end of a range may be missing.
    ///
    /// # Errors
    /// The string is neither a version nor a range, selects no version, or names a version that is not in the table.
    pub fn parse_openshift(text: &str) -> Result<Self, VersionsError> {
        let one = |part: &str| {
            let unknown = || VersionsError::UnknownOpenShift(part.to_owned());
            let minor = Minor::parse_openshift(part).map_err(|_| unknown())?;
            table::of_openshift(minor).ok_or_else(unknown)
        };
        let (first, last) = text.split_once("..").unwrap_or((text, text));
        if first.is_empty() && last.is_empty() {
            return Err(VersionsError::UnknownOpenShift(text.to_owned()));
        }
        let known = table::openshift_versions();
        let end = |part: &str, missing: Option<&(Minor, Minor)>| match missing {
            Some((_, kubernetes)) if part.is_empty() => Ok(*kubernetes),
            _ => one(part),
        };
        let (first, last) = (end(first, known.first())?, end(last, known.last())?);
        if first > last { Err(VersionsError::Empty(text.to_owned())) } else { Ok(Self::range(first, last)) }
    }

    /// Returns whether the set is empty.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Returns whether the set contains a version.
    #[must_use]
    pub fn contains(self, minor: Minor) -> bool {
        !Self::from_iter([minor]).intersection(self).is_empty()
    }

    /// Returns the versions in either set.
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Returns the versions in both sets.
    #[must_use]
    pub const fn intersection(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Returns the versions that are not in the other set.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Returns the versions, the oldest first.
    pub fn iter(self) -> impl DoubleEndedIterator<Item = Minor> {
        (0..=Self::LAST).filter(move |minor| self.0 >> minor & 1 == 1).map(Minor::kubernetes)
    }

    /// Returns the oldest version.
    #[must_use]
    pub fn first(self) -> Option<Minor> {
        self.iter().next()
    }

    /// Returns the newest version.
    #[must_use]
    pub fn last(self) -> Option<Minor> {
        self.iter().next_back()
    }

    /// Returns the nearest versions that the rules reproduce: versions older than the table count as its oldest version, and newer
    /// ones as its newest version.
    #[must_use]
    pub fn nearest_reproduced(self) -> Self {
        let nearest = |minor: Minor| minor.clamp(table::oldest(), table::newest());
        self.iter().map(nearest).collect()
    }

    /// Returns the versions of OpenShift that contain these versions of Kubernetes, the oldest first.
    pub fn openshift(self) -> impl Iterator<Item = Minor> {
        self.iter().filter_map(table::openshift_of)
    }
}

impl FromIterator<Minor> for Versions {
    fn from_iter<I: IntoIterator<Item = Minor>>(minors: I) -> Self {
        let bit = |minor: Minor| if minor.number() > Self::LAST { 0 } else { 1 << minor.number() };
        Self(minors.into_iter().fold(0, |bits, minor| bits | bit(minor)))
    }
}

/// `1.30 to 1.32, 1.35`.
fn spans(minors: impl Iterator<Item = Minor>) -> String {
    let mut spans: Vec<(Minor, Minor)> = Vec::new();
    for minor in minors {
        match spans.last_mut() {
            Some((_, last)) if last.number() + 1 == minor.number() => *last = minor,
            _ => spans.push((minor, minor)),
        }
    }
    let written = spans.into_iter().map(|(first, last)| match last.number() - first.number() {
        0 => first.to_string(),
        1 => format!("{first} and {last}"),
        _ => format!("{first} to {last}"),
    });
    written.collect::<Vec<_>>().join(", ")
}

/// `Kubernetes 1.30 to 1.32 (OpenShift 4.17 to 4.19)`.
impl fmt::Display for Versions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Kubernetes {}", spans(self.iter()))?;
        let openshift = spans(self.openshift());
        if openshift.is_empty() { Ok(()) } else { write!(f, " (OpenShift {openshift})") }
    }
}

/// `{"kubernetes": ["1.30"], "openshift": ["4.17"]}`.
impl Serialize for Versions {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let text = |minors: &mut dyn Iterator<Item = Minor>| {
            minors.map(|minor| minor.to_string()).collect::<Vec<_>>()
        };
        let mut fields = serializer.serialize_struct("Versions", 2)?;
        fields.serialize_field("kubernetes", &text(&mut self.iter()))?;
        fields.serialize_field("openshift", &text(&mut self.openshift()))?;
        fields.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn newest_version_is_supported() {
        assert!(Versions::supported().contains(table::newest()));
        assert!(Versions::reproduced().without(Versions::supported()).contains(table::oldest()));
    }

    #[test]
    fn versions_and_ranges_are_parsed_and_written() {
        let written = |text: &str| Versions::parse(text).map(|versions| versions.to_string());
        assert_eq!(written("1.30").unwrap(), "Kubernetes 1.30 (OpenShift 4.17)");
        assert_eq!(written("v1.31.2").unwrap(), "Kubernetes 1.31 (OpenShift 4.18)");
        assert_eq!(written("1.30..1.32").unwrap(), "Kubernetes 1.30 to 1.32 (OpenShift 4.17 to 4.19)");
        assert_eq!(written("1.36..").unwrap(), "Kubernetes 1.36 and 1.37 (OpenShift 4.23)");
        assert_eq!(written("..1.30").unwrap(), "Kubernetes 1.30 (OpenShift 4.17)");
        let openshift = Versions::parse_openshift("4.17..4.18").unwrap();
        assert_eq!(openshift, Versions::parse("1.30..1.31").unwrap());
        let all: Vec<_> = table::openshift_versions().iter().map(|(_, kubernetes)| *kubernetes).collect();
        for (text, first, last) in
            [("4.17..", Minor::kubernetes(30), all[all.len() - 1]), ("..4.17", all[0], Minor::kubernetes(30))]
        {
            assert_eq!(Versions::parse_openshift(text).unwrap(), Versions::range(first, last), "{text}");
        }
        let apart: Versions = [30, 32, 33, 35].map(Minor::kubernetes).into_iter().collect();
        assert_eq!(spans(apart.iter()), "1.30, 1.32 and 1.33, 1.35");
    }

    #[test]
    fn whatever_selects_no_version_is_an_error() {
        let error = |text: &str| Versions::parse(text).unwrap_err().to_string();
        assert_eq!(
            error("4.20"),
            "invalid Kubernetes version `4.20`: this is a version of OpenShift, which --openshift selects"
        );
        assert!(error("1.99").starts_with("unknown Kubernetes version `1.99`: the newest"));
        assert!(error("1.34..1.30").starts_with("empty range"));
        for text in ["", "latest", "..", "1", "30", "2.1", "1.x", "1.30...1.31", "-1.30", "1.30-1.32"] {
            assert!(error(text).starts_with("invalid Kubernetes version"), "{text}: {}", error(text));
        }
        for text in ["4.99", "1.30", "v", "4", "", "..", "4.17...4.18"] {
            let error = Versions::parse_openshift(text).unwrap_err().to_string();
            assert!(error.starts_with("unknown OpenShift version"), "{text}: {error}");
        }
    }

    #[test]
    fn versions_beyond_the_table_count_as_its_ends() {
        let claimed: Versions = [21, 29].map(Minor::kubernetes).into_iter().collect();
        assert_eq!(claimed.nearest_reproduced(), Versions::from_iter([table::oldest()]));
        let far = Versions::range(Minor::kubernetes(99), Minor::kubernetes(u16::MAX));
        assert_eq!(far.nearest_reproduced(), Versions::from_iter([table::newest()]));
    }
}

//! From which versions an operator is upgraded: `replaces`, `skips` and the annotation `olm.skipRange`.

use std::collections::HashMap;

use serde_json::{Value as Json, json};

use super::error::Error;
use super::json::{items, map_mut, set, string_at};
use super::options::{Replaces, Upgrade};
use super::{base, report::GenerateReport};
use olm_model::catalog::Catalog;
use olm_model::version::Range;

impl Upgrade {
    /// Adds it to the CSV of a version in a channel.
    ///
    /// # Errors
    /// The range is not valid.
    pub(crate) fn apply(
        &self,
        package: &str,
        version: &semver::Version,
        channel: &str,
        csv: &mut Json,
        report: &mut GenerateReport,
    ) -> Result<(), Error> {
        // `v1.0.0` is a version, too, as it is for --version.
        let full = |text: &str| match semver::Version::parse(text.strip_prefix('v').unwrap_or(text)) {
            Ok(version) => format!("{package}.v{version}"),
            Err(_) => text.to_owned(),
        };
        if let Some(range) = &self.skip_range {
            Range::parse(range).map_err(|reason| Error::SkipRange { range: range.clone(), reason })?;
            if let Some(annotations) = base::annotations(csv) {
                set(annotations, "olm.skipRange", range.as_str().into());
            }
        }
        if let Some(spec) = map_mut(csv, "spec") {
            let replaces = match &self.replaces {
                Some(Replaces::Csv(csv)) => Some(full(csv)),
                Some(Replaces::HighestIn(catalog)) => {
                    predecessor(&versions(catalog, package, channel), version).map(str::to_owned)
                }
                None => None,
            };
            if let Some(replaces) = replaces {
                set(spec, "replaces", replaces.into());
            }
            if !self.skips.is_empty() {
                let skips: Vec<String> = self.skips.iter().map(|skip| full(skip)).collect();
                set(spec, "skips", json!(skips));
            }
        }
        let replaces = [string_at(csv, &["spec", "replaces"])];
        let skips = items(csv, &["spec", "skips"]).iter().filter_map(Json::as_str);
        let all =
            replaces.into_iter().map(|name| ("replaces", name)).chain(skips.map(|name| ("skips", name)));
        for (field, name) in all {
            if !name.is_empty() && !name.starts_with(&format!("{package}.")) {
                let name = name.escape_debug();
                report.warn_at(
                    None,
                    format!("spec.{field} `{name}` does not begin with `{package}.`: check that it is the name of a CSV of package \
                         {package}"),
                );
            }
        }
        Ok(())
    }
}

/// Checks that a CSV does not replace or skip itself.
pub(crate) fn check(csv: &Json) -> Result<(), Error> {
    let name = base::name(csv);
    let is_skipped = || items(csv, &["spec", "skips"]).iter().any(|skip| skip.as_str() == Some(name));
    let field = if string_at(csv, &["spec", "replaces"]) == name {
        "replaces"
    } else if is_skipped() {
        "skips"
    } else {
        return Ok(());
    };
    Err(Error::OwnPredecessor { name: name.to_owned(), field })
}

/// Returns the name of the highest version below `version`, from which the channel upgrades.
///
/// `entries` are the CSVs of a channel with their versions.
fn predecessor<'e>(entries: &[(&'e str, semver::Version)], version: &semver::Version) -> Option<&'e str> {
    entries.iter().filter(|(_, other)| other < version).max_by_key(|(_, other)| other).map(|(name, _)| *name)
}

/// Returns the CSVs of a channel with their versions.
fn versions<'c>(catalog: &'c Catalog, package: &str, channel: &str) -> Vec<(&'c str, semver::Version)> {
    let bundles: HashMap<&str, _> = catalog
        .bundles
        .iter()
        .filter(|bundle| bundle.package == package)
        .map(|bundle| (bundle.name.as_str(), bundle))
        .collect();
    let names = catalog
        .channels
        .iter()
        .filter(|other| other.package == package && other.name == channel)
        .flat_map(|channel| &channel.entries)
        .map(|entry| entry.name.as_str());
    let version = |name: &str| {
        let property =
            bundles.get(name)?.properties.iter().find(|property| property.r#type == "olm.package")?;
        property.value["version"].as_str()?.parse().ok()
    };
    names.filter_map(|name| Some((name, version(name)?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn apply(upgrade: &Upgrade, csv: &mut Json) -> Result<(), Error> {
        upgrade.apply("a", &semver::Version::new(2, 0, 0), "stable", csv, &mut GenerateReport::default())?;
        check(csv)
    }

    #[test]
    fn ranges_are_those_of_olm() {
        let of_range = |range: &str| {
            let mut csv = json!({"metadata": {"name": "a.v2.0.0"}, "spec": {}});
            let upgrade = Upgrade { skip_range: Some(range.to_owned()), ..Upgrade::default() };
            apply(&upgrade, &mut csv).map_err(|error| error.to_string())
        };
        for range in [">=1.0.0 <1.2.0", ">= 1.0.0 < 1.2.0-rc.1", "1.2.x", ">=1.0.0 <2.0.0 || >3.0.0 !4.2.1"] {
            assert_eq!(of_range(range), Ok(()), "{range}");
        }
        for (range, part) in [
            ("~1.0.0", "invalid operator `~`"),
            ("", "must contain a version"),
            (">=", "missing version in `>=`"),
            (">=1.0.0 <v2", "invalid operator `<v`"),
            ("1.0.0 ||", "missing version at the end"),
            // OLM rejects what is not a whole version.
            (">=1.2 <2.0.0", "invalid version `1.2`"),
        ] {
            let error = of_range(range).unwrap_err();
            assert!(error.starts_with(&format!("invalid skip range `{range}`: {part}")), "{range}: {error}");
        }
    }

    #[test]
    fn the_predecessor_is_the_highest_lower_version() {
        let entries = [("a", "1.0.0"), ("b", "1.10.0"), ("c", "1.9.0"), ("d", "2.0.0")]
            .map(|(name, version)| (name, version.parse().unwrap()));
        assert_eq!(predecessor(&entries, &"1.10.1".parse().unwrap()), Some("b"));
        assert_eq!(predecessor(&entries, &"1.0.0".parse().unwrap()), None);
    }

    #[test]
    fn versions_become_names_and_a_csv_cannot_follow_itself() {
        let mut csv = json!({"metadata": {"name": "a.v2.0.0"}, "spec": {}});
        let upgrade = Upgrade {
            replaces: Some(Replaces::Csv("1.0.0".into())),
            skips: vec!["v1.0.1".into(), "a.v1.0.2".into()],
            skip_range: Some("<2.0.0".into()),
        };
        apply(&upgrade, &mut csv).unwrap();
        assert_eq!(csv["spec"], json!({"replaces": "a.v1.0.0", "skips": ["a.v1.0.1", "a.v1.0.2"]}));
        assert_eq!(csv["metadata"]["annotations"]["olm.skipRange"], "<2.0.0");
        let own = Upgrade { replaces: Some(Replaces::Csv("2.0.0".into())), ..Upgrade::default() };
        assert!(apply(&own, &mut csv).is_err());
    }
}

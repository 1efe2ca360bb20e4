//! The substitutes template: a catalog in which rebuilt bundles take the places of others.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use super::parts::{Bundles, TemplateError, entries, find};
use kube_yaml::{Path, Value, decode_ignoring_case};
use olm_model::catalog::{Bundle, Catalog, Entry};
use olm_model::version;
use olm_model::version::Version;

pub(crate) const SCHEMA: &str = "olm.template.substitutes";

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Data {
    substitutions: Vec<Substitution>,
}

/// A bundle that takes the place of another one.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Substitution {
    /// The image of the new bundle.
    name: String,
    /// The name of the other bundle.
    base: String,
}

#[derive(Debug)]
pub(crate) struct Substitutes {
    catalog: Catalog,
    substitutions: Vec<Substitution>,
}

impl Substitutes {
    pub(crate) fn read(root: Value<'_>) -> Result<Self, TemplateError> {
        let catalog = entries(root)?;
        let data = decode_ignoring_case::<Data>(root, &Path::ROOT)?.object;
        let (mut bases, mut names) = (BTreeSet::new(), BTreeMap::new());
        for substitution in &data.substitutions {
            let Substitution { name, base } = substitution;
            let wrong = |reason: &str| substitution.wrong(reason);
            if name.is_empty() || base.is_empty() {
                return Err(wrong("`name` and `base` must not be empty"));
            }
            if name == base {
                return Err(wrong("`name` and `base` must differ"));
            }
            if !bases.insert(base) {
                return Err(wrong("the bundle already has a substitute"));
            }
            if let Some(other) = names.insert(name, base) {
                return Err(wrong(&format!("the image is already the substitute of `{other}`")));
            }
        }
        Ok(Self { catalog, substitutions: data.substitutions })
    }

    pub(crate) fn images(&self) -> BTreeSet<&str> {
        self.substitutions.iter().map(|substitution| substitution.name.as_str()).collect()
    }

    pub(crate) fn build(mut self, bundles: &Bundles) -> Result<Catalog, TemplateError> {
        for substitution in &self.substitutions {
            let new = &find(bundles, &substitution.name)?.bundle;
            let Some(old) = self.catalog.bundles.iter().find(|bundle| bundle.name == substitution.base)
            else {
                return Err(substitution.wrong("the bundle is not in the catalog"));
            };
            match (order(old), order(new)) {
                (Ok(old), Ok(new)) if old < new => {}
                (Ok(_), Ok(_)) => {
                    return Err(substitution.wrong("the substitute does not have a higher version"));
                }
                (Err(error), _) | (_, Err(error)) => return Err(error),
            }
            for channel in &mut self.catalog.channels {
                substitution.apply(&mut channel.entries, &new.name);
            }
            self.catalog.bundles.push(new.clone());
        }
        Ok(self.catalog)
    }
}

impl Substitution {
    fn wrong(&self, reason: &str) -> TemplateError {
        let (base, name) = (self.base.clone(), self.name.clone());
        TemplateError::Substitution { base, name, reason: reason.to_owned() }
    }

    /// Gives the edges of the bundle to its substitute, which skips it; what led to the bundle leads to the substitute.
    fn apply(&self, entries: &mut Vec<Entry>, name: &str) {
        let mut new = Vec::new();
        for entry in entries.iter_mut().rev().filter(|entry| entry.name == self.base) {
            let mut substitute =
                std::mem::replace(entry, Entry { name: self.base.clone(), ..Entry::default() });
            name.clone_into(&mut substitute.name);
            substitute.skips.push(self.base.clone());
            new.push(substitute);
        }
        for entry in entries.iter_mut() {
            if entry.replaces == self.base {
                name.clone_into(&mut entry.replaces);
                entry.skips.push(self.base.clone());
            } else if entry.skips.contains(&self.base) {
                entry.skips.push(name.to_owned());
                entry.skips.retain(|skip| *skip != self.base);
            }
        }
        entries.extend(new);
    }
}

/// A version with its release, which may be written as build metadata in bundles that substitute for others.
fn order(bundle: &Bundle) -> Result<(Version, bool, semver::Prerelease), TemplateError> {
    let wrong = |error| TemplateError::Version { bundle: bundle.name.clone(), error };
    let package = bundle.property("olm.package");
    let mut version = version::strict(package["version"].as_str().unwrap_or_default()).map_err(wrong)?;
    let mut release = package["release"].as_str().unwrap_or_default().to_owned();
    let build = std::mem::replace(&mut version.build, semver::BuildMetadata::EMPTY);
    let annotations = &bundle.property("olm.csv.metadata")["annotations"];
    let is_substitute = annotations["olm.substitutesFor"].as_str().is_some_and(|name| !name.is_empty());
    if release.is_empty() && is_substitute {
        build.as_str().clone_into(&mut release);
    }
    let release = semver::Prerelease::new(&release).unwrap_or(semver::Prerelease::EMPTY);
    Ok((version, !release.is_empty(), release))
}

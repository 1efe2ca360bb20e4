//! How commands render bundles into blobs: from where, and in which form.

use std::io::Write as _;

use anyhow::{Result, bail};
use clap::{Args, ValueEnum};

use super::bundles;
use super::images::{Location, RegistryArgs};
use super::runtime::SharedRuntime;
use crate::terminal::messages;
use kube_yaml::text::{counted, printable};
use olm_catalog::template::Rendered;
use olm_catalog::{Omitted, RenderError};
use olm_model::catalog::{Bundle, Icon};
use olm_model::csv::ClusterServiceVersion;

// The form of bundles in a catalog.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct Rendering {
    /// Apply migrations up to this one [default: bundles rendered from an image get olm.csv.metadata; bundles already
    /// in a catalog are unchanged]
    #[arg(long, value_enum, value_name = "LEVEL")]
    migrate_level: Option<MigrateLevel>,
    /// Apply all migrations
    #[arg(long, conflicts_with = "migrate_level")]
    migrate: bool,
    /// Keep only what consoles read: remove alm-examples, descriptors and resources from olm.csv.metadata; applies all migrations
    #[arg(long)]
    minimal: bool,
}

/// The migrations of `opm`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum MigrateLevel {
    /// No migration: bundles keep `olm.bundle.object`
    None,
    /// Replace `olm.bundle.object` with `olm.csv.metadata`
    BundleObjectToCsvMetadata,
    /// All migrations
    All,
}

impl Rendering {
    /// Returns the form of a migration level.
    pub(crate) fn at(level: MigrateLevel) -> Self {
        Self { migrate_level: Some(level), ..Self::default() }
    }

    /// Returns the form in which `catalog migrate` writes bundles.
    pub(crate) fn migrated(minimal: bool) -> Self {
        Self { migrate_level: Some(MigrateLevel::All), migrate: false, minimal }
    }

    /// Returns whether no form was asked for.
    pub(crate) fn is_default(&self) -> bool {
        self.migrate_level.is_none() && !self.migrate && !self.minimal
    }

    /// Renders a bundle; `image` is the image that it is or will be pushed to.
    pub(crate) fn blob(
        &self,
        bundle: &olm_model::Bundle,
        image: Option<&str>,
    ) -> Result<Bundle, RenderError> {
        match self.migrate_level {
            Some(MigrateLevel::None) if !self.minimal => olm_catalog::render_with_objects(bundle, image),
            _ => olm_catalog::render(bundle, image),
        }
    }

    /// Brings the bundles of a template's catalog into this form: opm migrates only those that it renders.
    pub(crate) fn apply_to_template(&self, bundles: &mut [Bundle]) -> Result<()> {
        if self.minimal {
            self.apply(bundles)?;
        }
        Ok(())
    }

    /// Brings bundles into this form; what is omitted is reported on standard error. Returns which were changed.
    pub(crate) fn apply(&self, bundles: &mut [Bundle]) -> Result<Vec<bool>> {
        let mut changed = vec![false; bundles.len()];
        let migrates = self.migrate_level.is_some_and(|level| level != MigrateLevel::None);
        if self.migrate || self.minimal || migrates {
            for (bundle, changed) in bundles.iter_mut().zip(&mut changed) {
                *changed =
                    olm_catalog::migrate(bundle, |text| kube_yaml::parse(text).documents.into_iter().next())?;
            }
        }
        if self.minimal {
            let mut omitted = Omitted::default();
            for (bundle, changed) in bundles.iter_mut().zip(&mut changed) {
                let found = olm_catalog::minimize(bundle);
                *changed |= found.bytes > 0;
                omitted.add(found);
            }
            writeln!(
                messages(),
                "omitted {} from {}: alm-examples of {}, descriptors and resources of {}",
                counted(omitted.bytes, "byte"),
                counted(omitted.bundles, "bundle"),
                omitted.examples,
                counted(omitted.apis, "API")
            )?;
        }
        Ok(changed)
    }

    /// Renders the bundle of a REF. `image` is the image that the bundle is or will be pushed to: if it is the REF itself, as for the
    /// images that a template names, it must be the name of an image in a registry.
    pub(crate) fn rendered(
        &self,
        reference: &str,
        image: Option<&str>,
        registries: &RegistryArgs,
        runtime: &SharedRuntime,
    ) -> Result<Rendered> {
        let is_in_registry = || -> Result<bool> {
            Ok(Location::of_image(reference)?.is_some_and(|location| location.registry().is_some()))
        };
        // A template comes from others, and would have a local path as the image of its bundle.
        if image == Some(reference) && !is_in_registry()? {
            bail!(
                "invalid image `{}`: expected the name of an image in a registry, such as quay.io/example/gizmo-bundle:v1.0.0",
                printable(reference)
            );
        }
        let bundle = bundles::read_complete(reference, registries, runtime)?;
        // The image of a bundle in a registry is its own.
        let pulled =
            Location::of_image(reference)?.and_then(|location| location.registry().map(|_| reference));
        let blob = self.blob(&bundle, image.or(pulled))?;
        let csv =
            bundle.csv().and_then(|csv| csv.decode::<ClusterServiceVersion>().ok()).map(|csv| csv.object);
        let icon = csv.as_ref().and_then(|csv| csv.spec.icon.first());
        let icon =
            icon.map(|icon| Icon { base64data: icon.base64data.clone(), mediatype: icon.mediatype.clone() });
        Ok(Rendered {
            bundle: blob,
            description: csv.map(|csv| csv.spec.description).unwrap_or_default(),
            icon,
        })
    }
}

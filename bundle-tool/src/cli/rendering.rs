//! How commands render bundles into blobs: from where, and in which form.

use std::io::{self, Write as _};

use anyhow::Result;
use clap::{Args, ValueEnum};

use super::bundles;
use super::images::{Location, Registries};
use super::runtime::SharedRuntime;
use crate::catalog::template::Rendered;
use crate::catalog::{self, Omitted, RenderError};
use crate::model;
use crate::model::catalog::{Bundle, Icon};
use crate::model::csv::ClusterServiceVersion;
use crate::model::text::counted;
use crate::read::yaml;

// The form of bundles in a catalog.
#[derive(Debug, Clone, Default, Args)]
pub(super) struct Rendering {
    /// Last migration to apply; without it, a rendered bundle with an image gets olm.csv.metadata, and bundles of catalogs do
    /// not change
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
enum MigrateLevel {
    /// No migration: bundles keep `olm.bundle.object`
    None,
    /// Replace `olm.bundle.object` with `olm.csv.metadata`
    BundleObjectToCsvMetadata,
    /// All migrations
    All,
}

impl Rendering {
    /// Returns the form in which `catalog migrate` writes bundles.
    pub(super) fn migrated(minimal: bool) -> Self {
        Self { migrate_level: Some(MigrateLevel::All), migrate: false, minimal }
    }

    /// Renders a bundle; `image` is the image that it is or will be pushed to.
    pub(super) fn blob(&self, bundle: &model::Bundle, image: Option<&str>) -> Result<Bundle, RenderError> {
        match self.migrate_level {
            Some(MigrateLevel::None) if !self.minimal => catalog::render_with_objects(bundle, image),
            _ => catalog::render(bundle, image),
        }
    }

    /// Brings the bundles of a template's catalog into this form: opm migrates only those that it renders.
    pub(super) fn apply_to_template(&self, bundles: &mut [Bundle]) -> Result<()> {
        if self.minimal {
            self.apply(bundles)?;
        }
        Ok(())
    }

    /// Brings bundles into this form; what is omitted is reported on standard error. Returns which were changed.
    pub(super) fn apply(&self, bundles: &mut [Bundle]) -> Result<Vec<bool>> {
        let mut changed = vec![false; bundles.len()];
        let migrates = self.migrate_level.is_some_and(|level| level != MigrateLevel::None);
        if self.migrate || self.minimal || migrates {
            for (bundle, changed) in bundles.iter_mut().zip(&mut changed) {
                *changed = catalog::migrate(bundle, |text| yaml::parse(text).documents.into_iter().next())?;
            }
        }
        if self.minimal {
            let mut omitted = Omitted::default();
            for (bundle, changed) in bundles.iter_mut().zip(&mut changed) {
                let found = catalog::minimize(bundle);
                *changed |= found.bytes > 0;
                omitted.add(found);
            }
            writeln!(
                io::stderr(),
                "omitted {} from {}: alm-examples of {}, descriptors and resources of {}",
                counted(omitted.bytes, "byte"),
                counted(omitted.bundles, "bundle"),
                omitted.examples,
                counted(omitted.apis, "API")
            )?;
        }
        Ok(changed)
    }

    /// Renders the bundle of a REF. `image` is the image that the bundle is or will be pushed to.
    pub(super) fn rendered(
        &self,
        reference: &str,
        image: Option<&str>,
        registries: &Registries,
        runtime: &SharedRuntime,
    ) -> Result<Rendered> {
        let bundle = bundles::read(reference, registries, runtime)?;
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

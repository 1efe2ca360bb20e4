//! The arguments of commands that are about upgrades: two bundles, or a catalog with an edge for each upgrade.

use std::path::PathBuf;

use clap::Args;

// What is upgraded.
#[derive(Debug, Args)]
pub(crate) struct Versions {
    /// Bundle to upgrade from: a directory, `oci:DIR`, `oci-archive:FILE` or an image
    // `mut_arg` would put it behind NEW.
    #[arg(index = 1, value_name = "OLD", required_unless_present = "catalog", conflicts_with = "catalog")]
    old: Option<String>,
    /// Bundle to upgrade to
    #[arg(index = 2, value_name = "NEW", required_unless_present = "catalog", conflicts_with = "catalog")]
    new: Option<String>,
    /// Catalog whose upgrade edges are used instead of two bundles: a directory, a file, `oci:DIR`, `oci-archive:FILE`, an
    /// image name, or `-` for standard input
    #[arg(long, value_name = "REF")]
    pub(crate) catalog: Option<String>,
    /// Bundle directory, or a directory with bundles up to three levels deep (repeatable) [default: what the catalog
    /// contains as olm.bundle.object]
    #[arg(long, value_name = "DIR", conflicts_with = "old")]
    pub(crate) bundles: Vec<PathBuf>,
    /// Package of the catalog [default: all of them]
    #[arg(long, value_name = "NAME", conflicts_with = "old")]
    pub(crate) package: Option<String>,
}

impl Versions {
    /// Returns the two bundles, or `None` if a catalog is given instead.
    pub(crate) fn pair(&self) -> Option<(&str, &str)> {
        self.old.as_deref().zip(self.new.as_deref())
    }
}

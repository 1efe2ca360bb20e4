//! The output formats of catalogs: JSON, indented by four spaces, and YAML.

use std::io::{self, Write};

use anyhow::{Result, bail};

use super::super::cobra::Matches;
use olm_model::catalog::Catalog;

/// The formats of catalogs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    Json,
    Yaml,
}

impl Format {
    /// Returns the format of `--output`.
    pub(crate) fn from_matches(matches: &Matches) -> Result<Self> {
        match matches.text("output") {
            "json" => Ok(Self::Json),
            "yaml" => Ok(Self::Yaml),
            other => bail!("invalid --output value {other:?}, expected (json|yaml)"),
        }
    }

    /// Returns the file extension.
    pub(crate) fn extension(self) -> &'static str {
        match self {
            Self::Json => "json",
            Self::Yaml => "yaml",
        }
    }

    /// Writes a catalog.
    pub(crate) fn write(self, catalog: &Catalog, out: &mut impl Write) -> io::Result<()> {
        match self {
            Self::Json => catalog.write_json(out),
            Self::Yaml => catalog.write_yaml(out),
        }
    }

    /// Prints a catalog.
    pub(crate) fn print(self, catalog: &Catalog) -> Result<()> {
        let mut out = io::BufWriter::with_capacity(64 << 10, io::stdout().lock());
        self.write(catalog, &mut out)?;
        out.flush()?;
        Ok(())
    }
}

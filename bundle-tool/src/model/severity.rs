//! How bad a finding or a note is.

use std::fmt;

use serde::Serialize;

/// How bad it is, from bad to good.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The API server, OLM or a catalog's checks reject it.
    Error,
    /// Not rejected, but likely to cause problems.
    Warning,
    /// For information.
    Info,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Info => "info",
        })
    }
}

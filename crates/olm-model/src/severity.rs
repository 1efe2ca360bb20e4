//! How bad a finding or a note is.

use std::fmt;

use serde::{Deserialize, Serialize};

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

/// What users let the findings of a rule count as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub enum Level {
    /// They are ignored.
    Allow,
    /// They are warnings.
    Warn,
    /// They are errors.
    Deny,
}

impl TryFrom<String> for Level {
    type Error = String;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        match text.as_str() {
            "allow" => Ok(Self::Allow),
            "warn" => Ok(Self::Warn),
            "deny" => Ok(Self::Deny),
            _ => Err(format!("unknown level `{text}`: must be `allow`, `warn` or `deny`")),
        }
    }
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

//! One finding: the rule, the severity, the message, the place and the help.

use std::fmt;

use serde::Serialize;

pub use crate::model::Severity;

/// A set of rules that is enabled by name; [`Suite::Bundle`] is always enabled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Suite {
    /// What the API server, OLM and operator-sdk's default validation reject.
    Bundle,
    /// What OperatorHub.io requires of a CSV.
    #[serde(rename = "operatorhubv2")]
    OperatorHubV2,
    /// The capability levels known to OperatorHub.io.
    Capabilities,
    /// The categories known to OperatorHub.io.
    Categories,
    /// What the Operator Framework recommends.
    GoodPractices,
    /// APIs that Kubernetes has removed.
    DeprecatedApis,
    /// What OLM v1 rejects and OLM v0 accepts.
    Olmv1,
}

impl Suite {
    /// All suites.
    pub const ALL: [Self; 7] = [
        Self::Bundle,
        Self::OperatorHubV2,
        Self::Capabilities,
        Self::Categories,
        Self::GoodPractices,
        Self::DeprecatedApis,
        Self::Olmv1,
    ];

    /// The suite's name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bundle => "bundle",
            Self::OperatorHubV2 => "operatorhubv2",
            Self::Capabilities => "capabilities",
            Self::Categories => "categories",
            Self::GoodPractices => "good-practices",
            Self::DeprecatedApis => "deprecated-apis",
            Self::Olmv1 => "olmv1",
        }
    }
}

impl fmt::Display for Suite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// One defect, at one place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Finding {
    /// The rule's id: `owned-crd-missing`.
    pub rule: &'static str,
    /// The suite that the rule belongs to.
    pub suite: Suite,
    /// The severity, from the rule.
    pub severity: Severity,
    /// The message: one fact, lower case, without a final period.
    pub message: String,
    /// An instruction that fixes the finding.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub help: &'static str,
    /// The path of the file below the bundle's directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The line, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// The column in characters, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<u32>,
    /// The field: `spec.customresourcedefinitions.owned[0]`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_suite_has_one_name_everywhere() {
        for suite in Suite::ALL {
            assert_eq!(serde_json::to_value(suite).unwrap(), suite.to_string());
        }
        assert!(Suite::ALL.is_sorted());
    }
}

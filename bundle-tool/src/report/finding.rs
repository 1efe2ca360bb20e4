//! One finding: the rule, the severity, the message, the place and the help.

use std::fmt;

use serde::Serialize;

/// The severity of a rule and its findings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The API server, OLM, operator-sdk or OperatorHub.io rejects the bundle.
    Error,
    /// Not rejected, but likely to cause problems.
    Warning,
    /// Information only.
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

/// A set of rules that is enabled by name; [`Suite::Bundle`] is always enabled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Suite {
    /// Rules of the API server, OLM and operator-sdk's default validation
    Bundle,
    /// Rules of OperatorHub.io for CSVs
    #[serde(rename = "operatorhubv2")]
    #[value(name = "operatorhubv2")]
    OperatorHubV2,
    /// Capability levels of OperatorHub.io
    Capabilities,
    /// Categories of OperatorHub.io
    Categories,
    /// Recommendations of the Operator Framework
    GoodPractices,
    /// Uses of APIs that were removed from Kubernetes
    DeprecatedApis,
}

impl fmt::Display for Suite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Bundle => "bundle",
            Self::OperatorHubV2 => "operatorhubv2",
            Self::Capabilities => "capabilities",
            Self::Categories => "categories",
            Self::GoodPractices => "good-practices",
            Self::DeprecatedApis => "deprecated-apis",
        })
    }
}

/// One defect, at one place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
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
    use clap::ValueEnum;

    use super::*;

    #[test]
    fn a_suite_has_one_name_everywhere() {
        for suite in Suite::value_variants() {
            let printed = suite.to_string();
            assert_eq!(serde_json::to_value(suite).unwrap(), printed);
            assert_eq!(suite.to_possible_value().unwrap().get_name(), printed);
        }
    }
}

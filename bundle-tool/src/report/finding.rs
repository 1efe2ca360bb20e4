//! One finding: which rule, how bad, what is wrong, where, and what to do.

use std::fmt;

use serde::Serialize;

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The API server, OLM or a listing's checks refuse it.
    Error,
    /// Nobody refuses it, but it will bite.
    Warning,
    /// Good to know.
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

/// A set of rules that is switched on by name; [`Suite::Bundle`] is always on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Suite {
    /// What the API server, OLM and operator-sdk's default validation refuse
    Bundle,
    /// What OperatorHub.io asks of a CSV
    #[serde(rename = "operatorhubv2")]
    #[value(name = "operatorhubv2")]
    OperatorHubV2,
    /// The capability levels that OperatorHub.io knows
    Capabilities,
    /// The categories that OperatorHub.io has
    Categories,
    /// What the Operator Framework recommends
    GoodPractices,
    /// APIs that Kubernetes has removed
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
    /// How bad it is.
    pub severity: Severity,
    /// What is wrong.
    pub message: String,
    /// What to do.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub help: &'static str,
    /// The file, below the bundle's folder.
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

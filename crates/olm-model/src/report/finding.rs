//! One finding: the rule, the severity, the message, the place and the help.

use std::borrow::Cow;
use std::fmt;

use serde::Serialize;

use super::excerpt::Excerpt;
use super::fix::Fix;
pub use crate::Severity;
use crate::kubernetes::Versions;

/// A set of rules that is enabled by name; [`Suite::Bundle`] and [`Suite::Catalog`] are always enabled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Suite {
    /// What the API server, OLM and operator-sdk's default validation reject.
    Bundle,
    /// What opm rejects in catalogs.
    Catalog,
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
    /// What OpenShift rejects under its default security context constraints, and how a bundle declares its versions.
    Openshift,
    /// What an operator needs in a cluster without access to public registries.
    Disconnected,
    /// The processor architectures that an operator declares.
    Multiarch,
    /// What the pipeline of the OpenShift community catalog requires of a submission.
    Community,
    /// What operator-sdk's optional validator `community` rejects, which is older than the pipeline.
    SdkCommunity,
    /// What preflight requires of a bundle that is certified for OpenShift.
    Preflight,
}

impl Suite {
    /// All suites.
    pub const ALL: [Self; 14] = [
        Self::Bundle,
        Self::Catalog,
        Self::OperatorHubV2,
        Self::Capabilities,
        Self::Categories,
        Self::GoodPractices,
        Self::DeprecatedApis,
        Self::Olmv1,
        Self::Openshift,
        Self::Disconnected,
        Self::Multiarch,
        Self::Community,
        Self::SdkCommunity,
        Self::Preflight,
    ];

    /// The suite's name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bundle => "bundle",
            Self::Catalog => "catalog",
            Self::OperatorHubV2 => "operatorhubv2",
            Self::Capabilities => "capabilities",
            Self::Categories => "categories",
            Self::GoodPractices => "good-practices",
            Self::DeprecatedApis => "deprecated-apis",
            Self::Olmv1 => "olmv1",
            Self::Openshift => "openshift",
            Self::Disconnected => "disconnected",
            Self::Multiarch => "multiarch",
            Self::Community => "community",
            Self::SdkCommunity => "sdk-community",
            Self::Preflight => "preflight",
        }
    }

    /// What the rules of the suite reproduce, in a few words.
    #[must_use]
    pub const fn description(self) -> &'static str {
        match self {
            Self::Bundle => {
                "Rules of the API server, OLM and operator-sdk's default validation (always enabled)"
            }
            Self::Catalog => "Rules of opm for catalogs (always enabled)",
            Self::OperatorHubV2 => "Rules of OperatorHub.io for CSVs",
            Self::Capabilities => "Capability levels of OperatorHub.io",
            Self::Categories => "Categories of OperatorHub.io",
            Self::GoodPractices => "Recommendations of the Operator Framework",
            Self::DeprecatedApis => "Uses of APIs that were removed from Kubernetes",
            Self::Olmv1 => "What OLM v1 rejects and OLM v0 accepts",
            Self::Openshift => "What OpenShift rejects by default, and declarations of OpenShift versions",
            Self::Disconnected => "What clusters without access to public registries need",
            Self::Multiarch => "The CPU architectures that an operator declares",
            Self::Community => "Requirements of the OpenShift community catalog",
            Self::SdkCommunity => "Removed APIs as in operator-sdk's deprecated validator `community`",
            Self::Preflight => "Requirements of preflight, the certification tool for OpenShift",
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
    pub help: Cow<'static, str>,
    /// The path of the file below the directory of the bundle or catalog.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The line, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// The column in characters, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<u32>,
    /// The column behind what is wrong, in the same line.
    #[serde(rename = "endColumn", skip_serializing_if = "Option::is_none")]
    pub end_column: Option<u32>,
    /// The field: `spec.customresourcedefinitions.owned[0]`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The versions of Kubernetes that the finding holds for, if it does not for all that the bundle is validated for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub versions: Option<Versions>,
    /// Other places that explain the finding.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub related: Vec<Related>,
    /// How the finding can be fixed without its author.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fix: Option<Box<Fix>>,
    /// Why the finding does not count, if it is ignored.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ignored: Option<Ignored>,
    /// The line that the finding points at.
    #[serde(skip)]
    pub excerpt: Option<Excerpt>,
    /// Whether the place is one in a text, such as that of a syntax error, not a field with its value.
    #[serde(skip)]
    pub at_text_position: bool,
}

/// A place that explains a finding: `first defined here`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Related {
    /// What is there.
    pub message: String,
    /// The path of the file below the bundle's directory.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
    /// The column in characters, from 1.
    pub column: u32,
    /// The line itself.
    #[serde(skip)]
    pub excerpt: Option<Excerpt>,
}

impl Related {
    /// Returns a place without its line.
    #[must_use]
    pub fn new(message: impl Into<String>, file: impl Into<String>, line: u32, column: u32) -> Self {
        Self { message: message.into(), file: file.into(), line, column, excerpt: None }
    }
}

/// Who ignores a finding, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Ignored {
    /// Where it is ignored.
    pub by: IgnoredBy,
    /// The reason that is given there; empty for a rule that is ignored as a whole.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
}

impl Ignored {
    /// Returns who ignores a finding, with the reason.
    #[must_use]
    pub fn new(by: IgnoredBy, reason: impl Into<String>) -> Self {
        Self { by, reason: reason.into() }
    }
}

/// Where a finding is ignored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum IgnoredBy {
    /// Its rule is ignored: with `--allow` or by its level in the settings.
    Rule,
    /// An entry of the settings names the rule and the place.
    Settings,
    /// A comment at the place.
    Comment,
}

impl Finding {
    /// Returns whether the finding makes its bundle or catalog fail.
    #[must_use]
    pub fn is_failure(&self) -> bool {
        self.severity == Severity::Error && self.ignored.is_none()
    }

    /// Returns the finding as one line: `file:line:column: message [rule]`, without the parts that are unknown.
    #[must_use]
    pub fn one_line(&self) -> String {
        one_line(self.file.as_deref(), self.line.zip(self.column), &self.message, self.rule)
    }
}

/// Returns a finding as one line, as [`Finding::one_line`] does.
#[must_use]
pub fn one_line(file: Option<&str>, place: Option<(u32, u32)>, message: &str, rule: &str) -> String {
    match (file, place) {
        (Some(file), Some((line, column))) => format!("{file}:{line}:{column}: {message} [{rule}]"),
        (Some(file), None) => format!("{file}: {message} [{rule}]"),
        (None, _) => format!("{message} [{rule}]"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_has_the_known_parts() {
        for (file, place, expected) in [
            (Some("a.yaml"), Some((3, 5)), "a.yaml:3:5: bad [x]"),
            (Some("a.yaml"), None, "a.yaml: bad [x]"),
            (None, Some((3, 5)), "bad [x]"),
            (None, None, "bad [x]"),
        ] {
            assert_eq!(one_line(file, place, "bad", "x"), expected);
        }
    }

    #[test]
    fn a_suite_has_one_name_everywhere() {
        for suite in Suite::ALL {
            assert_eq!(serde_json::to_value(suite).unwrap(), suite.to_string());
        }
        assert!(Suite::ALL.is_sorted());
    }
}

//! Which versions of Kubernetes a bundle installs on, and why not on others.

use std::collections::BTreeSet;

use kube_yaml::text::null_if_empty;
use olm_model::Bundle;
use olm_model::catalog;
use olm_model::kubernetes::{self, Minor, Versions};
use olm_model::openshift::{MAX_OPENSHIFT_VERSION, max_openshift_version};
use olm_model::report::{BundleReport, Finding, Severity, Suite};
use olm_model::version::{self, Version};
use serde::Serialize;

use super::inputs::{Context, Settings};
use super::{Selection, package, shared, validate_without_versions};

/// The versions that one bundle installs on.
#[derive(Debug, Clone, Serialize)]
pub struct Support {
    /// The package; empty if it is not known.
    #[serde(serialize_with = "null_if_empty")]
    pub package: String,
    /// The name of the CSV or of the bundle in a catalog; empty if it is not known.
    #[serde(serialize_with = "null_if_empty")]
    pub name: String,
    /// Whether the rows show only what the bundle declares, because the catalog does not contain its manifests.
    #[serde(rename = "declaredOnly")]
    pub declared_only: bool,
    /// What is wrong with the versions that the bundle declares, one finding for each rule.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub declarations: Vec<Reason>,
    /// One row for each version, the oldest first.
    pub versions: Vec<VersionSupport>,
}

/// The result for one version.
#[derive(Debug, Clone, Serialize)]
pub struct VersionSupport {
    /// The version of Kubernetes, `1.30`.
    pub kubernetes: String,
    /// The version of OpenShift that contains it, `4.17`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub openshift: Option<String>,
    /// The result.
    pub result: Outcome,
    /// Why the version rejects the bundle, one reason for each rule.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<Reason>,
    /// Used APIs that the version deprecates.
    #[serde(rename = "deprecatedApis", skip_serializing_if = "BTreeSet::is_empty")]
    pub deprecated: BTreeSet<String>,
    /// Used APIs that the version does not serve.
    #[serde(rename = "removedApis", skip_serializing_if = "BTreeSet::is_empty")]
    pub removed: BTreeSet<String>,
}

/// Whether a bundle installs on a version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// No rule found anything that this version rejects.
    Installs,
    /// The API server or OLM rejects the bundle.
    Rejected,
    /// The bundle does not claim to support the version: OLM or the catalog excludes it.
    Excluded,
}

/// A finding that explains a result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Reason {
    /// The rule's id.
    pub rule: &'static str,
    /// The message of its first finding.
    pub message: String,
}

/// The rule of declarations that contradict each other.
const CONTRADICTION: &str = "kubernetes-versions-contradictory";
/// The rules of single declarations.
const DECLARATIONS: [&str; 4] = [
    "min-kube-version-invalid",
    "min-kube-version-unknown",
    "openshift-max-version-invalid",
    "openshift-versions-invalid",
];

/// Validates a bundle for each of the versions.
#[must_use]
pub fn of_bundle(bundle: &Bundle, versions: Versions) -> Support {
    // The rows name the versions, so the messages need not.
    let settings = Settings { versions: Some(versions), extension: None, index_dockerfile: None };
    // Of the suite for OpenShift, only what is wrong with the declarations is shown.
    let selection = Selection { settings, suites: vec![Suite::Openshift], ..Selection::default() };
    let report = validate_without_versions(bundle, &selection);
    let unset = Settings::default();
    let context = Context::new(bundle, &unset);
    // Declarations that contradict each other leave no version.
    let claimed = match &context.claim.contradiction {
        Some(_) => Versions::default(),
        None => context.claim.exact.union(context.claim.notes),
    };
    let mut uses = BTreeSet::new();
    shared::removed_apis::each_use(&context, |_, _, api_version, kind, api| {
        uses.insert((format!("{api_version} {kind}"), api.deprecated, api.removed));
    });
    let row = |minor: Minor| {
        let reached = |since: Option<u16>| since.is_some_and(|since| minor.number() >= since);
        let names = |wanted: &dyn Fn(Option<u16>, Option<u16>) -> bool| {
            let uses = uses.iter().filter(|(_, deprecated, removed)| wanted(*deprecated, *removed));
            uses.map(|(name, ..)| name.clone()).collect()
        };
        let reasons = reasons(&report, |finding| {
            finding.severity == Severity::Error
                && finding.suite == Suite::Bundle
                && finding.versions.is_none_or(|versions| versions.contains(minor))
        });
        let result = match (claimed.contains(minor), reasons.is_empty()) {
            (false, _) => Outcome::Excluded,
            (true, true) => Outcome::Installs,
            (true, false) => Outcome::Rejected,
        };
        VersionSupport {
            deprecated: names(&|deprecated, removed| reached(deprecated) && !reached(removed)),
            removed: names(&|_, removed| reached(removed)),
            ..VersionSupport::new(minor, result, reasons)
        }
    };
    let mut declarations = reasons(&report, |finding| DECLARATIONS.contains(&finding.rule));
    // The rule itself does not look for contradictions if the versions are given.
    let contradiction = context.claim.contradiction.iter();
    declarations
        .extend(contradiction.map(|message| Reason { rule: CONTRADICTION, message: message.clone() }));
    Support {
        package: package(bundle).unwrap_or_default(),
        name: report.name.clone().unwrap_or_else(|| bundle.path.clone()),
        declared_only: false,
        declarations,
        versions: versions.iter().map(row).collect(),
    }
}

/// Returns the wanted findings that are not ignored, one for each rule.
fn reasons(report: &BundleReport, is_wanted: impl Fn(&Finding) -> bool) -> Vec<Reason> {
    let mut reasons: Vec<Reason> = Vec::new();
    for finding in report.findings.iter().filter(|finding| finding.ignored.is_none() && is_wanted(finding)) {
        if !reasons.iter().any(|reason| reason.rule == finding.rule) {
            reasons.push(Reason { rule: finding.rule, message: finding.message.clone() });
        }
    }
    reasons
}

impl VersionSupport {
    fn new(minor: Minor, result: Outcome, reasons: Vec<Reason>) -> Self {
        Self {
            kubernetes: minor.to_string(),
            openshift: kubernetes::openshift_of(minor).map(|openshift| openshift.to_string()),
            result,
            reasons,
            deprecated: BTreeSet::new(),
            removed: BTreeSet::new(),
        }
    }
}

/// Returns what a bundle of a catalog declares about each of the versions: `minKubeVersion` in `olm.csv.metadata`, and
/// `olm.maxOpenShiftVersion`.
#[must_use]
pub fn of_blob(blob: &catalog::Bundle, versions: Versions) -> Support {
    let minimum = blob.property("olm.csv.metadata")["minKubeVersion"].as_str().unwrap_or_default();
    let minimum = version::tolerant(minimum).ok();
    let maximum = match blob.property(MAX_OPENSHIFT_VERSION) {
        serde_json::Value::String(text) => max_openshift_version(text),
        number => max_openshift_version(&number.to_string()),
    };
    let last = maximum.and_then(kubernetes::of_openshift);
    let row = |minor: Minor| {
        let is_old = minimum
            .as_ref()
            .is_some_and(|minimum| *minimum >= Version::new(1, u64::from(minor.number()) + 1, 0));
        let is_excluded = is_old || last.is_some_and(|last| minor > last);
        let result = if is_excluded { Outcome::Excluded } else { Outcome::Installs };
        VersionSupport::new(minor, result, Vec::new())
    };
    Support {
        package: blob.package.clone(),
        name: blob.name.clone(),
        declared_only: true,
        declarations: Vec::new(),
        versions: versions.iter().map(row).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_of_declarations_exist() {
        for id in DECLARATIONS.into_iter().chain([CONTRADICTION]) {
            assert!(crate::find(id).is_some(), "{id}");
        }
    }
}

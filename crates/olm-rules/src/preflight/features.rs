//! The annotations that declare features of an operator.

use olm_model::report::{Project, Source};

/// Where preflight checks them.
pub(crate) const SOURCES: &[Source] = &[Source::symbols(
    Project::Preflight,
    "internal/policy/operator/required_annotations.go",
    &["RequiredAnnotations.validate"],
)
.since("1.8")];

/// Those that preflight requires.
pub(crate) const REQUIRED: [&str; 7] = [
    "features.operators.openshift.io/disconnected",
    "features.operators.openshift.io/fips-compliant",
    "features.operators.openshift.io/proxy-aware",
    "features.operators.openshift.io/tls-profiles",
    "features.operators.openshift.io/token-auth-aws",
    "features.operators.openshift.io/token-auth-azure",
    "features.operators.openshift.io/token-auth-gcp",
];

/// Those that only some operators need.
pub(crate) const OPTIONAL: [&str; 3] = [
    "features.operators.openshift.io/cnf",
    "features.operators.openshift.io/cni",
    "features.operators.openshift.io/csi",
];

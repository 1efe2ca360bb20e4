//! Sources that several files name.

use olm_model::report::{Project, Source};

/// Where the pipeline checks the fields that a CSV needs.
pub(crate) const REQUIRED_FIELDS: &[Source] = &[Source::symbols(
    Project::OperatorPipelines,
    "operatorcert/static_tests/community/bundle.py",
    &["check_required_fields"],
)];

/// Where the pipeline checks that the replaced bundle is available.
pub(crate) const REPLACES_AVAILABILITY: &[Source] = &[Source::symbols(
    Project::OperatorPipelines,
    "operatorcert/static_tests/common/bundle.py",
    &["check_replaces_availability"],
)];

/// Where the pipeline compares `spec.minKubeVersion` with the OpenShift versions.
pub(crate) const VERSION_CONSTRAINTS: &[Source] = &[Source::symbols(
    Project::OperatorPipelines,
    "operatorcert/static_tests/community/bundle.py",
    &["check_api_version_constraints"],
)];

/// Where the pipeline compares the names of an operator.
pub(crate) const OPERATOR_NAME: &[Source] = &[Source::symbols(
    Project::OperatorPipelines,
    "operatorcert/static_tests/common/bundle.py",
    &["check_operator_name"],
)];

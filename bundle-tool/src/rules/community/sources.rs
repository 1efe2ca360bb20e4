//! Sources that several files name.

use crate::report::{Project, Source};

/// Where the pipeline checks the fields that a CSV needs.
pub(super) const REQUIRED_FIELDS: &[Source] = &[Source::symbols(
    Project::OperatorPipelines,
    "operatorcert/static_tests/community/bundle.py",
    &["check_required_fields"],
)];

/// Where the pipeline checks that the replaced bundle is available.
pub(super) const REPLACES_AVAILABILITY: &[Source] = &[Source::symbols(
    Project::OperatorPipelines,
    "operatorcert/static_tests/common/bundle.py",
    &["check_replaces_availability"],
)];

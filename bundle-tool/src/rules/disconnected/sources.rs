//! Sources that several files name.

use crate::report::{Project, Source};

/// Where preflight checks what a restricted network requires.
pub(super) const RESTRICTED_NETWORK: &[Source] = &[Source::symbols(
    Project::Preflight,
    "internal/policy/operator/restricted_network_aware.go",
    &["FollowsRestrictedNetworkEnablementGuidelines.validate"],
)
.since("1.5")];

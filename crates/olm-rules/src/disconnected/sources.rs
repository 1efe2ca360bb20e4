//! Sources that several files name.

use olm_model::report::{Impact, Project, Source};

/// What follows for certification: the check is optional.
pub(crate) const RESTRICTED_NETWORK_IGNORED: Impact = Impact::Specific(
    "The operator does not support clusters without access to public registries. preflight runs its check `FollowsRestrictedNetworkEnablementGuidelines` and discards the result: it is optional, and no certification fails because of it.",
);

/// Where preflight checks what a restricted network requires.
pub(crate) const RESTRICTED_NETWORK: &[Source] = &[Source::symbols(
    Project::Preflight,
    "internal/policy/operator/restricted_network_aware.go",
    &["FollowsRestrictedNetworkEnablementGuidelines.validate"],
)
.since("1.5")];

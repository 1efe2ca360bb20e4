//! The names of the operator.

use operator_runtime::Identity;

/// Names of the operator: in the cluster, in logs and in its manifests.
pub const IDENTITY: Identity = Identity {
    name: env!("CARGO_PKG_NAME"),
    group: "cache.example.com",
    version: env!("CARGO_PKG_VERSION"),
    about: env!("CARGO_PKG_DESCRIPTION"),
    image: "example.com/memcached-operator",
};

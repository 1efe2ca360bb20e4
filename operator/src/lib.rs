//! The memcached operator of the Operator SDK tutorial, in Rust: a map of its modules.
//!
//! | module | what is in it |
//! | --- | --- |
//! | [`crd`] | the Memcached API; the CRD is derived from it |
//! | [`rbac`] | what the operator may ask of the API server, as data |
//! | [`manifests`] | everything that deploys the operator, generated from the two above |
//! | [`controller`] | the reconcile pipeline, one file a step |
//! | [`admission`] | what the webhooks answer |
//! | [`metrics`] | what is counted, for Prometheus |
//! | [`manager`] | the process around it: lease, servers, logs, signals |
//! | [`cli`] | arguments; the only place that composes the others |

pub mod admission;
pub mod cli;
pub mod controller;
pub mod crd;
pub mod manager;
pub mod manifests;
pub mod metrics;
pub mod rbac;

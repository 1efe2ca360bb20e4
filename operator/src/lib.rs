//! The memcached operator of the Operator SDK tutorial, in Rust.
//!
//! | module | contents |
//! | --- | --- |
//! | [`crd`] | the Memcached API; the CRD is derived from it |
//! | [`rbac`] | the operator's permissions, as data |
//! | [`manifests`] | everything that deploys the operator, generated from the two above |
//! | [`controller`] | the reconcile pipeline, one file per step |
//! | [`admission`] | the responses of the webhooks |
//! | [`metrics`] | metrics for Prometheus |
//! | [`manager`] | the process around it: leader election, servers, logs, signals |
//! | [`cli`] | command-line arguments; the only module that composes the others |

pub mod admission;
mod backoff;
pub mod cli;
pub mod controller;
pub mod crd;
pub mod manager;
pub mod manifests;
pub mod metrics;
pub mod rbac;
#[cfg(test)]
mod testing;

//! Tests against a real cluster and a real registry: whatever `KUBECONFIG`, `REGISTRY` and `REGISTRY_CA_FILE` name.
//!
//! This library holds what the tests share: the environment, running the built programs, applying YAML, waiting for a
//! condition with a deadline, and namespaces that go away with their test. README.md says which test proves what.

mod audit;
mod browser;
mod cluster;
mod install;
mod manager;
mod metrics;
mod operator;
mod programs;
mod proxy;
pub mod random;
mod release;
mod restart;
mod traces;
mod wait;

pub use audit::{Audit, Call};
pub use browser::Browser;
pub use cluster::{Cluster, Namespace, count, create};
pub use install::{install, install_from, uninstall, wait_for_version};
pub use manager::Manager;
pub use operator::{Operator, condition};
pub use programs::{Programs, Registry, opm, outside_cargo, run};
pub use proxy::LossyProxy;
pub use release::{NEXT_VERSION, VERSION, release, release_versions};
pub use restart::{Away, Restarter};
pub use test_support::skip;
pub use traces::Traces;
pub use wait::{TIMEOUT, wait_for};

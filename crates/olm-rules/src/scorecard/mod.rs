//! operator-sdk's scorecard: its configuration, its stock tests, run on a bundle without a cluster, and its output.
//!
//! Source: `internal/scorecard/tests` of operator-sdk v1.42; the results have the types of
//! `scorecard.operatorframework.io/v1alpha3`. All six tests only read the bundle, which is why none needs a pod.

mod config;
mod output;
mod stock;
mod test;

pub use config::{Config, ConfigError, Stage, config};
pub use output::{json, text, xunit};
pub use stock::{STOCK, examples, stock_test};
pub use test::{API_VERSION, MountPath, State, Storage, StorageSpec, Test, TestResult, TestSpec, results};

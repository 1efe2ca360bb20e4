#![doc = include_str!("../README.md")]
//!
//! # Modules
//!
//! | module | contents |
//! | --- | --- |
//! | [`Operator`], [`Identity`], [`main`] | an operator as data, its names, and its command line |
//! | [`controller`] | the [`Reconciler`](controller::Reconciler) trait, and the pipeline that runs it |
//! | [`conditions`], [`views`], [`labels`], [`workload`], [`generate`], [`validation`] | helpers for statuses, children and validation |
//! | [`crd`], [`rbac`], [`manifests`] | what deploys the operator, as typed data |
//! | [`admission`], [`conversion`] | webhooks |
//! | [`manager`] | the process: options, leader election, servers, certificates, signals |
//! | [`events`], [`metrics`], [`backoff`], [`context`] | what controllers share |
//! | `testing` | a mock API server, scenarios and a control plane, with the feature `testing` |

pub mod admission;
pub mod backoff;
pub mod cli;
pub mod conditions;
pub mod context;
pub mod controller;
pub mod conversion;
pub mod crd;
pub mod events;
pub mod generate;
mod identity;
pub mod labels;
mod lock;
pub mod manager;
pub mod manifests;
pub mod metrics;
mod operator;
mod problem;
pub mod quantity;
pub mod rbac;
mod reviews;
mod rollout;

#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod validation;
pub mod views;
mod webhook_url;
pub mod workload;

pub use cli::main;
pub use identity::Identity;
pub use operator::{InvalidOperator, Operator};
pub use webhook_url::{InvalidWebhookUrl, WebhookUrl};

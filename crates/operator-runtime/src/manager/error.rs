//! Why the manager could not start, or ended.

use super::tls;
use crate::operator::InvalidOperator;
use std::error::Error as StdError;
use std::io;
use std::path::PathBuf;

/// Why the manager could not start, or ended without being stopped.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operator cannot run as it is.
    #[error(transparent)]
    Operator(#[from] InvalidOperator),
    /// The log filter is invalid.
    #[error("invalid value `{value}` for --log-level")]
    LogLevel {
        /// The filter.
        value: String,
        /// What is wrong with it.
        source: tracing_subscriber::filter::ParseError,
    },
    /// The tokio runtime could not be started.
    #[error("failed to start the runtime")]
    Runtime(#[source] io::Error),
    /// No API server is configured.
    #[error("no API server is configured: set KUBECONFIG, or run in a pod")]
    NoApiServer(#[source] kube::config::InferConfigError),
    /// The client of the API server could not be configured.
    #[error("failed to configure the client of the API server")]
    Client(#[source] Box<kube::Error>),
    /// An address is invalid or in use.
    #[error("failed to listen on {address}")]
    Bind {
        /// The address.
        address: String,
        /// The system's error.
        source: io::Error,
    },
    /// Leader election is enabled, and the namespace of the Lease is not known.
    #[error("--leader-elect requires a namespace: set POD_NAMESPACE, or run in a pod")]
    NoNamespace,
    /// The webhooks are enabled, and there is no certificate for them.
    #[error("no certificate for the webhooks: provide tls.crt and tls.key in {}, or set ENABLE_WEBHOOKS=false", .directory.display())]
    NoCertificate {
        /// Where the certificate is mounted.
        directory: PathBuf,
    },
    /// The mounted certificate of the metrics could not be loaded.
    #[error("failed to load tls.crt and tls.key of {}", .directory.display())]
    Certificate {
        /// Where the certificate is mounted.
        directory: PathBuf,
        /// What is wrong with it.
        source: tls::Error,
    },
    /// The certificate of the metrics could not be issued.
    #[error("failed to issue the certificate of the metrics")]
    Issue(#[source] Box<dyn StdError + Send + Sync>),
    /// TLS could not be configured.
    #[error(transparent)]
    Tls(#[from] tls::Error),
    /// Another manager may lead now.
    #[error("leader election lost")]
    LeaderElectionLost,
    /// A controller could not start.
    #[error("controller `{name}` failed")]
    Controller {
        /// The controller's name: its kind in lower case.
        name: String,
        /// The controller's error.
        source: Box<dyn StdError + Send + Sync>,
    },
    /// A task ended with an error.
    #[error("task `{name}` failed")]
    Task {
        /// The task's name.
        name: String,
        /// The task's error.
        source: Box<dyn StdError + Send + Sync>,
    },
}

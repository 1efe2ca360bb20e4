//! The asynchronous runtime.

use std::sync::OnceLock;

use anyhow::{Context as _, Result};
use tokio::runtime::{Builder, Runtime};

/// Starts the runtime of the commands that use the network.
pub(super) fn runtime() -> Result<Runtime> {
    Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .context("failed to start the network runtime")
}

/// A runtime that several threads share, and that starts when it is first used.
#[derive(Debug, Default)]
pub(super) struct SharedRuntime(OnceLock<Option<Runtime>>);

impl SharedRuntime {
    /// Returns the runtime.
    pub(super) fn get(&self) -> Result<&Runtime> {
        self.0.get_or_init(|| runtime().ok()).as_ref().context("failed to start the network runtime")
    }
}

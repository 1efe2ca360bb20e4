//! A progress bar for transfers.

use std::sync::Arc;

use indicatif::{ProgressBar, ProgressStyle};
use tokio::sync::watch;

/// A bar on standard error if that is a terminal, and nothing otherwise. Clones share the bar, which is removed with
/// the last one.
#[derive(Debug, Clone)]
pub struct Progress(Arc<Bar>);

#[derive(Debug)]
struct Bar {
    shown: ProgressBar,
    /// What is done, for who waits for it.
    done: watch::Sender<Done>,
}

/// How far a transfer is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Done {
    /// The bytes that are done.
    pub(super) bytes: u64,
    /// How often bytes that were done had to be done again.
    pub(super) restarts: u64,
}

impl Progress {
    /// Returns a bar with the label `what`.
    #[must_use]
    pub fn new(what: impl Into<String>) -> Self {
        let shown = ProgressBar::new(0).with_message(what.into());
        if let Ok(style) =
            ProgressStyle::with_template("{msg} {wide_bar} {bytes}/{total_bytes} {bytes_per_sec}")
        {
            shown.set_style(style);
        }
        Self::with(shown)
    }

    /// Returns a bar that is not shown.
    #[must_use]
    pub fn hidden() -> Self {
        Self::with(ProgressBar::hidden())
    }

    fn with(shown: ProgressBar) -> Self {
        Self(Arc::new(Bar { shown, done: watch::Sender::default() }))
    }

    /// Returns what is done, and what follows.
    #[cfg(feature = "server")]
    pub(super) fn watch(&self) -> watch::Receiver<Done> {
        self.0.done.subscribe()
    }

    /// Adds `bytes` to what is expected.
    pub(super) fn expect(&self, bytes: u64) {
        self.0.shown.inc_length(bytes);
    }

    /// Adds `bytes` to what is done.
    pub(super) fn advance(&self, bytes: u64) {
        self.0.shown.inc(bytes);
        self.0.done.send_modify(|done| done.bytes += bytes);
    }

    /// Removes `bytes` that were done and have to be done again.
    pub(super) fn take_back(&self, bytes: u64) {
        self.0.shown.dec(bytes);
        self.0.done.send_modify(|done| {
            done.bytes = done.bytes.saturating_sub(bytes);
            done.restarts += 1;
        });
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.shown.finish_and_clear();
    }
}

//! A progress bar for transfers.

use std::sync::Arc;

use indicatif::{ProgressBar, ProgressStyle};

/// A bar on standard error if that is a terminal, and nothing otherwise. Clones share the bar, which is removed with
/// the last one.
#[derive(Debug, Clone)]
pub struct Progress(Arc<Bar>);

#[derive(Debug)]
struct Bar(ProgressBar);

impl Progress {
    /// Returns a bar with the label `what`.
    #[must_use]
    pub fn new(what: impl Into<String>) -> Self {
        let bar = ProgressBar::new(0).with_message(what.into());
        if let Ok(style) =
            ProgressStyle::with_template("{msg} {wide_bar} {bytes}/{total_bytes} {bytes_per_sec}")
        {
            bar.set_style(style);
        }
        Self(Arc::new(Bar(bar)))
    }

    /// Returns a bar that is not shown.
    #[must_use]
    pub fn hidden() -> Self {
        Self(Arc::new(Bar(ProgressBar::hidden())))
    }

    /// Adds `bytes` to what is expected.
    pub(super) fn expect(&self, bytes: u64) {
        self.0.0.inc_length(bytes);
    }

    /// Adds `bytes` to what is done.
    pub(super) fn advance(&self, bytes: u64) {
        self.0.0.inc(bytes);
    }

    /// Removes `bytes` that were done and have to be done again.
    pub(super) fn take_back(&self, bytes: u64) {
        self.0.0.dec(bytes);
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

//! How far a transfer is, for somebody who watches.

use indicatif::{ProgressBar, ProgressStyle};

/// A bar on standard error where that is a terminal, and nothing otherwise.
#[derive(Debug)]
pub struct Progress(ProgressBar);

impl Progress {
    /// A bar that says `what` is being done.
    #[must_use]
    pub fn new(what: impl Into<String>) -> Self {
        let bar = ProgressBar::new(0).with_message(what.into());
        if let Ok(style) =
            ProgressStyle::with_template("{msg} {wide_bar} {bytes}/{total_bytes} {bytes_per_sec}")
        {
            bar.set_style(style);
        }
        Self(bar)
    }

    /// Nothing is shown.
    #[must_use]
    pub fn hidden() -> Self {
        Self(ProgressBar::hidden())
    }

    /// There are `bytes` more to do.
    pub(super) fn expect(&self, bytes: u64) {
        self.0.inc_length(bytes);
    }

    /// `bytes` are done.
    pub(super) fn advance(&self, bytes: u64) {
        self.0.inc(bytes);
    }

    /// `bytes` were done and have to be done again.
    pub(super) fn take_back(&self, bytes: u64) {
        self.0.dec(bytes);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

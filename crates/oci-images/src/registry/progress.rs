//! The progress of transfers.

use std::fmt;
use std::sync::Arc;

use tokio::sync::watch;

/// Shows the progress of a transfer: a bar, lines of a log.
///
/// ```
/// use oci_images::registry::{Progress, ProgressSink};
///
/// struct Lines;
///
/// impl ProgressSink for Lines {
///     fn update(&self, done: u64, total: u64) {
///         eprintln!("{done} of {total} bytes");
///     }
/// }
///
/// let progress = Progress::new(Lines);
/// ```
pub trait ProgressSink: Send + Sync {
    /// Receives the number of bytes that are done, and of those that are known to be necessary. Both grow; what has to be
    /// transferred again is subtracted from `done`, which never exceeds `total`. Called for every part that is transferred, by
    /// one thread at a time, which waits for it.
    fn update(&self, done: u64, total: u64);
}

/// The progress of one transfer or of several. Clones share it; the sink is dropped with the last one.
#[derive(Clone)]
pub struct Progress(Arc<Shared>);

struct Shared {
    sink: Option<Box<dyn ProgressSink>>,
    /// What is done, for who waits for it.
    done: watch::Sender<Done>,
}

/// How far a transfer is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Done {
    /// The bytes that are done.
    pub(crate) bytes: u64,
    /// The bytes that are expected.
    pub(crate) total: u64,
    /// How often bytes that were done had to be done again.
    pub(crate) restarts: u64,
}

impl fmt::Debug for Progress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Progress").field(&*self.0.done.borrow()).finish()
    }
}

impl Progress {
    /// Returns a progress that `sink` shows.
    #[must_use]
    pub fn new(sink: impl ProgressSink + 'static) -> Self {
        Self(Arc::new(Shared { sink: Some(Box::new(sink)), done: watch::Sender::default() }))
    }

    /// Returns a progress that is not shown.
    #[must_use]
    pub fn hidden() -> Self {
        Self(Arc::new(Shared { sink: None, done: watch::Sender::default() }))
    }

    /// Returns what is done, and what follows.
    #[cfg(feature = "server")]
    pub(crate) fn watch(&self) -> watch::Receiver<Done> {
        self.0.done.subscribe()
    }

    fn change(&self, change: impl FnOnce(&mut Done)) {
        self.0.done.send_modify(|done| {
            change(done);
            // Here, so that updates have the order of the changes.
            if let Some(sink) = &self.0.sink {
                sink.update(done.bytes.min(done.total), done.total);
            }
        });
    }

    /// Adds `bytes` to what is expected.
    pub(crate) fn expect(&self, bytes: u64) {
        self.change(|done| done.total = done.total.saturating_add(bytes));
    }

    /// Adds `bytes` to what is done.
    pub(crate) fn advance(&self, bytes: u64) {
        self.change(|done| done.bytes = done.bytes.saturating_add(bytes));
    }

    /// Removes `bytes` that were done and have to be done again.
    pub(crate) fn take_back(&self, bytes: u64) {
        self.change(|done| {
            done.bytes = done.bytes.saturating_sub(bytes);
            done.restarts += 1;
        });
    }
}

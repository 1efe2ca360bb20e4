//! SIGINT and SIGTERM.

use std::io;
use std::sync::mpsc::Sender;

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::low_level::emulate_default_handler;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// The signals, from now on.
pub(super) struct Received {
    interrupted: Signal,
    terminated: Signal,
}

impl Received {
    pub(super) fn listen() -> io::Result<Self> {
        Ok(Self {
            interrupted: signal(SignalKind::interrupt())?,
            terminated: signal(SignalKind::terminate())?,
        })
    }

    /// Completes when a signal is received.
    pub(super) async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupted.recv() => {}
            _ = self.terminated.recv() => {}
        }
    }
}

/// Waits for a signal and ends the process with it when no directory has some old and some new files. Drops `ready` when
/// signals are received.
pub(super) fn end_on_signal(ready: Sender<()>) {
    let Ok(mut signals) = signal_hook::iterator::Signals::new([SIGINT, SIGTERM]) else { return };
    drop(ready);
    if let Some(signal) = signals.forever().next() {
        let _pause = atomic_files::pause();
        let _ = emulate_default_handler(signal);
    }
}

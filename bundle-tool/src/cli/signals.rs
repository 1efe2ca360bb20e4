//! Signals that end a server, a command that waits, or one that writes several files.

use std::io::{self, Write as _};
use std::sync::{Once, mpsc};

use anyhow::Result;
use futures::future::{BoxFuture, FutureExt as _};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::low_level::emulate_default_handler;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::oneshot;

use super::exit::Exit;
use crate::terminal::{WARNING, stderr};

/// SIGINT and SIGTERM, from now on.
pub(crate) struct Signals {
    interrupted: Signal,
    terminated: Signal,
}

impl Signals {
    /// Begins to receive signals: before the server tells its address, so that no signal is missed.
    ///
    /// # Errors
    /// The system does not allow it.
    pub(crate) fn listen() -> io::Result<Self> {
        Ok(Self {
            interrupted: signal(SignalKind::interrupt())?,
            terminated: signal(SignalKind::terminate())?,
        })
    }

    /// Runs a server until it ends. The first signal completes the future that `serve` receives, after which the server
    /// finishes what is in progress, its `work`; a second signal ends it at once.
    pub(crate) async fn serve<S: Future<Output = ()>>(
        mut self,
        work: &str,
        serve: impl FnOnce(BoxFuture<'static, ()>) -> S,
    ) -> Result<Exit> {
        let (stop, stopped) = oneshot::channel::<()>();
        let mut stop = Some(stop);
        // The sender is dropped to stop.
        let serving = serve(stopped.map(drop).boxed());
        tokio::pin!(serving);
        loop {
            tokio::select! {
                () = &mut serving => return Ok(Exit::Success),
                _ = self.interrupted.recv() => {}
                _ = self.terminated.recv() => {}
            }
            if stop.take().is_none() {
                writeln!(
                    stderr(),
                    "{WARNING} stopped by a second signal; {work} in progress were interrupted"
                )?;
                return Ok(Exit::Success);
            }
        }
    }
}

/// Completes on SIGINT or SIGTERM. Never completes if no handler can be installed.
pub(crate) async fn interrupted() {
    match Signals::listen() {
        Ok(mut signals) => {
            tokio::select! {
                _ = signals.interrupted.recv() => {}
                _ = signals.terminated.recv() => {}
            }
        }
        // Without a handler, the process ends with the signal's default.
        Err(_) => std::future::pending().await,
    }
}

/// From now on, SIGINT and SIGTERM end the process when no directory has some old and some new files.
pub(crate) fn end_between_writes() {
    static BEGIN: Once = Once::new();
    BEGIN.call_once(|| {
        let (ready, registered) = mpsc::channel::<()>();
        let wait = move || {
            let Ok(mut signals) = signal_hook::iterator::Signals::new([SIGINT, SIGTERM]) else { return };
            drop(ready);
            if let Some(signal) = signals.forever().next() {
                let _pause = atomic_files::pause();
                let _ = emulate_default_handler(signal);
            }
        };
        // Without a thread, the process ends at once.
        if std::thread::Builder::new().name("signals".to_owned()).spawn(wait).is_ok() {
            // Ends when the sender is dropped.
            let _ = registered.recv();
        }
    });
}

//! Signals that end a server, a command that waits, or one that writes several files.

use std::io::{self, Write as _};
use std::sync::{Once, mpsc};

use anyhow::Result;
use futures::future::{BoxFuture, FutureExt as _};
use tokio::sync::oneshot;

use super::exit::Exit;
use crate::terminal::{WARNING, stderr};

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
use unix::{Received, end_on_signal};
#[cfg(windows)]
use windows::{Received, end_on_signal};

/// SIGINT and SIGTERM (Ctrl-C and Ctrl-Break on Windows), from now on.
pub(crate) struct Signals(Received);

impl Signals {
    /// Begins to receive signals: before the server tells its address, so that no signal is missed.
    ///
    /// # Errors
    /// The system does not allow it.
    pub(crate) fn listen() -> io::Result<Self> {
        Received::listen().map(Self)
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
                () = self.0.next() => {}
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
        Ok(Signals(mut received)) => received.next().await,
        // Without a handler, the process ends with the signal's default.
        Err(_) => std::future::pending().await,
    }
}

/// From now on, SIGINT and SIGTERM end the process when no directory has some old and some new files.
pub(crate) fn end_between_writes() {
    static BEGIN: Once = Once::new();
    BEGIN.call_once(|| {
        let (ready, registered) = mpsc::channel::<()>();
        let wait = move || end_on_signal(ready);
        // Without a thread, the process ends at once.
        if std::thread::Builder::new().name("signals".to_owned()).spawn(wait).is_ok() {
            // Ends when the sender is dropped.
            let _ = registered.recv();
        }
    });
}

//! Signals that end a server, or a command that waits.

use std::io::{self, Write as _};

use anyhow::Result;
use futures::future::{BoxFuture, FutureExt as _};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::oneshot;

use super::exit::Exit;

/// SIGINT and SIGTERM, from now on.
pub(super) struct Signals {
    interrupted: Signal,
    terminated: Signal,
}

impl Signals {
    /// Begins to receive signals: before the server tells its address, so that no signal is missed.
    ///
    /// # Errors
    /// The system does not allow it.
    pub(super) fn listen() -> io::Result<Self> {
        Ok(Self {
            interrupted: signal(SignalKind::interrupt())?,
            terminated: signal(SignalKind::terminate())?,
        })
    }

    /// Runs a server until it ends. The first signal completes the future that `serve` receives, after which the server
    /// finishes what is in progress, its `work`; a second signal ends it at once.
    pub(super) async fn serve<S: Future<Output = ()>>(
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
                    io::stderr(),
                    "warning: stopped by a second signal; {work} in progress were interrupted"
                )?;
                return Ok(Exit::Success);
            }
        }
    }
}

/// Ends when the process is to end.
pub(super) async fn interrupted() {
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

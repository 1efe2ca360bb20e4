//! Ctrl-C and Ctrl-Break.

use std::io;
use std::sync::mpsc::Sender;

use tokio::signal::windows::{CtrlBreak, CtrlC, ctrl_break, ctrl_c};

/// `STATUS_CONTROL_C_EXIT`: the exit status of a process that Ctrl-C ends.
const ENDED_BY_CTRL_C: i32 = 0xC000_013A_u32.cast_signed();

/// The signals, from now on.
pub(super) struct Received {
    interrupted: CtrlC,
    stopped: CtrlBreak,
}

impl Received {
    pub(super) fn listen() -> io::Result<Self> {
        Ok(Self { interrupted: ctrl_c()?, stopped: ctrl_break()? })
    }

    /// Completes when a signal is received.
    pub(super) async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupted.recv() => {}
            _ = self.stopped.recv() => {}
        }
    }
}

/// Waits for a signal and ends the process with it when no directory has some old and some new files. Drops `ready` when
/// signals are received.
pub(super) fn end_on_signal(ready: Sender<()>) {
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread().build() else { return };
    let Ok(mut received) = Received::listen() else { return };
    drop(ready);
    runtime.block_on(received.next());
    let _pause = atomic_files::pause();
    std::process::exit(ENDED_BY_CTRL_C);
}

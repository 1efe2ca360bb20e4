//! Running a helper on Linux and other Unix systems.

use std::io::{self, Read as _, Write as _};
use std::ops::ControlFlow;
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, ioctl_fionbio};
use rustix::process::{Pid, Signal, kill_process_group};

use crate::open_files;

/// Maximum size of a helper's output, in bytes.
const MAX_OUTPUT: usize = 64 << 10;
/// How often a helper is looked at that prints nothing.
const POLL: Duration = Duration::from_millis(20);

/// Runs a helper with one line of input.
pub(super) fn run(
    name: &str,
    action: &str,
    input: &str,
    directory: Option<&Path>,
    limit: Duration,
) -> Result<(ExitStatus, Vec<u8>), String> {
    if name.contains('/') {
        return Err("the helper's name contains a slash".into());
    }
    let program = format!("docker-credential-{name}");
    let program = directory.map_or_else(|| PathBuf::from(&program), |directory| directory.join(&program));
    let mut child = Command::new(program)
        .arg(action)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        // A group of its own, so that it can be killed with its children.
        .process_group(0)
        .spawn()
        .map_err(|error| format!("failed to start it: {error}"))?;
    open_files::restore_limit(&child);
    let result = exchange(&mut child, input, limit);
    if result.is_err() {
        kill(&mut child);
    }
    result
}

/// Sends the question and waits for the helper's end. What its children do with the pipes afterwards is ignored.
///
/// The pipes do not block: a long password does not fit into a pipe's buffer, and a child that the helper left behind
/// can keep its output open for ever.
fn exchange(child: &mut Child, input: &str, limit: Duration) -> Result<(ExitStatus, Vec<u8>), String> {
    let deadline = Instant::now() + limit;
    let failed = |error: io::Error| format!("failed to communicate with it: {error}");
    let question = format!("{input}\n");
    let mut unsent = question.as_bytes();
    let mut stdin = child.stdin.take();
    let mut stdout = child.stdout.take();
    for pipe in [stdin.as_ref().map(AsFd::as_fd), stdout.as_ref().map(AsFd::as_fd)].into_iter().flatten() {
        ioctl_fionbio(pipe, true).map_err(|error| failed(error.into()))?;
    }
    let mut output = Vec::new();
    loop {
        // First of all, so that what is read below includes everything that the helper printed.
        let ended = child.try_wait().map_err(|error| format!("failed to wait for it: {error}"))?;
        // A helper that ends or closes its input without reading is judged by its output.
        if stdin.as_mut().is_some_and(|pipe| send(pipe, &mut unsent).is_break()) {
            stdin = None;
        }
        if let Some(pipe) = &mut stdout
            && receive(pipe, &mut output).map_err(failed)?.is_break()
        {
            stdout = None;
        }
        if output.len() > MAX_OUTPUT {
            return Err(format!("it printed more than {MAX_OUTPUT} bytes"));
        }
        if let Some(status) = ended {
            return Ok((status, output));
        }
        if Instant::now() > deadline {
            return Err(format!("it did not exit within {} s", limit.as_secs_f64()));
        }
        let mut events = Vec::new();
        events.extend(stdin.as_ref().map(|pipe| PollFd::new(pipe, PollFlags::OUT)));
        events.extend(stdout.as_ref().map(|pipe| PollFd::new(pipe, PollFlags::IN)));
        // A helper without output is about to end.
        let pause = if stdout.is_some() { POLL } else { Duration::from_millis(1) };
        match poll(&mut events, Timespec::try_from(pause).ok().as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(failed(error.into())),
        }
    }
}

/// Writes what `pipe` takes at once of `unsent`; `Break` when everything is sent or the other end is closed.
fn send(pipe: &mut ChildStdin, unsent: &mut &[u8]) -> ControlFlow<()> {
    while !unsent.is_empty() {
        match pipe.write(unsent) {
            Ok(count) => *unsent = &unsent[count..],
            Err(error) => match error.kind() {
                io::ErrorKind::WouldBlock => return ControlFlow::Continue(()),
                io::ErrorKind::Interrupted => {}
                _ => return ControlFlow::Break(()),
            },
        }
    }
    ControlFlow::Break(())
}

/// Appends what `pipe` contains to `output`, at most a chunk beyond the maximum; `Break` at the end of the output.
fn receive(pipe: &mut ChildStdout, output: &mut Vec<u8>) -> io::Result<ControlFlow<()>> {
    let mut chunk = [0; 4096];
    while output.len() <= MAX_OUTPUT {
        match pipe.read(&mut chunk) {
            Ok(0) => return Ok(ControlFlow::Break(())),
            Ok(count) => output.extend_from_slice(&chunk[..count]),
            Err(error) => match error.kind() {
                io::ErrorKind::WouldBlock => break,
                io::ErrorKind::Interrupted => {}
                _ => return Err(error),
            },
        }
    }
    Ok(ControlFlow::Continue(()))
}

/// Kills the helper with its children.
fn kill(child: &mut Child) {
    if let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        let _ = kill_process_group(group, Signal::KILL);
    }
    let _ = child.kill();
    let _ = child.wait();
}

//! Docker's credential helpers: programs that read a registry from standard input and answer in JSON.

use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};
use serde::Deserialize;

use super::Secret;

/// Maximum time that a helper may take.
pub(super) const TIMEOUT: Duration = Duration::from_secs(30);
/// Maximum size of a helper's output, in bytes.
const MAX_OUTPUT: usize = 64 << 10;
/// How often a helper is looked at that prints nothing.
const POLL: Duration = Duration::from_millis(20);

#[derive(Deserialize)]
struct Answer {
    #[serde(rename = "Username")]
    username: String,
    #[serde(rename = "Secret")]
    secret: String,
}

/// Asks `docker-credential-NAME` for credentials; returns `None` if it has none for `registry`.
///
/// The helper and its children are killed after `limit`, or when they print more than 64 KiB. The error is a reason
/// without anything the helper printed: that may be a secret.
pub(super) fn get(
    name: &str,
    registry: &str,
    directory: Option<&Path>,
    limit: Duration,
) -> Result<Option<Secret>, String> {
    let (status, output) = run(name, "get", registry, directory, limit)?;
    if !status.success() {
        // The one message that means 'none', from Docker's helper library.
        if output.starts_with(b"credentials not found") {
            return Ok(None);
        }
        return Err(format!("it failed ({status})"));
    }
    let Answer { username, secret } =
        serde_json::from_slice(&output).map_err(|_| "its output is not the JSON of a credential helper")?;
    Ok(match username.as_str() {
        "" => None,
        "<token>" => Some(Secret::IdentityToken(secret)),
        _ => Some(Secret::Basic { user: username, password: secret }),
    })
}

/// Has `docker-credential-NAME` `store` or `erase` credentials. Limits and errors are those of [`get`].
pub(super) fn change(
    name: &str,
    action: &str,
    input: &str,
    directory: Option<&Path>,
    limit: Duration,
) -> Result<(), String> {
    let (status, _) = run(name, action, input, directory, limit)?;
    if status.success() { Ok(()) } else { Err(format!("it failed ({status})")) }
}

/// Runs a helper with one line of input.
fn run(
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
    let result = exchange(&mut child, input, limit);
    if result.is_err() {
        kill(&mut child);
    }
    result
}

/// Sends the question and waits for the helper's end. What its children do with the pipe afterwards is ignored.
fn exchange(child: &mut Child, input: &str, limit: Duration) -> Result<(ExitStatus, Vec<u8>), String> {
    let start = Instant::now();
    if let Some(mut pipe) = child.stdin.take() {
        let line = format!("{input}\n");
        // A long password does not fit into the pipe's buffer: writing blocks until the helper reads or ends. A helper
        // that does not read is judged by its output.
        std::thread::spawn(move || pipe.write_all(line.as_bytes()));
    }
    let (sender, receiver) = mpsc::sync_channel::<Vec<u8>>(1);
    if let Some(mut output) = child.stdout.take() {
        // Reading may block for ever if a child of the helper keeps the pipe open: then this thread is left behind.
        std::thread::spawn(move || {
            let mut chunk = vec![0; 4096];
            while let Ok(count @ 1..) = output.read(&mut chunk) {
                if sender.send(chunk[..count].to_vec()).is_err() {
                    break;
                }
            }
        });
    }
    let mut output = Vec::new();
    let mut ended = None;
    loop {
        match receiver.recv_timeout(POLL) {
            Ok(chunk) => output.extend_from_slice(&chunk),
            // The pipe is closed: only the end is left to wait for.
            Err(RecvTimeoutError::Disconnected) => match ended {
                Some(status) => return Ok((status, output)),
                None => std::thread::sleep(Duration::from_millis(1)),
            },
            // Everything it printed before its end has been read.
            Err(RecvTimeoutError::Timeout) => {
                if let Some(status) = ended {
                    return Ok((status, output));
                }
            }
        }
        if output.len() > MAX_OUTPUT {
            return Err(format!("it printed more than {MAX_OUTPUT} bytes"));
        }
        if start.elapsed() > limit {
            return Err(format!("it did not end within {} s", limit.as_secs_f64()));
        }
        if ended.is_none() {
            ended = child.try_wait().map_err(|error| format!("failed to wait for it: {error}"))?;
        }
    }
}

/// Kills the helper with its children.
fn kill(child: &mut Child) {
    if let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        let _ = kill_process_group(group, Signal::KILL);
    }
    let _ = child.kill();
    let _ = child.wait();
}

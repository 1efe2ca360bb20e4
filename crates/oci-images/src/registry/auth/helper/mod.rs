//! Docker's credential helpers: programs that read a registry from standard input and answer in JSON.

use std::path::Path;
use std::time::Duration;

use serde::Deserialize;

use super::credentials::Secret;

#[cfg(not(unix))]
mod other;
#[cfg(unix)]
mod unix;

#[cfg(not(unix))]
use other::run;
#[cfg(unix)]
use unix::run;

/// Maximum time that a helper may take.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(30);

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
pub(crate) fn get(
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
pub(crate) fn change(
    name: &str,
    action: &str,
    input: &str,
    directory: Option<&Path>,
    limit: Duration,
) -> Result<(), String> {
    let (status, _) = run(name, action, input, directory, limit)?;
    if status.success() { Ok(()) } else { Err(format!("it failed ({status})")) }
}

/// Writes a shell script that can be executed at once. A child writes it: had this process the file open, another thread's
/// child could hold it until it executes its program, and the kernel runs no file that is open for writing.
#[cfg(test)]
pub(crate) fn write_script(path: &Path, text: &str) {
    use std::io::Write as _;
    use std::process::{Command, Stdio};
    let mut child = Command::new("sh")
        .args(["-c", r#"cat > "$0" && chmod +x "$0""#])
        .arg(path)
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(format!("#!/bin/sh\n{text}\n").as_bytes()).unwrap();
    assert!(child.wait().unwrap().success());
}

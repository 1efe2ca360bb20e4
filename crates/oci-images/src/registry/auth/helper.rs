//! Docker's credential helpers: programs that are asked on standard input and answer in JSON.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::Deserialize;

#[derive(Deserialize)]
struct Answer {
    #[serde(rename = "Username")]
    username: String,
    #[serde(rename = "Secret")]
    secret: String,
}

/// Asks `docker-credential-NAME` for user and password; `None` where it has none for `registry`.
///
/// The error is a reason without anything the helper printed: that may be a secret.
pub(super) fn get(
    name: &str,
    registry: &str,
    folder: Option<&Path>,
) -> Result<Option<(String, String)>, String> {
    if name.contains('/') {
        return Err("its name has a slash".into());
    }
    let program = format!("docker-credential-{name}");
    let program = folder.map_or_else(|| PathBuf::from(&program), |folder| folder.join(&program));
    let mut child = Command::new(program)
        .arg("get")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| format!("it cannot be started: {error}"))?;
    if let Some(mut input) = child.stdin.take() {
        // A helper that does not read is judged by its answer.
        let _ = input.write_all(registry.as_bytes()).and_then(|()| input.write_all(b"\n"));
    }
    let output = child.wait_with_output().map_err(|error| format!("it cannot be waited for: {error}"))?;
    if !output.status.success() {
        // The one message that means 'none', from Docker's helper library.
        if output.stdout.starts_with(b"credentials not found") {
            return Ok(None);
        }
        return Err(format!("it failed ({})", output.status));
    }
    let answer: Answer = serde_json::from_slice(&output.stdout)
        .map_err(|_| "its answer is not the JSON of a credential helper")?;
    match answer.username.as_str() {
        "" => Ok(None),
        "<token>" => Err("it gave an identity token, which is not supported".into()),
        _ => Ok(Some((answer.username, answer.secret))),
    }
}

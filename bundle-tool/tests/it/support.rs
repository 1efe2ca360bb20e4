//! What several files of tests share.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

use rustix::process::{Pid, Signal, kill_process};

/// A directory or file of `tests/fixtures`.
pub(crate) fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
}

/// How a run of `bundle-tool` ended.
pub(crate) struct Run {
    pub(crate) status: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Run {
    /// Returns everything that was printed.
    pub(crate) fn printed(&self) -> String {
        format!("{}{}", self.stdout, self.stderr)
    }
}

/// Returns what a program printed, which is UTF-8.
pub(crate) fn utf8(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// Runs `bundle-tool` in a directory.
pub(crate) fn run(directory: &Path, arguments: &[&str]) -> Run {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bundle-tool"));
    let output = command.current_dir(directory).args(arguments).output().unwrap();
    Run { status: output.status.code(), stdout: utf8(&output.stdout), stderr: utf8(&output.stderr) }
}

/// Sends a signal to a process that this test has started: the program `kill` is not on every machine.
pub(crate) fn send_signal(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).unwrap();
}

/// Copies the directory `from` with everything in it to `to`.
pub(crate) fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), &target).unwrap();
        }
    }
}

/// Copies the valid bundle to a directory, where tests may change it, and returns the directory.
pub(crate) fn copy_bundle(to: PathBuf) -> PathBuf {
    for directory in ["manifests", "metadata"] {
        copy(&fixture("bundle").join(directory), &to.join(directory));
    }
    to
}

/// Copies the valid bundle to `bundle` in a directory, and adds it to a new catalog, `catalog`.
pub(crate) fn bundle_and_catalog(directory: &Path) {
    copy_bundle(directory.join("bundle"));
    let add = ["catalog", "add", "catalog", "bundle", "--image", "quay.io/example/gizmo-bundle:v1"];
    let added = run(directory, &add);
    assert_eq!(added.status, Some(0), "{}", added.printed());
}

/// Runs git without the user's configuration.
pub(crate) fn git(directory: &Path, arguments: &[&str]) {
    let output = Command::new("git")
        .arg("-C")
        .arg(directory)
        .args(["-c", "user.name=alice", "-c", "user.email=alice@example.com", "-c", "commit.gpgsign=false"])
        .args(arguments)
        .env("HOME", directory)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .envs([("GIT_AUTHOR_DATE", "2026-01-01T00:00:00Z"), ("GIT_COMMITTER_DATE", "2026-01-01T00:00:00Z")])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

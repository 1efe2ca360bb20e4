//! Runs git on repositories that may be a stranger's: git starts no program that their configuration names for it, and
//! fetches nothing.

use std::collections::BTreeSet;
use std::io::{self, Read};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use oci_images::open_files;

/// The maximum number of bytes that are read from one git command: a file, or a list of files.
const MAX_OUTPUT: u64 = 64 << 20;
/// The maximum number of bytes of messages that are kept.
const MAX_MESSAGES: u64 = 64 << 10;
/// The maximum time of one git command.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Options that keep the configuration of a repository from running programs. A directory of the repository that looks
/// like a bare repository is not taken for one.
const SAFE_OPTIONS: [&str; 5] =
    ["--no-pager", "-c", "core.fsmonitor=false", "-c", "safe.bareRepository=explicit"];

/// Variables that name another repository than that of the directory; git sets them for its hooks.
const REPOSITORY_VARIABLES: [&str; 5] =
    ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_COMMON_DIR"];

/// Runs git in a directory and returns what it prints, or its message if it fails.
///
/// Not for commands that compare files of the work tree, which run filters: see [`status`].
///
/// # Errors
///
/// git cannot be run, prints more than [`MAX_OUTPUT`] bytes, or runs longer than [`TIMEOUT`].
pub(crate) fn output(directory: &Path, args: &[&str]) -> io::Result<Result<Vec<u8>, String>> {
    let mut command = Command::new("git");
    command
        .arg("-C")
        .arg(directory)
        .args(SAFE_OPTIONS)
        .args(args)
        // A partial clone names the program that fetches what it lacks. Versions before 2.45 know the second variable only.
        .env("GIT_NO_LAZY_FETCH", "1")
        .env("GIT_ALLOW_PROTOCOL", "")
        .env("GIT_OPTIONAL_LOCKS", "0")
        // Its messages are recognized.
        .env("LC_ALL", "C");
    for variable in REPOSITORY_VARIABLES {
        command.env_remove(variable);
    }
    let Finished { status, output, messages } = run(&mut command, TIMEOUT)?;
    if output.len() as u64 > MAX_OUTPUT {
        let command = args.join(" ");
        let reason = format!("the output of git {command} exceeds the limit of {MAX_OUTPUT} bytes");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, reason));
    }
    if status.success() {
        return Ok(Ok(output));
    }
    Ok(Err(String::from_utf8_lossy(&messages).trim().to_owned()))
}

/// Returns what `git status --porcelain=v1 -z` prints with more arguments, or git's message if it fails.
///
/// Filters that the repository defines are not run: a file that has one is listed as changed if git must read it. Files in
/// submodules are not compared, because a submodule has a configuration of its own.
///
/// # Errors
///
/// As [`output`].
pub(crate) fn status(directory: &Path, args: &[&str]) -> io::Result<Result<Vec<u8>, String>> {
    let filters = match filters(directory)? {
        Ok(filters) => filters,
        Err(message) => return Ok(Err(message)),
    };
    let mut options = Vec::new();
    for filter in &filters {
        for setting in ["clean=", "smudge=", "process=", "required=false"] {
            options.extend(["-c".to_owned(), format!("filter.{filter}.{setting}")]);
        }
    }
    let mut all: Vec<&str> = options.iter().map(String::as_str).collect();
    all.extend(["status", "--porcelain=v1", "-z", "--ignore-submodules=dirty"]);
    all.extend(args);
    output(directory, &all)
}

/// Returns the names of the filters in the configuration of the repository, or git's message if it fails.
fn filters(directory: &Path) -> io::Result<Result<BTreeSet<String>, String>> {
    let list = ["config", "--show-scope", "--name-only", "-z", "--get-regexp", r"^filter\."];
    let listed = match output(directory, &list)? {
        Ok(listed) => listed,
        // There is none.
        Err(message) if message.is_empty() => return Ok(Ok(BTreeSet::new())),
        Err(message) => return Ok(Err(message)),
    };
    let Ok(listed) = String::from_utf8(listed) else {
        return Ok(Err("the name of a filter is not valid UTF-8".to_owned()));
    };
    let mut filters = BTreeSet::new();
    let mut words = listed.split_terminator('\0');
    while let (Some(scope), Some(key)) = (words.next(), words.next()) {
        // The others are the user's own.
        if matches!(scope, "system" | "global" | "command") {
            continue;
        }
        let name = key.strip_prefix("filter.").and_then(|rest| Some(rest.rsplit_once('.')?.0));
        match name {
            // `-c` takes the first `=` for the end of the key.
            Some(name) if name.contains('=') => {
                return Ok(Err(format!("unsupported filter name `{name}`")));
            }
            Some(name) => _ = filters.insert(name.to_owned()),
            None => {}
        }
    }
    Ok(Ok(filters))
}

/// What a program printed.
struct Finished {
    status: ExitStatus,
    output: Vec<u8>,
    messages: Vec<u8>,
}

/// Runs a program for at most `limit`, after which it is killed.
fn run(command: &mut Command, limit: Duration) -> io::Result<Finished> {
    let deadline = Instant::now() + limit;
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    open_files::restore_limit(&child);
    let read = read(&mut child, deadline);
    if read.is_err() {
        // It may have ended by itself.
        let _ = child.kill();
    }
    let status = child.wait()?;
    let (output, messages) = read.map_err(|error| match error.kind() {
        io::ErrorKind::TimedOut => {
            let reason = format!("it did not finish within {} s", limit.as_secs_f64());
            io::Error::new(io::ErrorKind::TimedOut, reason)
        }
        _ => error,
    })?;
    Ok(Finished { status, output, messages })
}

/// Returns output and messages of a program, which are read at once: a full pipe would stop it.
fn read(child: &mut Child, deadline: Instant) -> io::Result<(Vec<u8>, Vec<u8>)> {
    let output = child.stdout.take().map(|stream| beginning(stream, MAX_OUTPUT + 1));
    let messages = child.stderr.take().map(|stream| beginning(stream, MAX_MESSAGES));
    let wait = |stream: Option<Receiver<io::Result<Vec<u8>>>>| match stream {
        Some(stream) => stream
            .recv_timeout(deadline.saturating_duration_since(Instant::now()))
            .map_err(|_| io::Error::from(io::ErrorKind::TimedOut))?,
        None => Ok(Vec::new()),
    };
    Ok((wait(output)?, wait(messages)?))
}

/// Reads a stream to its end in a thread, and returns its first `limit` bytes.
fn beginning(mut stream: impl Read + Send + 'static, limit: u64) -> Receiver<io::Result<Vec<u8>>> {
    let (sender, receiver) = mpsc::sync_channel(1);
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let read = stream.by_ref().take(limit).read_to_end(&mut bytes);
        let read = read.and_then(|_| io::copy(&mut stream, &mut io::sink()));
        // Nobody waits any more after the time limit.
        let _ = sender.send(read.map(|_| bytes));
    });
    receiver
}

/// Returns the first line of git's message, without its prefix.
pub(crate) fn first_line(message: &str) -> &str {
    let line = message.lines().next().unwrap_or_default();
    line.strip_prefix("fatal: ").or_else(|| line.strip_prefix("error: ")).unwrap_or(line)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn shell(script: &str, limit: Duration) -> io::Result<Finished> {
        run(Command::new("sh").args(["-c", script]), limit)
    }

    #[test]
    fn many_messages_do_not_stop_a_program() {
        let script = "head -c 1000000 /dev/zero >&2; echo done";
        let Finished { status, output, messages } = shell(script, Duration::from_mins(1)).unwrap();
        assert!(status.success());
        assert_eq!((output.as_slice(), messages.len() as u64), (&b"done\n"[..], MAX_MESSAGES));
    }

    #[test]
    fn a_program_that_does_not_end_is_killed() {
        let started = Instant::now();
        let error = shell("exec sleep 600", Duration::from_millis(100)).map(|_| ()).unwrap_err();
        assert_eq!(error.to_string(), "it did not finish within 0.1 s");
        assert!(started.elapsed() < Duration::from_mins(5));
    }

    fn git(directory: &Path, args: &[&str]) {
        let identity = ["-c", "user.name=alice", "-c", "user.email=alice@example.com"];
        let output = Command::new("git")
            .arg("-C")
            .arg(directory)
            .args([&identity[..], &["-c", "commit.gpgsign=false"], args].concat())
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }

    /// Makes a repository with a committed file that has a filter, and a change to it.
    fn filtered(directory: &Path, name: &str) {
        fs::create_dir_all(directory).unwrap();
        git(directory, &["init", "--quiet"]);
        fs::write(directory.join(".gitattributes"), format!("*.txt filter={name}")).unwrap();
        fs::write(directory.join("a.txt"), "one").unwrap();
        git(directory, &["add", ".gitattributes", "a.txt"]);
        git(directory, &["commit", "--quiet", "--message", "first"]);
        let clean = format!("filter.{name}.clean");
        git(directory, &["config", &clean, "touch ran; cat"]);
        git(directory, &["config", &format!("filter.{name}.required"), "true"]);
        fs::write(directory.join("a.txt"), "two").unwrap();
    }

    #[test]
    fn status_runs_no_filter_of_the_repository_or_its_submodules() {
        let directory = tempfile::tempdir().unwrap();
        let directory = directory.path();
        filtered(directory, "some.filter");
        filtered(&directory.join("sub"), "other");
        git(directory, &["-c", "advice.addEmbeddedRepo=false", "add", "sub"]);
        git(directory, &["commit", "--quiet", "--message", "second"]);
        // The commands so far may have run them.
        let markers = [directory.join("ran"), directory.join("sub/ran")];
        for marker in &markers {
            let _ = fs::remove_file(marker);
        }
        let listed = status(directory, &["--untracked-files=normal", "--", "."]).unwrap().unwrap();
        assert_eq!(String::from_utf8(listed).unwrap(), " M a.txt\0");
        assert!(markers.iter().all(|marker| !marker.exists()));
        git(directory, &["status"]);
        assert!(markers.iter().all(|marker| marker.exists()), "git status runs filters by itself");
    }

    #[test]
    fn a_filter_that_cannot_be_switched_off_is_an_error() {
        let directory = tempfile::tempdir().unwrap();
        filtered(directory.path(), "a=b");
        let message = status(directory.path(), &[]).unwrap().unwrap_err();
        assert_eq!(message, "unsupported filter name `a=b`");
        assert!(!directory.path().join("ran").exists());
    }
}

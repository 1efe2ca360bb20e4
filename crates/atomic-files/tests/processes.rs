//! Several processes that write one directory, and processes that are killed while they do.
//!
//! The test binary starts itself as the other process: [`writer`] is no test of its own, and does nothing unless the
//! environment says what to write.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use atomic_files::{DirectoryLock, Error, Expected, Tree};

/// The directory that [`writer`] writes.
const DIRECTORY: &str = "ATOMIC_FILES_TEST_DIRECTORY";
/// How often [`writer`] writes it: a number, or `lock` to hold the lock until it is killed.
const ROUNDS: &str = "ATOMIC_FILES_TEST_ROUNDS";
const FILES: usize = 12;
const PATIENCE: Duration = Duration::from_mins(2);

fn generation(text: &str) -> Tree<'static> {
    let mut tree = Tree::new();
    for index in 0..FILES {
        tree.file(format!("m{}/{index}", index % 3), Expected::Anything, text.as_bytes().to_vec());
    }
    tree
}

/// Asserts that `directory` holds all files of one generation, and returns it.
fn assert_whole(directory: &Path) -> String {
    let mut texts = (0..FILES).map(|index| {
        fs::read_to_string(directory.join(format!("m{}/{index}", index % 3))).expect("a file is missing")
    });
    let first = texts.next().unwrap();
    for text in texts {
        assert_eq!(text, first, "files of two generations are mixed");
    }
    assert_eq!(fs::read_to_string(directory.join("mine")).unwrap(), "a foreign file");
    first
}

#[test]
fn writer() {
    let Some(directory) = std::env::var_os(DIRECTORY).map(PathBuf::from) else { return };
    let rounds = std::env::var(ROUNDS).unwrap();
    if rounds == "lock" {
        let _lock = DirectoryLock::acquire(&directory, PATIENCE, |_| {}).unwrap();
        println!("locked");
        std::thread::sleep(PATIENCE);
        return;
    }
    println!("\nstarted");
    for round in 0..rounds.parse().unwrap() {
        let mut lock = DirectoryLock::acquire(&directory, PATIENCE, |_| {}).unwrap();
        // Under the lock no other process writes.
        if directory.join("m0").exists() {
            assert_whole(lock.path());
        }
        lock.write(&generation(&format!("{}-{round}", std::process::id()))).unwrap();
        assert_whole(lock.path());
    }
}

fn start(directory: &Path, rounds: &str) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "writer", "--nocapture"])
        .env(DIRECTORY, directory)
        .env(ROUNDS, rounds)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

fn wait_for(child: &mut Child, word: &str) {
    let lines = BufReader::new(child.stdout.as_mut().unwrap()).lines();
    assert!(lines.map_while(Result::ok).any(|line| line.ends_with(word)), "the process ended early");
}

fn prepare(scratch: &Path) -> PathBuf {
    let directory = scratch.join("out");
    fs::create_dir(&directory).unwrap();
    fs::write(directory.join("mine"), "a foreign file").unwrap();
    DirectoryLock::acquire(&directory, PATIENCE, |_| {}).unwrap().write(&generation("first")).unwrap();
    directory
}

#[test]
fn killed_process_leaves_the_old_or_the_new_files_to_the_next_one() {
    let scratch = tempfile::tempdir().unwrap();
    let directory = prepare(scratch.path());
    // Kills at 40 moments spread over the time that some writes take on this machine.
    let start_of_writes = Instant::now();
    for text in ["second", "third", "fourth"] {
        DirectoryLock::acquire(&directory, PATIENCE, |_| {}).unwrap().write(&generation(text)).unwrap();
    }
    let span = start_of_writes.elapsed();
    let (mut different, mut restored) = (0, 0);
    let mut last = assert_whole(&directory);
    let began = Instant::now();
    let mut round = 0;
    // A machine that is busier now than before takes longer to write.
    while round < 40 || ((different == 0 || restored == 0) && began.elapsed() < PATIENCE) {
        let mut child = start(&directory, "1000000");
        wait_for(&mut child, "started");
        let start = Instant::now();
        while start.elapsed() < span * (round % 40) / 40 {
            std::thread::yield_now();
        }
        round += 1;
        child.kill().unwrap();
        child.wait().unwrap();
        restored += DirectoryLock::acquire(&directory, PATIENCE, |_| {}).unwrap().restored().len();
        let now = assert_whole(&directory);
        different += usize::from(now != last);
        last = now;
    }
    assert!(different > 0, "no process wrote anything before it was killed");
    assert!(restored > 0, "no process was killed while it wrote");
    drop(DirectoryLock::acquire(&directory, PATIENCE, |_| {}).unwrap());
    let names: Vec<_> =
        fs::read_dir(scratch.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["out"], "leftovers of the killed processes were not removed");
}

#[test]
fn processes_that_write_at_once_do_not_mix_their_files() {
    let scratch = tempfile::tempdir().unwrap();
    let directory = prepare(scratch.path());
    let children: Vec<Child> = (0..3).map(|_| start(&directory, "20")).collect();
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    }
    assert!(assert_whole(&directory).ends_with("-19"));
}

#[test]
fn lock_announces_and_limits_the_wait() {
    let scratch = tempfile::tempdir().unwrap();
    let directory = prepare(scratch.path());
    let mut child = start(&directory, "lock");
    wait_for(&mut child, "locked");
    let mut announced = 0;
    let error =
        DirectoryLock::acquire(&directory, Duration::from_millis(50), |_| announced += 1).unwrap_err();
    assert!(
        matches!(&error, Error::Io { source, .. } if source.kind() == std::io::ErrorKind::TimedOut),
        "{error}"
    );
    assert_eq!(announced, 1);
    // The lock of a killed process is released.
    child.kill().unwrap();
    child.wait().unwrap();
    DirectoryLock::acquire(&directory, PATIENCE, |_| {}).unwrap();
}

//! The manager as a process of the test, for control planes without nodes.

use crate::programs::Programs;
use anyhow::{Context as _, Result, ensure};
use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Log messages that tests and benchmarks wait for.
const MARKS: [&str; 3] = ["caches synced", "became the leader", "reconciled"];

/// A running manager; killed when dropped.
pub struct Manager {
    child: Child,
    /// When each of the messages was first logged, after the start.
    marks: Arc<Mutex<BTreeMap<&'static str, Duration>>>,
}

impl Manager {
    /// Starts a manager without webhooks and probes, with further arguments, and waits until its caches are synced.
    ///
    /// # Errors
    /// It cannot be started, or ends.
    pub fn start(programs: &Programs, arguments: &[&str], environment: &[(&str, &str)]) -> Result<Self> {
        let mut manager = Self::launch(&programs.path("memcached-operator"), arguments, environment)?;
        manager.logged("caches synced")?;
        Ok(manager)
    }

    /// Starts a program with the options of a manager, and waits for nothing.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn launch(program: &Path, arguments: &[&str], environment: &[(&str, &str)]) -> Result<Self> {
        let started = Instant::now();
        let mut child = Command::new(program)
            .args(["run", "--enable-webhooks=false", "--health-probe-bind-address=0", "--log-format=text"])
            .args(arguments)
            .envs(environment.iter().copied())
            .stderr(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .with_context(|| format!("failed to start {}", program.display()))?;
        let lines = BufReader::new(child.stderr.take().context("no standard error")?).lines();
        let marks = Arc::new(Mutex::new(BTreeMap::new()));
        let found = Arc::clone(&marks);
        std::thread::spawn(move || {
            // Until the end: a full pipe would block the manager.
            for line in lines.map_while(Result::ok) {
                for mark in MARKS.into_iter().filter(|mark| line.contains(mark)) {
                    let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
                    found.entry(mark).or_insert_with(|| started.elapsed());
                }
            }
        });
        Ok(Self { child, marks })
    }

    /// Returns how long after the start one of the messages was logged, if it was.
    #[must_use]
    pub fn mark(&self, mark: &str) -> Option<Duration> {
        self.marks.lock().unwrap_or_else(PoisonError::into_inner).get(mark).copied()
    }

    /// Waits until one of the messages is logged; returns how long after the start that was.
    ///
    /// # Errors
    /// The manager ends before, or does not log the message within ten minutes.
    pub fn logged(&mut self, mark: &str) -> Result<Duration> {
        let begun = Instant::now();
        loop {
            if let Some(after) = self.mark(mark) {
                return Ok(after);
            }
            ensure!(self.child.try_wait()?.is_none(), "the manager ended before it logged \"{mark}\"");
            ensure!(begun.elapsed() < Duration::from_mins(10), "the manager does not log \"{mark}\"");
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Stops it with SIGTERM and waits until it has ended.
    ///
    /// # Errors
    /// It has ended before, or it fails.
    pub fn stop(mut self) -> Result<()> {
        let sent = Command::new("kill").args(["-TERM", &self.child.id().to_string()]).status()?;
        ensure!(sent.success(), "SIGTERM could not be sent: {sent}");
        let status = self.child.wait()?;
        ensure!(status.success(), "the manager ended with {status}");
        Ok(())
    }

    /// Kills it, so that it cannot release its Lease.
    ///
    /// # Errors
    /// It has ended before.
    pub fn kill(mut self) -> Result<()> {
        self.child.kill().context("the manager had ended")
    }
}

impl Drop for Manager {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

//! The manager as a process of the test, for control planes without nodes.

use crate::Programs;
use anyhow::{Context as _, Result, ensure};
use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// What the manager logs that tests and benchmarks look for.
const MARKS: [&str; 3] = ["in step", "leading", "reconciled"];

/// A running manager; killed when dropped.
pub struct Manager {
    child: Child,
    /// When each of the marks was logged first, after the start.
    marks: Arc<Mutex<BTreeMap<&'static str, Duration>>>,
}

impl Manager {
    /// Starts a manager without webhooks and probes, with further arguments, and waits until its watches are in step.
    ///
    /// # Errors
    /// It cannot be started, or ends.
    pub fn start(programs: &Programs, arguments: &[&str], environment: &[(&str, &str)]) -> Result<Self> {
        let program = programs.path("memcached-operator");
        let started = Instant::now();
        let mut child = Command::new(&program)
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
            // To the end: what it logs must not fill the pipe.
            for line in lines.map_while(Result::ok) {
                for mark in MARKS.into_iter().filter(|mark| line.contains(mark)) {
                    let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
                    found.entry(mark).or_insert_with(|| started.elapsed());
                }
            }
        });
        let mut manager = Self { child, marks };
        manager.logged("in step")?;
        Ok(manager)
    }

    /// Waits until one of the marks is logged; how long after the start that was.
    ///
    /// # Errors
    /// The manager ends before, or logs nothing of it in ten minutes.
    pub fn logged(&mut self, mark: &str) -> Result<Duration> {
        let begun = Instant::now();
        loop {
            let known = self.marks.lock().unwrap_or_else(PoisonError::into_inner).get(mark).copied();
            if let Some(after) = known {
                return Ok(after);
            }
            ensure!(self.child.try_wait()?.is_none(), "the manager ended before it was {mark}");
            ensure!(begun.elapsed() < Duration::from_mins(10), "the manager is not {mark}");
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Kills it as a power cut does: it gives nothing back and says nothing.
    ///
    /// # Errors
    /// It has ended before.
    pub fn kill(mut self) -> Result<()> {
        self.child.kill().context("it had ended")
    }
}

impl Drop for Manager {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

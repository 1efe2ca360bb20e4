//! The manager as a process of the test, for control planes without nodes.

use crate::Programs;
use anyhow::{Context as _, Result, ensure};
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A running manager; killed when dropped.
pub struct Manager {
    child: Child,
    /// When it was started.
    pub started: Instant,
    /// How long it took until its watches had told everything, when the first reconcile can begin.
    pub in_step: Duration,
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
        let mut lines = lines.map_while(Result::ok);
        ensure!(
            lines.any(|line| line.contains("in step")),
            "the manager ended before its watches were in step"
        );
        let in_step = started.elapsed();
        // What it logs from now on must not fill the pipe.
        std::thread::spawn(move || lines.for_each(drop));
        Ok(Self { child, started, in_step })
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

//! Kills a program of the control plane, if there is a command for it.

use anyhow::{Context as _, Result, ensure};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

/// A command that takes a program's name and seconds, kills the program and starts it again after that time.
pub struct Restarter {
    command: PathBuf,
}

impl Restarter {
    /// The command that `CLUSTER_RESTART` names, or the one beside this repository; `None` without either.
    #[must_use]
    pub fn from_env() -> Option<Self> {
        let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/cluster/restart");
        let command = std::env::var_os("CLUSTER_RESTART").map(PathBuf::from).or(Some(beside));
        command.filter(|path| path.is_file()).map(|command| Self { command })
    }

    /// Kills the API server; it is started again after this time.
    ///
    /// # Errors
    /// The command cannot be started.
    pub fn api_server(&self, seconds: u64) -> Result<Away> {
        eprintln!("$ {} apiserver {seconds}", self.command.display());
        let child = Command::new(&self.command).args(["apiserver", &seconds.to_string()]).spawn();
        Ok(Away { child: child.context("failed to start it")? })
    }
}

/// A program that has been killed and is going to be started again.
pub struct Away {
    child: Child,
}

impl Away {
    /// Waits until it is started again.
    ///
    /// # Errors
    /// The command failed.
    pub fn over(mut self) -> Result<()> {
        ensure!(self.child.wait()?.success(), "the restart failed");
        Ok(())
    }
}

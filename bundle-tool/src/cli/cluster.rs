//! What commands that use a cluster have in common: how it is reached, and how progress and problems are printed.

use std::io::{self, Write};
use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context as _, Result, anyhow};
use clap::Args;

use super::report::terminal_width;
use crate::terminal::{ERROR, HELP, NOTE, Styled, messages, shows_progress, stderr};
use kube_yaml::text::printable;
use olm_cluster::install::{Failure, Report};
use olm_cluster::{Cluster, Diagnosis};
use olm_model::disk::file;
use olm_model::kubernetes::{Minor, Versions};
use olm_model::names::check_label;
use olm_model::read::Unreadable;
use olm_rules::Settings;

/// The assumed width of a terminal of unknown width.
const WIDTH: usize = 80;
/// The maximum size of a kubeconfig in bytes.
const MAX_KUBECONFIG: u64 = 16 << 20;

// How the cluster is reached.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Cluster options")]
pub(crate) struct Connection {
    /// Kubeconfig file [default: $KUBECONFIG, or ~/.kube/config]
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// Context of the kubeconfig [default: its current context]
    #[arg(long, value_name = "NAME")]
    context: Option<String>,
    /// Namespace of the operator [default: that of the context]
    #[arg(long, short, value_name = "NAMESPACE")]
    pub(crate) namespace: Option<String>,
}

/// Returns the rules' settings for the version of a cluster, or for what a bundle claims if the cluster does not tell its version.
pub(crate) async fn settings_for(cluster: Option<&Cluster>) -> Settings {
    let version = match cluster {
        Some(cluster) => cluster.version().await.ok(),
        None => None,
    };
    let minor = version.and_then(|version| version.parse::<Minor>().ok());
    let versions = minor.map(|minor| Versions::range(minor, minor).nearest_reproduced());
    Settings { versions, ..Settings::default() }
}

impl Connection {
    /// Checks the name of the namespace, which is a DNS label.
    pub(crate) fn check_namespace(&self) -> Result<()> {
        self.namespace.as_deref().map_or(Ok(()), check_namespace)
    }

    /// Connects to the cluster.
    pub(crate) async fn connect(&self) -> Result<Cluster> {
        for path in self.kubeconfigs() {
            match file::open(&path) {
                Ok((_, metadata)) if metadata.len() > MAX_KUBECONFIG => {
                    let error = Unreadable::TooLarge(MAX_KUBECONFIG);
                    return Err(error)
                        .with_context(|| format!("failed to read kubeconfig {}", path.display()));
                }
                // A missing file is an error only if there is no other.
                Err(Unreadable::Io(error)) if error.kind() == io::ErrorKind::NotFound => {}
                result => {
                    result.with_context(|| format!("failed to read kubeconfig {}", path.display()))?;
                }
            }
        }
        Ok(Cluster::connect(self.kubeconfig.as_deref(), self.context.as_deref()).await?)
    }

    /// Returns the files that the configuration is read from.
    fn kubeconfigs(&self) -> Vec<PathBuf> {
        if let Some(path) = &self.kubeconfig {
            return vec![path.clone()];
        }
        match std::env::var_os("KUBECONFIG").filter(|value| !value.is_empty()) {
            Some(paths) => std::env::split_paths(&paths).collect(),
            None => std::env::var_os("HOME")
                .map(|home| PathBuf::from(home).join(".kube/config"))
                .into_iter()
                .collect(),
        }
    }

    /// Returns the namespace to use.
    pub(crate) fn namespace(&self, cluster: &Cluster) -> String {
        self.namespace.clone().unwrap_or_else(|| cluster.default_namespace().to_owned())
    }
}

/// Checks the name of a namespace, which is a DNS label.
pub(crate) fn check_namespace(name: &str) -> Result<()> {
    check_label(name).map_err(|reason| anyhow!("invalid namespace `{name}`: {reason}"))
}

/// Prints progress to standard error: on a terminal one line that changes, otherwise one line for each step.
pub(crate) struct Printer {
    started: Instant,
    live: bool,
    is_open: bool,
}

impl Printer {
    pub(crate) fn new() -> Self {
        Self { started: Instant::now(), live: shows_progress(), is_open: false }
    }

    /// Prints a step.
    pub(crate) fn step(&mut self, text: &str) {
        let seconds = self.started.elapsed().as_secs_f64();
        let text = printable(text);
        let mut out = messages();
        // Nothing is left to do where standard error is closed.
        let _ = if self.live {
            let width = terminal_width(&io::stderr()).unwrap_or(WIDTH).saturating_sub(10);
            let short: String = text.chars().take(width).collect();
            write!(out, "\r\x1b[2K{seconds:6.1} s  {short}").and_then(|()| out.flush())
        } else {
            writeln!(out, "{seconds:6.1} s  {text}")
        };
        self.is_open = self.live;
    }

    /// Prints a report of an installation.
    pub(crate) fn report(&mut self, report: &Report) {
        match report {
            Report::Progress(progress) => self.step(&format!("{}: {}", progress.stage, progress.text)),
            Report::Note(note) => {
                self.finish();
                let _ = writeln!(messages(), "{NOTE} {}", printable(note));
            }
        }
    }

    /// Ends the line that changes.
    pub(crate) fn finish(&mut self) {
        if std::mem::take(&mut self.is_open) {
            let _ = writeln!(messages());
        }
    }
}

impl Drop for Printer {
    fn drop(&mut self) {
        self.finish();
    }
}

/// Prints a problem with its evidence, the last lines of a log, and what to do.
pub(crate) fn print_problem(
    out: &mut dyn Write,
    label: Styled<&str>,
    problem: &Diagnosis,
    log: &str,
) -> io::Result<()> {
    writeln!(out, "{label} {}", printable(&problem.message))?;
    writeln!(out, "  --> {}", printable(&problem.object))?;
    for line in &problem.evidence {
        writeln!(out, "   = {}", printable(line))?;
    }
    if !log.is_empty() {
        writeln!(out, "   = last lines of the log:")?;
        for line in log.lines() {
            writeln!(out, "     | {}", printable(line))?;
        }
    }
    if !problem.help.is_empty() {
        writeln!(out, "{HELP} {}", printable(&problem.help))?;
    }
    Ok(())
}

/// Prints problems to standard error.
pub(crate) fn print_problems(label: Styled<&str>, problems: &[Diagnosis]) -> io::Result<()> {
    let mut out: Box<dyn Write> = if label.1 == NOTE.1 { Box::new(messages()) } else { Box::new(stderr()) };
    problems.iter().try_for_each(|problem| print_problem(&mut out, label, problem, ""))
}

/// Prints to standard error why an operator is not installed.
pub(crate) fn print_failure(failure: &Failure) -> io::Result<()> {
    let mut out = stderr();
    match failure {
        Failure::Diagnosis { problem, log } => print_problem(&mut out, ERROR, problem, log),
        Failure::Timeout { problems, .. } => {
            writeln!(out, "{ERROR} {}", printable(&failure.to_string()))?;
            problems.iter().try_for_each(|problem| print_problem(&mut out, NOTE, problem, ""))
        }
        Failure::Cluster(_) => Ok(()),
    }
}

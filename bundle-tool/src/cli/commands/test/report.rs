//! What the tested upgrades kept and lost, as text and as JSON.

use std::io::{self, Write};

use serde::Serialize;

use crate::cli::exit::Exit;
use kube_yaml::text::{printable, write_json};
use olm_cluster::Diagnosis;
use olm_cluster::samples::Kept;

/// How a test ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Verdict {
    /// The upgrade kept everything.
    Passed,
    /// The upgrade failed, or lost something.
    Failed,
    /// The upgrade could not be tried.
    Untested,
}

/// One tested upgrade.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Upgrade {
    pub(crate) from: String,
    pub(crate) to: String,
    /// What permits it in the catalog.
    pub(crate) edge: Option<String>,
    pub(crate) verdict: Verdict,
    /// Why it failed as a whole, or could not be tried.
    pub(crate) reason: Option<String>,
    /// Why what was created for it was not removed.
    pub(crate) cleanup_error: Option<String>,
    /// What `doctor` would report.
    pub(crate) problem: Option<Diagnosis>,
    pub(crate) samples: Vec<Kept>,
    pub(crate) notes: Vec<String>,
}

impl Upgrade {
    pub(crate) fn new(from: String, to: String, edge: Option<String>) -> Self {
        Self {
            from,
            to,
            edge,
            verdict: Verdict::Untested,
            reason: None,
            cleanup_error: None,
            problem: None,
            samples: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// Sets why the upgrade was not tried, if it was not.
    pub(crate) fn untested(&mut self, reason: &str) {
        if self.verdict == Verdict::Untested && self.reason.is_none() {
            self.reason = Some(reason.to_owned());
        }
    }

    /// Returns the upgrade and its verdict on one line.
    pub(crate) fn line(&self) -> String {
        let edge = self.edge.as_ref().map_or_else(String::new, |edge| format!(" ({edge})"));
        let verdict = match self.verdict {
            Verdict::Passed => "passed",
            Verdict::Failed => "failed",
            Verdict::Untested => "not tested",
        };
        let reason = self.reason.as_ref().map_or_else(String::new, |reason| format!(": {reason}"));
        format!("{} -> {}{edge}: {verdict}{reason}", self.from, self.to)
    }
}

/// Writes the upgrades as text.
pub(crate) fn write_text(upgrades: &[Upgrade], out: &mut impl Write) -> io::Result<()> {
    for upgrade in upgrades {
        writeln!(out, "{}", printable(&upgrade.line()))?;
        for kept in &upgrade.samples {
            let state = match (kept.losses.is_empty(), kept.ready) {
                (false, _) => "changed by the upgrade",
                (true, Some(true)) => "unchanged and ready",
                (true, Some(false)) => "unchanged, not ready",
                (true, None) => "unchanged",
            };
            writeln!(out, "  {}: {state}", printable(&kept.object))?;
            for loss in &kept.losses {
                writeln!(out, "    {}", printable(loss))?;
            }
        }
        for note in &upgrade.notes {
            writeln!(out, "  note: {}", printable(note))?;
        }
        if let Some(error) = &upgrade.cleanup_error {
            writeln!(out, "  not removed: {}", printable(error))?;
        }
    }
    let count = |verdict| upgrades.iter().filter(|one| one.verdict == verdict).count();
    writeln!(
        out,
        "upgrades: {}; passed: {}, failed: {}, not tested: {}",
        upgrades.len(),
        count(Verdict::Passed),
        count(Verdict::Failed),
        count(Verdict::Untested)
    )
}

/// Writes the upgrades as a JSON document.
pub(crate) fn json(package: &str, upgrades: &[Upgrade], out: &mut impl Write) -> io::Result<()> {
    let document = serde_json::json!({"version": 1, "package": package, "upgrades": upgrades});
    write_json(&document, out)
}

/// Returns the exit status: 2 if some upgrade could not be tried, 1 if some failed, 2 if all passed and something was not
/// removed.
pub(crate) fn exit(upgrades: &[Upgrade]) -> Exit {
    let has = |verdict| upgrades.iter().any(|one| one.verdict == verdict);
    if has(Verdict::Untested) {
        Exit::Failure
    } else if has(Verdict::Failed) {
        Exit::Findings
    } else if upgrades.iter().any(|one| one.cleanup_error.is_some()) {
        Exit::Failure
    } else {
        Exit::Success
    }
}

//! What `bundle-tool fix` changed, or would change, in a bundle or a catalog.

use std::collections::BTreeMap;
use std::io::{self, Write as _};

use anyhow::Result;
use similar::TextDiff;

use crate::model::text::{counted, printable};

/// A fix that was applied: file, rule, what was done.
pub(super) type Done = (String, &'static str, String);

/// What fixing a bundle or a catalog changes.
#[derive(Debug, Default)]
pub(super) struct Fixed {
    /// The files that change: path below the directory, old text, new text.
    pub(super) files: BTreeMap<String, (String, String)>,
    /// The fixes.
    pub(super) done: Vec<Done>,
    /// How many findings have a fix that has to be reviewed, and was not applied.
    pub(super) unsafe_fixes: usize,
    /// Whether more fixes are left than are applied at once.
    pub(super) is_incomplete: bool,
}

impl Fixed {
    /// Prints the changes as a diff.
    pub(super) fn print_diff(&self, directory: &str) -> Result<()> {
        let mut out = io::stdout().lock();
        for (file, (old, new)) in &self.files {
            let name = printable(&format!("{}/{file}", directory.trim_end_matches('/'))).into_owned();
            let diff = TextDiff::from_lines(old.as_str(), new.as_str());
            write!(out, "{}", diff.unified_diff().context_radius(3).header(&name, &name))?;
        }
        Ok(())
    }

    /// Prints what was fixed to standard error.
    pub(super) fn print_summary(&self, directory: &str, is_diff: bool) -> Result<()> {
        let mut out = io::stderr().lock();
        let directory = directory.trim_end_matches('/');
        for (file, rule, title) in &self.done {
            writeln!(out, "{}: {rule}: {}", printable(&format!("{directory}/{file}")), printable(title))?;
        }
        let verb = if is_diff { "would fix" } else { "fixed" };
        write!(out, "{}: {verb} {}", printable(directory), counted(self.done.len(), "finding"))?;
        if !self.files.is_empty() {
            write!(out, " in {}", counted(self.files.len(), "file"))?;
        }
        if self.unsafe_fixes > 0 {
            write!(out, "; --unsafe-fixes can fix {} more", self.unsafe_fixes)?;
        }
        if self.is_incomplete {
            write!(out, "; more remain: run the command again")?;
        }
        writeln!(out)?;
        Ok(())
    }
}

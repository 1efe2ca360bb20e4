//! What `bundle-tool fix` changed, or would change, in a bundle or a catalog.

use std::collections::BTreeMap;
use std::io::{self, Write as _};
use std::path::Path;

use anyhow::Result;
use serde_json::{Value as Json, json};
use similar::TextDiff;

use crate::terminal::{ADDED, HEADING, PLACE, REMOVED, Styled, messages, stdout};
use clap::builder::styling::Style;
use kube_yaml::text::{counted, printable, printable_lines};

/// A fix that was applied: file, rule, what was done.
pub(crate) type Done = (String, &'static str, String);

/// What is done with the changes of fixes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FixMode {
    /// Files are written: all or, if one cannot be written, none.
    Write,
    /// Nothing is written.
    Preview,
}

/// What fixing a bundle or a catalog changes.
#[derive(Debug, Default)]
pub(crate) struct FixOutcome {
    /// The files that change: path below the directory, old text, new text.
    pub(crate) files: BTreeMap<String, (String, String)>,
    /// The fixes.
    pub(crate) done: Vec<Done>,
    /// How many findings have a fix that has to be reviewed, and was not applied.
    pub(crate) unsafe_fixes: usize,
    /// Whether more fixes are left than are applied at once.
    pub(crate) is_incomplete: bool,
}

impl FixOutcome {
    /// Prints the changes as a diff.
    pub(crate) fn print_diff(&self, directory: &str) -> Result<()> {
        let mut out = io::BufWriter::new(stdout().lock());
        for (_, diff) in self.diffs(directory) {
            write_diff(&diff, &mut out)?;
        }
        out.flush()?;
        Ok(())
    }

    /// Returns the files that change with their diffs.
    fn diffs<'d>(&'d self, directory: &'d str) -> impl Iterator<Item = (&'d str, String)> {
        self.files.iter().map(move |(file, (old, new))| {
            let name = shown(directory, file);
            let diff = TextDiff::from_lines(old.as_str(), new.as_str());
            (file.as_str(), diff.unified_diff().context_radius(3).header(&name, &name).to_string())
        })
    }

    /// Returns what changes in a directory, for programs.
    pub(crate) fn to_json(&self, directory: &str) -> Json {
        let fix = |(file, rule, title): &Done| json!({ "file": file, "rule": rule, "title": title });
        let file = |(file, diff): (&str, String)| json!({ "path": file, "diff": diff });
        json!({
            "path": directory,
            "fixes": self.done.iter().map(fix).collect::<Vec<_>>(),
            "files": self.diffs(directory).map(file).collect::<Vec<_>>(),
            "unsafeFixes": self.unsafe_fixes,
            "isComplete": !self.is_incomplete,
        })
    }

    /// Prints what was fixed to standard error.
    pub(crate) fn print_summary(&self, directory: &str, is_diff: bool) -> Result<()> {
        let mut out = messages();
        for (file, rule, title) in &self.done {
            writeln!(out, "{}: {rule}: {}", printable(&shown(directory, file)), printable(title))?;
        }
        let directory = directory.trim_end_matches('/');
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

/// Returns the path of a file below a directory, or beside it: `../bundle.Dockerfile`.
fn shown(directory: &str, file: &str) -> String {
    let path = Path::new(directory);
    // `.` and `..` have no name to leave out.
    match (file.strip_prefix("../"), path.parent(), path.file_name()) {
        (Some(beside), Some(parent), Some(_)) => parent.join(beside).display().to_string(),
        _ => format!("{}/{file}", directory.trim_end_matches('/')),
    }
}

/// Writes a unified diff in colors. What a terminal would obey is escaped; such a diff cannot be applied.
pub(crate) fn write_diff(diff: &str, out: &mut impl io::Write) -> io::Result<()> {
    let mut is_header = true;
    for line in diff.split_inclusive('\n') {
        is_header &= !line.starts_with("@@");
        let style = match line.as_bytes().first() {
            _ if is_header => HEADING,
            Some(b'@') => PLACE,
            Some(b'+') => ADDED,
            Some(b'-') => REMOVED,
            _ => Style::new(),
        };
        let text = line.strip_suffix('\n').unwrap_or(line);
        writeln!(out, "{}", Styled(style, printable_lines(text)))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use anstream::adapter::strip_str;

    use super::*;

    #[test]
    fn file_beside_a_directory_is_named_without_the_way_to_it() {
        for (directory, file, expected) in [
            ("bundle/", "manifests/a.yaml", "bundle/manifests/a.yaml"),
            ("bundle", "../bundle.Dockerfile", "bundle.Dockerfile"),
            ("a/bundle/", "../bundle.Dockerfile", "a/bundle.Dockerfile"),
            (".", "../bundle.Dockerfile", "./../bundle.Dockerfile"),
        ] {
            assert_eq!(shown(directory, file), expected);
        }
    }

    #[test]
    fn diff_escapes_what_a_terminal_obeys() {
        let text = |label: &str| format!("FROM scratch\r\n\tLABEL a={label}\u{1b}[31m\u{9b}\u{202e}\n");
        let (old, new) = (text("a"), text("b"));
        let diff = TextDiff::from_lines(old.as_str(), new.as_str());
        let mut out = Vec::new();
        write_diff(&diff.unified_diff().header("x", "x").to_string(), &mut out).unwrap();
        let out = String::from_utf8(out).unwrap();
        assert!(out.contains("\u{1b}[31m-\tLABEL a=a\\u{1b}[31m\\u{9b}\\u{202e}\u{1b}[0m\n"), "{out:?}");
        assert!(out.contains("\u{1b}[32m+\tLABEL"), "{out:?}");
        assert!(
            strip_str(&out).to_string().contains("@@ -1,2 +1,2 @@\n FROM scratch\r\n-\tLABEL"),
            "{out:?}"
        );
    }
}

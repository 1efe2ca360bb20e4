//! Three-way merges: what the scaffold last wrote, what it would write now, and what the project's files hold.
//!
//! Nothing that was edited is lost: an edited file keeps its edits, a file that was deleted stays deleted, and an edited
//! file that the scaffold no longer has stays. Where the scaffold and the user changed the same lines, both versions are in
//! the file, between conflict markers as git writes them.

use std::collections::{BTreeMap, BTreeSet};

use super::error::Error;
use super::files::Files;
use super::lines;

/// What is to be done to a project's files: paths relative to the project.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Plan {
    /// Files to write, with their text.
    pub files: BTreeMap<String, String>,
    /// Files to remove: the scaffold no longer has them, and they were not edited or are written elsewhere.
    pub removed: BTreeSet<String>,
    /// Files to write that have conflict markers.
    pub conflicts: BTreeSet<String>,
    /// Files to write that were edited and merged without conflicts.
    pub merged: BTreeSet<String>,
    /// Files that stay although the scaffold no longer has them: they were edited.
    pub kept: BTreeSet<String>,
    /// Files that the scaffold would change, but that were deleted and stay so.
    pub deleted: BTreeSet<String>,
    /// Files of the copied runtime that were edited and stay older than the rest of it.
    pub outdated: BTreeSet<String>,
}

/// What to do where a new file of the scaffold exists with other contents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Existing {
    /// It is an error.
    Reject,
    /// Both are written between conflict markers.
    Mark,
}

/// Plans how a project's files follow the scaffold from `old` to `new`.
///
/// `current` returns what a file holds, or nothing if it does not exist.
///
/// # Errors
/// Those of `current`, and [`Error::FileExists`] where a file would be overwritten.
pub fn plan<E: From<Error>>(
    old: &Files,
    new: &Files,
    existing: Existing,
    mut current: impl FnMut(&str) -> Result<Option<String>, E>,
) -> Result<Plan, E> {
    let mut plan = Plan::default();
    // Where files of the scaffold are that may move away.
    let before: BTreeSet<&str> = old.values().map(|file| file.path.as_str()).collect();
    let ids: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    for id in ids {
        match (old.get(id), new.get(id)) {
            (None, None) => {}
            (None, Some(new)) => {
                let there = if before.contains(new.path.as_str()) { None } else { current(&new.path)? };
                match there {
                    Some(there) if there == new.text => {}
                    None => plan.write(&new.path, new.text.clone()),
                    Some(_) if existing == Existing::Reject => {
                        return Err(Error::FileExists { path: new.path.clone() }.into());
                    }
                    Some(there) => plan.merge(&new.path, "", &there, &new.text),
                }
            }
            (Some(old), None) => match current(&old.path)? {
                Some(there) if there == old.text => {
                    plan.removed.insert(old.path.clone());
                }
                Some(_) => {
                    plan.kept.insert(old.path.clone());
                }
                None => {}
            },
            (Some(old), Some(new)) if old == new => {}
            (Some(old), Some(new)) => {
                let has_moved = old.path != new.path;
                let moved =
                    if has_moved && !before.contains(new.path.as_str()) { current(&new.path)? } else { None };
                let Some(there) = current(&old.path)? else {
                    // A command that was killed may have moved it.
                    if moved.is_none() {
                        plan.deleted.insert(new.path.clone());
                    }
                    continue;
                };
                if has_moved && moved.as_ref() == Some(&new.text) {
                    if there == old.text {
                        plan.removed.insert(old.path.clone());
                    }
                    continue;
                }
                if has_moved {
                    plan.removed.insert(old.path.clone());
                } else if there == new.text {
                    continue;
                }
                if there == old.text {
                    plan.write(&new.path, new.text.clone());
                } else {
                    plan.merge(&new.path, &old.text, &there, &new.text);
                }
                if moved.is_some_and(|moved| plan.files.get(&new.path) != Some(&moved)) {
                    return Err(Error::FileExists { path: new.path.clone() }.into());
                }
            }
        }
    }
    // A file that moves to where another one was is written, not removed.
    let Plan { files, removed, .. } = &mut plan;
    removed.retain(|path| !files.contains_key(path));
    Ok(plan)
}

impl Plan {
    fn write(&mut self, path: &str, text: String) {
        self.files.insert(path.to_owned(), text);
    }

    fn merge(&mut self, path: &str, old: &str, there: &str, new: &str) {
        let list = match three_way(old, there, new) {
            Ok(text) => {
                self.write(path, text);
                &mut self.merged
            }
            Err(text) => {
                self.write(path, text);
                &mut self.conflicts
            }
        };
        list.insert(path.to_owned());
    }

    /// Returns whether nothing is to be done.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.files.is_empty() && self.removed.is_empty()
    }
}

/// Returns whether a text has the markers of a conflict.
#[must_use]
pub fn has_conflicts(text: &str) -> bool {
    let has = |marker: &str| text.lines().any(|line| line.starts_with(marker));
    has("<<<<<<< ") && has("=======") && has(">>>>>>> ")
}

/// Merges the changes from `old` to `new` into `there`.
///
/// # Errors
/// Both sides changed the same lines: the text with conflict markers.
pub fn three_way(old: &str, there: &str, new: &str) -> Result<String, String> {
    lines::merge(old, there, new)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::ScaffoldFile;

    fn files(list: &[(&str, &str, &str)]) -> Files {
        list.iter()
            .map(|(id, path, text)| {
                ((*id).to_owned(), ScaffoldFile { path: (*path).to_owned(), text: (*text).to_owned() })
            })
            .collect()
    }

    fn run(old: &Files, new: &Files, there: &[(&str, &str)], existing: Existing) -> Result<Plan, Error> {
        plan(old, new, existing, |path| {
            Ok(there.iter().find(|(name, _)| *name == path).map(|(_, text)| (*text).to_owned()))
        })
    }

    #[test]
    fn edits_and_deletions_survive() {
        let old = files(&[
            ("a", "a", "1\n2\n3\n4\n5\n"),
            ("b", "b", "old\n"),
            ("c", "c", "old\n"),
            ("d", "d", "old\n"),
            ("e", "e", "old\n"),
            ("f", "f", "same\n"),
        ]);
        let new = files(&[
            ("a", "a", "1\n2\n3\n4\nfive\n"),
            ("b", "b", "new\n"),
            ("c", "c", "new\n"),
            ("f", "f", "same\n"),
            ("g", "g", "new\n"),
        ]);
        let there = [
            ("a", "one\n2\n3\n4\n5\n"),
            ("b", "old\n"),
            ("d", "old\n"),
            ("e", "edited\n"),
            ("f", "edited\n"),
        ];
        let plan = run(&old, &new, &there, Existing::Reject).unwrap();
        let files: Vec<_> = plan.files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
        assert_eq!(files, [("a", "one\n2\n3\n4\nfive\n"), ("b", "new\n"), ("g", "new\n")]);
        let list = |set: &BTreeSet<String>| set.iter().cloned().collect::<String>();
        let lists = [&plan.removed, &plan.conflicts, &plan.merged, &plan.kept, &plan.deleted].map(list);
        assert_eq!(lists, ["d", "", "a", "e", "c"]);
    }

    #[test]
    fn conflicts_are_marked_and_hold_both_versions() {
        let (old, new) =
            (files(&[("a", "a", "1\n2\n3\n")]), files(&[("a", "a", "1\nnew\n3\n"), ("b", "b", "new\n")]));
        let there = [("a", "1\nmine\n3\n"), ("b", "mine\n")];
        let plan = run(&old, &new, &there, Existing::Mark).unwrap();
        assert_eq!(plan.conflicts.len(), 2, "{plan:?}");
        for text in plan.files.values() {
            for part in ["<<<<<<<", "mine\n", "=======\n", "new\n", ">>>>>>>"] {
                assert!(text.contains(part), "{text}");
            }
        }
        assert!(
            run(&old, &new, &there, Existing::Reject)
                .unwrap_err()
                .to_string()
                .starts_with("b already exists")
        );
    }

    #[test]
    fn an_edited_file_moves_with_its_edits() {
        let (old, new) = (files(&[("a", "x/a", "1\n2\n3\n")]), files(&[("a", "y/a", "1\n2\nthree\n")]));
        let plan = run(&old, &new, &[("x/a", "one\n2\n3\n")], Existing::Reject).unwrap_or_default();
        assert_eq!(plan.files["y/a"], "one\n2\nthree\n");
        assert!(plan.removed.contains("x/a"));
        assert!(run(&old, &new, &[("x/a", "1\n2\n3\n"), ("y/a", "mine\n")], Existing::Mark).is_err());
    }

    #[test]
    fn files_can_change_places() {
        let (old, new) =
            (files(&[("a", "x", "a\n"), ("b", "y", "b\n")]), files(&[("a", "y", "a\n"), ("b", "x", "b\n")]));
        let plan = run(&old, &new, &[("x", "a\n"), ("y", "b\n")], Existing::Reject).unwrap();
        assert_eq!((plan.files["x"].as_str(), plan.files["y"].as_str()), ("b\n", "a\n"));
        assert!(plan.removed.is_empty());
    }
}

#[cfg(test)]
mod properties {
    use proptest::prelude::*;

    use super::three_way;

    fn lines(text: &str) -> Vec<&str> {
        text.split_inclusive('\n').collect()
    }

    /// A text of distinct lines, and what becomes of each: kept, removed, replaced, or followed by new lines.
    fn changed(side: char, changes: &[u8], base: &[String]) -> String {
        let mut out = String::new();
        for (at, (line, change)) in base.iter().zip(changes).enumerate() {
            match change {
                0 => {}
                1 => out.extend([format!("{side}{at}\n")]),
                2 => out.extend([format!("{line}{side}{at}\n{side}{at}b\n")]),
                _ => out += line,
            }
        }
        out
    }

    proptest! {
        /// What one side alone changed is kept as it is; what both changed loses no line that either added.
        #[test]
        fn nothing_is_lost(mine in prop::collection::vec(0u8..8, 1..40), theirs in prop::collection::vec(0u8..8, 40)) {
            let base: Vec<String> = (0..mine.len()).map(|at| format!("{at}\n")).collect();
            let old = base.concat();
            let there = changed('m', &mine, &base);
            let new = changed('t', &theirs, &base);
            prop_assert_eq!(three_way(&old, &there, &old), Ok(there.clone()));
            prop_assert_eq!(three_way(&old, &old, &new), Ok(new.clone()));
            prop_assert_eq!(three_way(&old, &there, &there), Ok(there.clone()));
            let (Ok(merged) | Err(merged)) = three_way(&old, &there, &new);
            for line in lines(&there).into_iter().chain(lines(&new)) {
                if line.starts_with(['m', 't']) {
                    prop_assert!(merged.contains(line), "{line:?} is lost in\n{merged}");
                }
            }
        }
    }
}

//! The steps of a write, and the journal of them, with which the next run reverts what a killed process began.
//!
//! A write has a private directory, its stage, inside the directory that it changes. The stage holds the new files, named
//! by the number of their step, and receives the old ones. The journal is flushed before the first step and removed after
//! the last one, so that a stage without a complete journal belongs to a write that has not begun or has ended.
//!
//! A journal is foreign data: it may come with a repository that somebody cloned. [`Paths::below`] therefore checks its
//! paths as it checks those of callers, and what is reverted are only files that hold exactly what the journal says.

use std::fs;
use std::io::{self, Read as _};
use std::path::Path;

use crate::error::Error;
use crate::expected::{Fingerprint, State};
use crate::moves;
use crate::sys;
use crate::temporary::{JOURNAL, leftovers, remove};
use crate::tree::Paths;

/// The first line of a journal: its format.
const HEADER: &str = "atomic-files 1\0";

/// The last line of a journal, without which it is incomplete.
const END: &str = "end\0";

/// The maximum size of a journal in bytes: that of about a million files.
const MAX_SIZE: u64 = 128 << 20;

/// One step of a write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Step {
    /// The path below the directory that is written.
    pub(crate) path: String,
    pub(crate) action: Action,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Action {
    /// Creates a directory.
    Directory,
    /// Creates a file with these bytes.
    Create(Fingerprint),
    /// Replaces a file or a link with these bytes.
    Replace(Fingerprint),
    /// Removes a file or a link.
    Remove,
}

/// Returns the name in the stage of the new file of a step and, after an exchange or a removal, of the old one.
pub(crate) fn staged(index: usize) -> String {
    index.to_string()
}

/// Returns the name in the stage of the old file of a step where the file system cannot exchange files.
pub(crate) fn kept(index: usize) -> String {
    format!("{index}-old")
}

/// Returns a journal.
pub(crate) fn format(steps: &[Step]) -> String {
    let mut text = HEADER.to_owned();
    for Step { path, action } in steps {
        let action = match action {
            Action::Directory => "directory".to_owned(),
            Action::Create(new) => format!("create {}", new.format()),
            Action::Replace(new) => format!("replace {}", new.format()),
            Action::Remove => "remove".to_owned(),
        };
        text.push_str(&action);
        text.push('\0');
        text.push_str(path);
        text.push('\0');
    }
    text.push_str(END);
    text
}

/// Returns the steps of a journal, or `None` if it is incomplete.
fn parse(text: &str) -> Option<Vec<Step>> {
    let mut fields = text.strip_prefix(HEADER)?.strip_suffix(END)?.split_terminator('\0');
    let mut steps = Vec::new();
    while let Some(action) = fields.next() {
        let action = match action.split_once(' ') {
            None if action == "directory" => Action::Directory,
            None if action == "remove" => Action::Remove,
            Some(("create", new)) => Action::Create(Fingerprint::parse(new)?),
            Some(("replace", new)) => Action::Replace(Fingerprint::parse(new)?),
            _ => return None,
        };
        steps.push(Step { path: fields.next()?.to_owned(), action });
    }
    Some(steps)
}

/// Reverts the writes to `directory` that killed processes have begun, and removes what else they left in it. Returns the
/// files that were restored or removed.
///
/// The caller holds the lock on `directory`.
pub(crate) fn recover(directory: &Path) -> Vec<String> {
    let mut restored = Vec::new();
    for leftover in leftovers(directory) {
        let is_done = match read(&leftover.path.join(JOURNAL)) {
            // Nothing was left to do but to remove the journal.
            Some(steps) if is_carried_out(directory, &leftover.path, &steps) => true,
            Some(steps) => {
                let reverted = revert(directory, &leftover.path, &steps);
                restored.extend(reverted.restored);
                reverted.failed.is_empty()
            }
            None => true,
        };
        if is_done {
            remove(&leftover.path);
        }
    }
    restored.sort();
    restored.dedup();
    restored
}

/// Returns the steps of the journal at `path`, or `None` if there is no complete one.
fn read(path: &Path) -> Option<Vec<Step>> {
    if !fs::symlink_metadata(path).ok()?.is_file() {
        return None;
    }
    let mut text = String::new();
    sys::open_regular(path).ok()?.take(MAX_SIZE).read_to_string(&mut text).ok()?;
    parse(&text)
}

/// What reverting a write did: paths below its directory.
#[derive(Debug, Default)]
pub(crate) struct Reverted {
    pub(crate) restored: Vec<String>,
    /// What could not be restored, because the system reported an error.
    failed: Vec<String>,
}

impl Reverted {
    /// Returns whether the stage is not needed any more.
    pub(crate) fn is_complete(&self) -> bool {
        self.failed.is_empty()
    }
}

/// Returns whether all `steps` of a write to `directory` were carried out. It depends on the stage alone, as the files may have been
/// edited since then.
fn is_carried_out(directory: &Path, stage: &Path, steps: &[Step]) -> bool {
    let mut paths = Paths::default();
    steps.iter().enumerate().all(|(index, step)| {
        let (staged, kept) = (stage.join(staged(index)), stage.join(kept(index)));
        match step.action {
            Action::Directory => paths.below(directory, &step.path).is_ok_and(|path| path.is_dir()),
            Action::Create(_) => !exists(&staged),
            Action::Replace(_) if exists(&kept) => !exists(&staged),
            Action::Replace(new) => exists(&staged) && !State::File(new).is_at(&staged),
            Action::Remove => exists(&staged),
        }
    })
}

/// Reverts the `steps` of a write to `directory`, last to first. Steps that were not carried out have nothing to revert; files
/// that were edited since then are left as they are.
pub(crate) fn revert(directory: &Path, stage: &Path, steps: &[Step]) -> Reverted {
    let mut reverted = Reverted::default();
    let mut paths = Paths::default();
    for (index, step) in steps.iter().enumerate().rev() {
        let result = paths.below(directory, &step.path).and_then(|path| {
            let (staged, kept) = (stage.join(staged(index)), stage.join(kept(index)));
            match step.action {
                Action::Directory => {
                    // Fails if others have put something there.
                    let _ = fs::remove_dir(path);
                    Ok(false)
                }
                Action::Create(new) => revert_create(&path, &staged, new),
                Action::Replace(new) => revert_replace(&path, &staged, &kept, new),
                Action::Remove => revert_remove(&path, &staged),
            }
        });
        match result {
            Ok(true) => reverted.restored.push(step.path.clone()),
            // The file was edited.
            Ok(false) | Err(Error::Changed { .. }) => {}
            Err(_) => reverted.failed.push(step.path.clone()),
        }
    }
    reverted
}

/// Removes a file that was created with the bytes `new`. Returns whether it did.
fn revert_create(path: &Path, staged: &Path, new: Fingerprint) -> Result<bool, Error> {
    if exists(staged) || !State::File(new).is_at(path) {
        return Ok(false);
    }
    moves::take(path, staged, &State::File(new))?;
    Ok(true)
}

/// Puts the old file back that one with the bytes `new` has replaced. Returns whether it did.
fn revert_replace(path: &Path, staged: &Path, kept: &Path, new: Fingerprint) -> Result<bool, Error> {
    let old = if exists(kept) {
        kept
    } else if exists(staged) && !State::File(new).is_at(staged) {
        staged
    } else {
        return Ok(false);
    };
    match State::observe(path)? {
        // The moment in which a file system without hard links has neither file.
        State::Absent if old == kept && exists(staged) => moves::put_new(old, path)?,
        State::File(now) if now == new => {
            let spare = old.with_extension("spare");
            moves::replace(old, path, &spare, &State::File(new))?;
        }
        _ => return Ok(false),
    }
    Ok(true)
}

/// Puts a file back that was removed. Returns whether it did.
fn revert_remove(path: &Path, staged: &Path) -> Result<bool, Error> {
    if !exists(staged) {
        return Ok(false);
    }
    moves::put_new(staged, path)?;
    Ok(true)
}

fn exists(path: &Path) -> bool {
    !matches!(fs::symlink_metadata(path), Err(error) if error.kind() == io::ErrorKind::NotFound)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps() -> Vec<Step> {
        let new = Fingerprint::new(b"new");
        [
            ("d", Action::Directory),
            ("d/line\nbreak", Action::Create(new)),
            ("b c", Action::Replace(new)),
            ("end", Action::Remove),
        ]
        .map(|(path, action)| Step { path: path.to_owned(), action })
        .to_vec()
    }

    #[test]
    fn journal_is_read_only_if_it_is_complete() {
        let text = format(&steps());
        assert_eq!(parse(&text), Some(steps()));
        for length in 0..text.len() {
            assert_eq!(parse(&text[..length]), None, "{:?}", &text[..length]);
        }
    }

    #[cfg(unix)]
    #[test]
    fn hostile_journal_reaches_nothing_outside_its_directory_or_in_version_control() {
        let scratch = tempfile::tempdir().unwrap();
        let out = scratch.path().join("out");
        let stage = out.join(".atomic-files-hostile");
        fs::create_dir_all(&stage).unwrap();
        fs::create_dir_all(out.join(".git/hooks")).unwrap();
        fs::write(scratch.path().join("victim"), "new").unwrap();
        std::os::unix::fs::symlink("..", out.join("up")).unwrap();
        let paths = ["../victim", "up/victim", "../new", ".git/hooks/post-checkout", ".GIT/config"];
        let new = Fingerprint::new(b"new");
        let mut steps = Vec::new();
        for path in paths {
            for action in [Action::Create(new), Action::Replace(new), Action::Remove] {
                steps.push(Step { path: path.to_owned(), action });
            }
        }
        for index in (0..steps.len()).filter(|index| index % 3 != 0) {
            fs::write(stage.join(staged(index)), "hostile").unwrap();
        }
        fs::write(stage.join(JOURNAL), format(&steps)).unwrap();
        assert!(recover(&out).is_empty());
        assert_eq!(fs::read(scratch.path().join("victim")).unwrap(), b"new");
        assert!(!scratch.path().join("new").exists());
        assert_eq!(fs::read_dir(out.join(".git")).unwrap().count(), 1);
        assert_eq!(fs::read_dir(out.join(".git/hooks")).unwrap().count(), 0);
    }

    #[test]
    fn revert_leaves_files_that_were_edited_since() {
        let out = tempfile::tempdir().unwrap();
        let stage = out.path().join(".atomic-files-1");
        fs::create_dir(&stage).unwrap();
        let at = |name: &str| out.path().join(name);
        let new = Fingerprint::new(b"new");
        let names = ["created", "created-edited", "replaced", "replaced-edited", "removed", "removed-again"];
        let actions = [Action::Create(new), Action::Replace(new), Action::Remove];
        let mut steps: Vec<Step> = names
            .iter()
            .enumerate()
            .map(|(index, path)| Step { path: (*path).to_owned(), action: actions[index / 2] })
            .collect();
        // The process was killed before this step.
        steps.push(Step { path: "missing".to_owned(), action: Action::Create(new) });
        fs::write(stage.join(staged(names.len())), "new").unwrap();
        for (name, text) in [
            ("created", "new"),
            ("created-edited", "edited"),
            ("replaced", "new"),
            ("replaced-edited", "edited"),
            ("removed-again", "edited"),
        ] {
            fs::write(at(name), text).unwrap();
        }
        for index in 2..6 {
            fs::write(stage.join(staged(index)), "old").unwrap();
        }
        fs::write(stage.join(JOURNAL), format(&steps)).unwrap();
        assert_eq!(recover(out.path()), ["created", "removed", "replaced"]);
        assert!(!at("created").exists());
        for (name, text) in [
            ("created-edited", "edited"),
            ("replaced", "old"),
            ("replaced-edited", "edited"),
            ("removed", "old"),
            ("removed-again", "edited"),
        ] {
            assert_eq!(fs::read_to_string(at(name)).unwrap(), text, "{name}");
        }
        assert!(!stage.exists());
    }
}

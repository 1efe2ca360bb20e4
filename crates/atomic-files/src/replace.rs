//! Writes a tree: by exchanging the whole directory or, where that is not possible, file by file.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{Access, CWD, RenameFlags};
use rustix::io::Errno;

use crate::error::Error;
use crate::pending::{parent, sync_directory};
use crate::temporary::{Temporary, displaced, is_temporary, remove};
use crate::tree::{Changes, Tree};

/// How many entries that a tree does not name are linked into a new directory; with more it is updated in place.
const MAX_PRESERVED: usize = 100_000;

/// How many files are flushed one by one; for more, the whole file system is flushed once.
const MAX_SINGLE_SYNCS: usize = 32;

/// Applies `changes` to the directory `target` (without symbolic links in its path). Returns a locked handle on the new
/// directory where it was exchanged.
pub(crate) fn apply(target: &Path, tree: &Tree<'_>, changes: &Changes) -> Result<Option<File>, Error> {
    check_writable(target, changes)?;
    if changes.is_empty() {
        return Ok(None);
    }
    if changes.len() > 1
        && can_exchange(target)
        && let Some(handle) = replace_directory(target, tree, changes, exchange)?
    {
        return Ok(Some(handle));
    }
    update_in_place(target, tree, changes)?;
    Ok(None)
}

/// Refuses to write below a directory that its mode protects: a new directory in its place would circumvent that.
fn check_writable(target: &Path, changes: &Changes) -> Result<(), Error> {
    let mut checked = BTreeSet::new();
    for name in changes.written().chain(&changes.removed) {
        let directory = target.join(parent(Path::new(name)));
        // What does not exist yet is created in its nearest ancestor.
        let mut existing = directory.ancestors().take_while(|path| path.starts_with(target));
        let Some(existing) = existing.find(|path| path.symlink_metadata().is_ok()) else { continue };
        if checked.insert(existing.to_owned())
            && let Err(error @ (Errno::ACCESS | Errno::PERM | Errno::ROFS)) =
                rustix::fs::access(existing, Access::WRITE_OK | Access::EXEC_OK)
        {
            return Err(Error::new("write", &target.join(name), error.into()));
        }
    }
    Ok(())
}

/// Returns whether `target` may be exchanged with another directory: it is no mount point, and nobody's current
/// directory that this process knows of.
fn can_exchange(target: &Path) -> bool {
    let Some(parent) = target.parent() else { return false };
    let device = |path: &Path| fs::symlink_metadata(path).map(|metadata| metadata.dev()).ok();
    device(target) == device(parent)
        && !std::env::current_dir().is_ok_and(|current| current.starts_with(target))
}

/// Writes a new directory beside `target` and puts it in its place. Returns nothing, and changes nothing, where the
/// system does not allow that for this directory.
fn replace_directory(
    target: &Path,
    tree: &Tree<'_>,
    changes: &Changes,
    exchange: impl Fn(&Path, &Path) -> io::Result<()>,
) -> Result<Option<File>, Error> {
    let fail = |error| Error::new("replace", target, error);
    let stage = match Temporary::directory(parent(target)) {
        Ok(stage) => stage,
        Err(error) if is_refusal(&error) => return Ok(None),
        Err(error) => return Err(fail(error)),
    };
    let mut directories = Vec::new();
    if !preserve(target, stage.path(), changes, &mut directories)? {
        return Ok(None);
    }
    let mut files = Vec::new();
    for name in changes.written() {
        let path = stage.path().join(name);
        let fail = |error| Error::new("write", &target.join(name), error);
        create_parents(&path, &mut directories).map_err(fail)?;
        write_new(&path, &target.join(name), tree.bytes(name)).map_err(fail)?;
        files.push(path);
    }
    // Last, since a directory that is not writable could not be filled.
    for (old, new) in directories.iter().filter_map(|(old, new)| Some((old.as_ref()?, new))) {
        copy_attributes(old, new).map_err(fail)?;
    }
    copy_attributes(target, stage.path()).map_err(fail)?;
    let directories: Vec<&Path> =
        directories.iter().map(|(_, path)| path.as_path()).chain([stage.path()]).collect();
    sync(&files, &directories, stage.handle()).map_err(fail)?;

    match exchange(stage.path(), target) {
        Ok(()) => {}
        Err(error) if is_unsupported(&error) => {
            if let Some(result) = displace(stage.path(), target) {
                result.map_err(fail)?;
            } else {
                return Ok(None);
            }
            sync_directory(parent(target));
            return stage.into_handle().map(Some).map_err(fail);
        }
        Err(error) if is_refusal(&error) => return Ok(None),
        Err(error) => return Err(fail(error)),
    }
    sync_directory(parent(target));
    let old = stage.path().to_owned();
    let handle = stage.into_handle().map_err(fail)?;
    remove(&old);
    Ok(Some(handle))
}

/// Exchanges two directories in one step.
fn exchange(a: &Path, b: &Path) -> io::Result<()> {
    Ok(rustix::fs::renameat_with(CWD, a, CWD, b, RenameFlags::EXCHANGE)?)
}

/// Replaces a directory in two steps, for file systems that have no exchange. Returns nothing where the directory cannot
/// be renamed. A process that is killed between the steps leaves the old one under a name that the next run restores.
fn displace(new: &Path, target: &Path) -> Option<io::Result<()>> {
    let old = displaced(target)?;
    remove(&old);
    match fs::rename(target, &old) {
        Ok(()) => {}
        Err(error) if is_refusal(&error) => return None,
        Err(error) => return Some(Err(error)),
    }
    if let Err(error) = fs::rename(new, target) {
        let _ = fs::rename(&old, target);
        return Some(Err(error));
    }
    remove(&old);
    Some(Ok(()))
}

/// The system does not let this directory be replaced, whereas its files may still be writable.
fn is_refusal(error: &io::Error) -> bool {
    use io::ErrorKind as Kind;
    matches!(
        error.kind(),
        Kind::PermissionDenied | Kind::ReadOnlyFilesystem | Kind::ResourceBusy | Kind::CrossesDevices
    )
}

/// The file system has no exchange.
fn is_unsupported(error: &io::Error) -> bool {
    use io::ErrorKind as Kind;
    matches!(error.kind(), Kind::InvalidInput | Kind::Unsupported)
}

/// Links everything in `old` that stays into `new`. Returns false where there is too much of it.
///
/// Adds the directories that it creates to `directories`, with the ones that they stand for.
fn preserve(
    old: &Path,
    new: &Path,
    changes: &Changes,
    directories: &mut Vec<(Option<PathBuf>, PathBuf)>,
) -> Result<bool, Error> {
    let dropped: BTreeSet<PathBuf> =
        changes.replaced.iter().chain(&changes.removed).map(|name| old.join(name)).collect();
    let mut count = 0;
    let mut pending = vec![(old.to_owned(), new.to_owned())];
    while let Some((from, to)) = pending.pop() {
        let entries = fs::read_dir(&from).map_err(|error| Error::new("read", &from, error))?;
        for entry in entries {
            let entry = entry.map_err(|error| Error::new("read", &from, error))?;
            let path = entry.path();
            if is_temporary(entry.file_name()) || dropped.contains(&path) {
                continue;
            }
            count += 1;
            if count > MAX_PRESERVED {
                return Ok(false);
            }
            let copy = to.join(entry.file_name());
            let fail = |error| Error::new("preserve", &path, error);
            let kind = entry.file_type().map_err(fail)?;
            if kind.is_dir() {
                fs::create_dir(&copy).map_err(fail)?;
                directories.push((Some(path.clone()), copy.clone()));
                pending.push((path, copy));
            } else if kind.is_symlink() {
                fs::read_link(&path)
                    .and_then(|link| std::os::unix::fs::symlink(link, &copy))
                    .map_err(fail)?;
            } else if let Err(error) = fs::hard_link(&path, &copy) {
                // Not every file system has hard links, and not every user may make them.
                if !kind.is_file() {
                    return Err(fail(error));
                }
                copy_file(&path, &copy).map_err(fail)?;
            }
        }
    }
    Ok(true)
}

/// Copies a file with its mode and modification time.
fn copy_file(from: &Path, to: &Path) -> io::Result<()> {
    fs::copy(from, to)?;
    let modified = fs::metadata(from)?.modified()?;
    File::options().append(true).open(to)?.set_modified(modified)
}

/// Gives a directory the mode and, where the system allows it, the owner of the one that it replaces.
fn copy_attributes(from: &Path, to: &Path) -> io::Result<()> {
    let (from, now) = (fs::symlink_metadata(from)?, fs::symlink_metadata(to)?);
    if (from.uid(), from.gid()) != (now.uid(), now.gid()) {
        let _ = std::os::unix::fs::chown(to, Some(from.uid()), Some(from.gid()));
    }
    fs::set_permissions(to, fs::Permissions::from_mode(from.mode() & 0o7777))
}

/// Writes a file that does not exist yet. It gets the mode of `old` if that is a file.
fn write_new(path: &Path, old: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o666).open(path)?;
    file.write_all(bytes)?;
    match fs::symlink_metadata(old) {
        Ok(metadata) if metadata.is_file() => {
            file.set_permissions(fs::Permissions::from_mode(metadata.mode() & 0o7777))
        }
        _ => Ok(()),
    }
}

/// Creates the missing parents of `path`, and adds them to `directories`.
fn create_parents(path: &Path, directories: &mut Vec<(Option<PathBuf>, PathBuf)>) -> io::Result<()> {
    for directory in missing_parents(path) {
        fs::create_dir(&directory)?;
        directories.push((None, directory));
    }
    Ok(())
}

/// Returns the parents of `path` that do not exist, outermost first.
fn missing_parents(path: &Path) -> Vec<PathBuf> {
    let missing = path.ancestors().skip(1).take_while(|directory| !directory.exists());
    let mut missing: Vec<PathBuf> = missing.map(Path::to_owned).collect();
    missing.reverse();
    missing
}

/// Flushes files and directories to the disk. `handle` is open on the file system that they are on.
fn sync(files: &[PathBuf], directories: &[&Path], handle: &File) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    if files.len() > MAX_SINGLE_SYNCS {
        return Ok(rustix::fs::syncfs(handle)?);
    }
    for file in files {
        File::open(file)?.sync_all()?;
    }
    for directory in directories {
        sync_directory(directory);
    }
    handle.sync_all()
}

/// Returns the files that are written: those that are renamed before files are removed, and those after that.
fn in_order<'c>(tree: &Tree<'_>, changes: &'c Changes) -> (Vec<&'c String>, Vec<&'c String>) {
    let (first, mut last): (Vec<_>, Vec<_>) = changes.written().partition(|name| tree.order(name).is_none());
    last.sort_by_key(|name| tree.order(name));
    (first, last)
}

/// Writes the files of a tree one by one. All bytes are on the disk before the first file is renamed; if a rename fails,
/// those before it are undone.
fn update_in_place(target: &Path, tree: &Tree<'_>, changes: &Changes) -> Result<(), Error> {
    let stage = Temporary::directory(target).map_err(|error| match changes.written().next() {
        Some(name) => Error::new("write", &target.join(name), error),
        None => Error::new("write", target, error),
    })?;
    let (first, last) = in_order(tree, changes);
    let mut files = Vec::new();
    for (index, name) in first.iter().chain(&last).enumerate() {
        let path = stage.path().join(format!("new-{index}"));
        write_new(&path, &target.join(name), tree.bytes(name))
            .map_err(|error| Error::new("write", &target.join(name), error))?;
        files.push(path);
    }
    sync(&files, &[stage.path()], stage.handle()).map_err(|error| Error::new("write", target, error))?;
    let mut undo = Undo { stage: stage.path(), steps: Vec::new() };
    let mut touched = BTreeSet::new();
    let mut files = files.iter();
    let mut replace = |undo: &mut Undo<'_>, names: &[&String]| {
        for (name, new) in names.iter().zip(&mut files) {
            let path = target.join(name);
            undo.replace(&path, new).map_err(|error| Error::new("write", &path, error))?;
        }
        Ok(())
    };
    replace(&mut undo, &first)?;
    for name in &changes.removed {
        let path = target.join(name);
        undo.remove(&path).map_err(|error| Error::new("remove", &path, error))?;
    }
    replace(&mut undo, &last)?;
    for name in changes.written().chain(&changes.removed) {
        touched.insert(parent(&target.join(name)).to_owned());
    }
    undo.steps.clear();
    for directory in &touched {
        sync_directory(directory);
    }
    Ok(())
}

/// Undoes its steps when it is dropped, unless they were cleared.
struct Undo<'a> {
    stage: &'a Path,
    steps: Vec<Step>,
}

enum Step {
    /// A directory was created.
    Directory(PathBuf),
    /// A file was created.
    Created(PathBuf),
    /// A file was replaced or removed: its path, and where it is kept.
    Kept(PathBuf, PathBuf),
}

impl Undo<'_> {
    fn replace(&mut self, path: &Path, new: &Path) -> io::Result<()> {
        for directory in missing_parents(path) {
            fs::create_dir(&directory)?;
            self.steps.push(Step::Directory(directory));
        }
        if fs::symlink_metadata(path).is_ok() {
            let kept = self.kept();
            // Without hard links there is a moment without the file.
            fs::hard_link(path, &kept).or_else(|_| fs::rename(path, &kept))?;
            self.steps.push(Step::Kept(path.to_owned(), kept));
        } else {
            self.steps.push(Step::Created(path.to_owned()));
        }
        fs::rename(new, path)
    }

    fn remove(&mut self, path: &Path) -> io::Result<()> {
        let kept = self.kept();
        fs::rename(path, &kept)?;
        self.steps.push(Step::Kept(path.to_owned(), kept));
        Ok(())
    }

    fn kept(&self) -> PathBuf {
        self.stage.join(format!("old-{}", self.steps.len()))
    }
}

impl Drop for Undo<'_> {
    fn drop(&mut self) {
        // An error is on its way to the user already; what cannot be undone stays.
        for step in self.steps.drain(..).rev() {
            let _ = match step {
                Step::Directory(path) => fs::remove_dir(path),
                Step::Created(path) => fs::remove_file(path),
                Step::Kept(path, kept) => fs::rename(kept, path),
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree() -> Tree<'static> {
        let mut tree = Tree::new();
        tree.file("a", b"2").file("deep/er/b", b"2").remove("gone");
        tree
    }

    fn prepare(out: &Path) -> Changes {
        fs::create_dir(out).unwrap();
        for name in ["a", "gone", "mine"] {
            fs::write(out.join(name), "1").unwrap();
        }
        tree().compare(out).unwrap()
    }

    fn assert_written(scratch: &Path) {
        let out = scratch.join("out");
        assert_eq!(fs::read(out.join("a")).unwrap(), b"2");
        assert_eq!(fs::read(out.join("deep/er/b")).unwrap(), b"2");
        assert_eq!(fs::read(out.join("mine")).unwrap(), b"1");
        assert_eq!(fs::read_dir(&out).unwrap().count(), 3);
        assert_eq!(fs::read_dir(scratch).unwrap().count(), 1);
    }

    fn assert_as_before(scratch: &Path) {
        let out = scratch.join("out");
        for name in ["a", "gone", "mine"] {
            assert_eq!(fs::read(out.join(name)).unwrap(), b"1");
        }
        assert_eq!(fs::read_dir(&out).unwrap().count(), 3);
        assert_eq!(fs::read_dir(scratch).unwrap().count(), 1);
    }

    #[test]
    fn a_file_system_without_exchange_gets_two_renames() {
        let scratch = tempfile::tempdir().unwrap();
        let out = scratch.path().join("out");
        let changes = prepare(&out);
        let unsupported = |_: &Path, _: &Path| Err(io::ErrorKind::InvalidInput.into());
        assert!(replace_directory(&out, &tree(), &changes, unsupported).unwrap().is_some());
        assert_written(scratch.path());
    }

    #[test]
    fn a_directory_that_cannot_be_exchanged_is_updated_in_place() {
        let scratch = tempfile::tempdir().unwrap();
        let out = scratch.path().join("out");
        let changes = prepare(&out);
        let busy = |_: &Path, _: &Path| Err(io::ErrorKind::ResourceBusy.into());
        assert!(replace_directory(&out, &tree(), &changes, busy).unwrap().is_none());
        assert_as_before(scratch.path());
        update_in_place(&out, &tree(), &changes).unwrap();
        assert_written(scratch.path());
    }

    #[test]
    fn an_update_in_place_that_fails_is_undone() {
        let scratch = tempfile::tempdir().unwrap();
        let out = scratch.path().join("out");
        let mut changes = prepare(&out);
        // Fails last: it does not exist.
        changes.removed.push("missing".to_owned());
        let error = update_in_place(&out, &tree(), &changes).unwrap_err();
        assert!(error.to_string().ends_with("out/missing"), "{error}");
        assert_as_before(scratch.path());
    }

    #[test]
    fn last_files_are_renamed_last_in_their_order() {
        let changes = Changes {
            created: ["a", "b", "c"].map(str::to_owned).to_vec(),
            replaced: ["d".to_owned()].to_vec(),
            ..Changes::default()
        };
        let mut tree = Tree::new();
        tree.last_file("d", b"").last_file("b", b"").file("a", b"").file("c", b"");
        assert_eq!(
            in_order(&tree, &changes),
            (vec![&changes.created[0], &changes.created[2]], vec![&changes.replaced[0], &changes.created[1]])
        );
    }

    #[test]
    fn a_failed_exchange_changes_nothing() {
        let scratch = tempfile::tempdir().unwrap();
        let out = scratch.path().join("out");
        let changes = prepare(&out);
        let full = |_: &Path, _: &Path| Err(io::ErrorKind::StorageFull.into());
        replace_directory(&out, &tree(), &changes, full).unwrap_err();
        assert_as_before(scratch.path());
    }
}

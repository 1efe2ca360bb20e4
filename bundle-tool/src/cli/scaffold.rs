//! What the commands of the scaffold share: reading a project, applying a change to its files, and saying what was done.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use std::path::{Component, Path, PathBuf};

use anyhow::{Context as _, Result, anyhow, bail};
use atomic_files::{DirectoryLock, Expected, Tree};
use clap::Args;

use super::exit::Exit;
use super::git;
use super::lock::lock;
use super::outputs::resolved;
use crate::terminal::{WARNING, messages, stderr};
use olm_model::disk::file;
use olm_model::read::{MAX_FILE_SIZE, Unreadable};
use operator_scaffold::merge;
use operator_scaffold::merge::{Existing, Plan};
use operator_scaffold::{Error, Files, Project, Record, Runtime, project, record, vendor};

/// The maximum number of paths that a message names.
const MAX_PATHS: usize = 3;

// Options of every command that changes a project.
#[derive(Debug, Args)]
pub(crate) struct Common {
    /// Directory of the project
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) project_dir: PathBuf,
    /// Change files that have uncommitted changes
    #[arg(long)]
    pub(crate) allow_dirty: bool,
}

/// The files of a project, with a record of what was read of each.
pub(crate) struct ProjectFiles {
    directory: PathBuf,
    read: RefCell<BTreeMap<String, Expected>>,
}

impl ProjectFiles {
    pub(crate) fn new(directory: &Path) -> Self {
        Self { directory: directory.to_owned(), read: RefCell::default() }
    }

    /// Reads a file. Returns `None` if it does not exist.
    pub(crate) fn bytes(&self, path: &str) -> Result<Option<Vec<u8>>> {
        self.limited(path, MAX_FILE_SIZE)
    }

    fn limited(&self, path: &str, limit: u64) -> Result<Option<Vec<u8>>> {
        let bytes = bytes(&self.directory.join(path), limit)?;
        self.read.borrow_mut().entry(path.to_owned()).or_insert_with(|| bytes.as_ref().into());
        Ok(bytes)
    }

    /// Reads a text file. Returns `None` if it does not exist.
    pub(crate) fn read_text(&self, path: &str) -> Result<Option<String>> {
        self.bytes(path)?.map(|bytes| text_of(bytes, &self.directory.join(path))).transpose()
    }

    /// Returns what was read of a file first. A file that was not read is not overwritten.
    fn expected(&self, path: &str) -> Expected {
        self.read.borrow().get(path).copied().unwrap_or(Expected::Absent)
    }
}

/// A project that exists, locked against other processes.
pub(crate) struct Workspace {
    directory: PathBuf,
    files: ProjectFiles,
    lock: DirectoryLock,
    record: Record,
    /// What the project is scaffolded from.
    pub(crate) project: Project,
}

/// The version of this tool.
pub(crate) fn version() -> Result<semver::Version> {
    semver::Version::parse(env!("CARGO_PKG_VERSION")).context("invalid version of bundle-tool")
}

impl Workspace {
    /// Locks and reads a project.
    pub(crate) fn open(directory: &Path) -> Result<Self> {
        let missing = || {
            format!(
                "{} does not exist: run `bundle-tool init` first, or pass --project-dir",
                directory.join(project::FILE).display()
            )
        };
        // The lock would create the directory.
        if !directory.join(project::FILE).exists() {
            bail!(missing());
        }
        let lock = lock(directory)?;
        let files = ProjectFiles::new(directory);
        let text = files.read_text(project::FILE)?.with_context(missing)?;
        let project = Project::parse(&text).map_err(|error| located(error, directory))?;
        let text = text_of_record(&files)?;
        let record = Record::parse(&text).map_err(|error| located(error, directory))?;
        let tool = version()?;
        if record.version > tool {
            bail!(Error::Newer { project: record.version.to_string(), tool: tool.to_string() });
        }
        Ok(Self { directory: directory.to_owned(), files, lock, record, project })
    }

    /// Writes the files of `project`, keeping what was edited. Returns what was done.
    pub(crate) fn apply(mut self, project: &Project, existing: Existing, common: &Common) -> Result<Plan> {
        let new = operator_scaffold::render(project)?;
        if !common.allow_dirty {
            self.check_clean(existing == Existing::Mark)?;
        }
        let files = &self.files;
        let current = |path: &str| files.read_text(path);
        let mut plan = merge::plan::<anyhow::Error>(&self.record.files, &new, existing, current)?;
        let vendored = self.follow_runtime(project, &mut plan)?;
        for path in plan.merged.union(&plan.conflicts) {
            if current(path)?.is_some_and(|text| merge::has_conflicts(&text)) {
                bail!(
                    "{path} has conflicts from an earlier merge: resolve them, between `<<<<<<<` and `>>>>>>>`, first"
                );
            }
        }
        // The types of a version of its own begin with what was edited in those of the stored version.
        for (to, from) in operator_scaffold::copies(project) {
            if self.record.files.contains_key(&to) {
                continue;
            }
            let (Some(from), Some(to)) = (self.record.files.get(&from), new.get(&to)) else { continue };
            let Some(edited) = current(&from.path)? else { continue };
            let text = merge::three_way(&from.text, &edited, &to.text).unwrap_or_else(|marked| {
                plan.conflicts.insert(to.path.clone());
                marked
            });
            plan.files.insert(to.path.clone(), text);
        }
        write(&mut self.lock, files, project, new, vendored, &plan)?;
        report(&plan, &self.directory)?;
        Ok(plan)
    }

    /// Adds to `plan` how the copy of the runtime follows; returns the digests to record.
    fn follow_runtime(&self, project: &Project, plan: &mut Plan) -> Result<vendor::Digests> {
        let mut old = &self.record.vendored;
        let none = vendor::Digests::new();
        if let Runtime::Path(path) = &project.runtime
            && !old.is_empty()
        {
            check_runtime(&self.directory.join(path))?;
            // The project has made the copy its own.
            if Path::new(path).starts_with(vendor::DIRECTORY) {
                old = &none;
            }
        }
        let current = |path: &str| self.files.bytes(path);
        let record = vendor::follow(plan, old, &vendor::copies(project)?, current)?;
        Ok(record)
    }

    /// Fails if files have changes that are not in git: of the scaffold or, with `all`, any.
    ///
    /// What the tool itself wrote does not count, so that several commands can follow each other without a commit.
    fn check_clean(&self, all: bool) -> Result<()> {
        let Some(mut dirty) = uncommitted(&self.directory)? else { return Ok(()) };
        for own in [record::FILE, "Cargo.lock"] {
            dirty.remove(own);
        }
        let mut edited = BTreeSet::new();
        // Comments in it would be lost.
        let emitted = self.project.emit();
        let is_comment = |line: &str| line.trim_start().starts_with('#') && !emitted.contains(line);
        let has_comment = |text: String| text.lines().any(is_comment);
        if dirty.remove(project::FILE) && self.files.read_text(project::FILE)?.is_some_and(has_comment) {
            edited.insert(project::FILE.to_owned());
        }
        // Of what is deleted, nothing can be lost.
        dirty.retain(|path| self.directory.join(path).symlink_metadata().is_ok());
        for file in self.record.files.values() {
            if dirty.remove(&file.path)
                && self.files.read_text(&file.path)?.is_some_and(|text| text != file.text)
            {
                edited.insert(file.path.clone());
            }
        }
        for (path, digest) in &self.record.vendored {
            if dirty.remove(path)
                && self.files.bytes(path)?.is_some_and(|there| vendor::digest(&there) != *digest)
            {
                edited.insert(path.clone());
            }
        }
        if all {
            edited.append(&mut dirty);
        }
        if edited.is_empty() {
            return Ok(());
        }
        bail!(
            "{}; commit or stash them, or pass --allow-dirty",
            match edited.len() {
                1 => format!("{} has uncommitted changes", some(&edited)),
                count => format!("{count} files have uncommitted changes ({})", some(&edited)),
            }
        )
    }
}

/// Adds the path of the project to an error about one of its files.
fn located(error: Error, directory: &Path) -> anyhow::Error {
    let error = anyhow::Error::new(error);
    if directory == Path::new(".") { error } else { error.context(directory.display().to_string()) }
}

fn text_of_record(files: &ProjectFiles) -> Result<String> {
    let path = files.directory.join(record::FILE);
    let bytes = files.limited(record::FILE, record::MAX_SIZE)?.with_context(|| {
        format!(
            "{} does not exist: it records what was scaffolded, which is needed to recognize your edits; restore it from git",
            path.display()
        )
    })?;
    text_of(bytes, &path)
}

/// Fails if a directory does not have the crate operator-runtime.
fn check_runtime(directory: &Path) -> Result<()> {
    let manifest = directory.join("Cargo.toml");
    let text = read_text(&manifest, MAX_FILE_SIZE)?.unwrap_or_default();
    let parsed: Option<toml::Table> = text.parse().ok();
    let name = parsed.as_ref().and_then(|manifest| manifest.get("package")?.get("name")?.as_str());
    if name != Some("operator-runtime") {
        bail!(
            "{} is not the manifest of operator-runtime: name the directory of that crate",
            manifest.display()
        );
    }
    Ok(())
}

/// Returns the runtime in a directory that a command line names, for a project in another.
///
/// # Errors
/// The directory does not have the crate operator-runtime, or its path cannot be written to `PROJECT`.
pub(crate) fn runtime_in(path: &Path, project_dir: &Path) -> Result<Runtime> {
    check_runtime(path).context("invalid --runtime-path")?;
    // `PROJECT` has a path relative to the project, which may not exist yet.
    let path = if path.is_absolute() || project_dir == Path::new(".") {
        path.to_owned()
    } else {
        let real = |path: &Path| resolved(path).with_context(|| format!("failed to read {}", path.display()));
        relative(&real(path)?, &real(project_dir)?)
    };
    match path.to_str() {
        Some(path) if !path.chars().any(char::is_control) => Ok(Runtime::Path(path.to_owned())),
        _ => bail!(
            "the path of operator-runtime is not valid UTF-8 or has control characters: {}",
            path.display()
        ),
    }
}

/// Returns the relative path from a directory to a path; both are absolute.
fn relative(path: &Path, directory: &Path) -> PathBuf {
    let shared =
        path.components().zip(directory.components()).take_while(|(one, other)| one == other).count();
    let up = directory.components().skip(shared).map(|_| Component::ParentDir);
    up.chain(path.components().skip(shared)).collect()
}

/// Reads a file. Returns `None` if it does not exist.
fn bytes(path: &Path, limit: u64) -> Result<Option<Vec<u8>>> {
    match file::read_in_project(path, limit) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(Unreadable::Io(error))
            if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) =>
        {
            Ok(None)
        }
        Err(error) => Err(error).with_context(|| format!("failed to read {}", path.display())),
    }
}

/// Reads a text file. Returns `None` if it does not exist.
fn read_text(path: &Path, limit: u64) -> Result<Option<String>> {
    bytes(path, limit)?.map(|bytes| text_of(bytes, path)).transpose()
}

fn text_of(bytes: Vec<u8>, path: &Path) -> Result<String> {
    String::from_utf8(bytes).map_err(|_| Error::NotText { path: path.display().to_string() }.into())
}

/// Returns the name of a directory that may not exist yet.
pub(crate) fn directory_name(directory: &Path) -> Result<String> {
    let absolute = std::path::absolute(directory).context("failed to read the current directory")?;
    let absolute = std::fs::canonicalize(&absolute).unwrap_or(absolute);
    let name = absolute.file_name().and_then(|name| name.to_str());
    name.map(str::to_owned).context("the directory has no name: pass --project-name")
}

/// Writes a plan, the `PROJECT` file and the record: all of it or nothing. `read` has what was read of them.
pub(crate) fn write(
    lock: &mut DirectoryLock,
    read: &ProjectFiles,
    project: &Project,
    files: Files,
    vendored: vendor::Digests,
    plan: &Plan,
) -> Result<()> {
    let record = Record { version: version()?, files, vendored };
    let mut tree = Tree::new();
    for (path, text) in &plan.files {
        tree.file(path.as_str(), read.expected(path), text.as_bytes());
    }
    for path in &plan.removed {
        tree.remove(path.as_str(), read.expected(path));
    }
    tree.file(project::FILE, read.expected(project::FILE), project.emit().into_bytes());
    tree.file(record::FILE, read.expected(record::FILE), record.emit().into_bytes());
    lock.write(&tree)?;
    // Directories that are empty now; the others cannot be removed.
    for path in &plan.removed {
        let mut directory = Path::new(path).parent();
        while let Some(parent) = directory.filter(|parent| !parent.as_os_str().is_empty()) {
            if std::fs::remove_dir(lock.path().join(parent)).is_err() {
                break;
            }
            directory = parent.parent();
        }
    }
    Ok(())
}

/// Prints what was done to which file; of the copy of the runtime, how many files were written.
pub(crate) fn report(plan: &Plan, directory: &Path) -> Result<()> {
    let mut err = io::BufWriter::new(messages());
    let is_vendored = |path: &String| Path::new(path).starts_with(vendor::DIRECTORY);
    for path in plan.files.keys().filter(|path| !is_vendored(path)) {
        let done = if plan.conflicts.contains(path) {
            "conflict"
        } else if plan.merged.contains(path) {
            "merge"
        } else {
            "write"
        };
        writeln!(err, "{done:>9} {}", shown(directory, path))?;
    }
    for (done, paths) in [("remove", &plan.removed), ("keep", &plan.kept), ("deleted", &plan.deleted)] {
        for path in paths.iter().filter(|path| done != "remove" || !is_vendored(path)) {
            writeln!(err, "{done:>9} {}", shown(directory, path))?;
        }
    }
    for (done, count) in [
        ("write", plan.files.keys().filter(|path| is_vendored(path)).count()),
        ("remove", plan.removed.iter().filter(|path| is_vendored(path)).count()),
    ] {
        let files = if count == 1 { "file" } else { "files" };
        if count > 0 {
            writeln!(err, "{done:>9} {} ({count} {files})", shown(directory, vendor::DIRECTORY))?;
        }
    }
    err.flush()?;
    Ok(())
}

/// Returns the path of a file for people.
fn shown(directory: &Path, path: &str) -> String {
    if directory == Path::new(".") { path.to_owned() } else { directory.join(path).display().to_string() }
}

/// Returns the exit status of a plan that was carried out; what is left to do is a warning.
pub(crate) fn finish(plan: &Plan) -> Result<Exit> {
    if !plan.conflicts.is_empty() {
        writeln!(
            stderr(),
            "{WARNING} {} with conflicts ({}): resolve the conflicts between `<<<<<<<` and `>>>>>>>`",
            match plan.conflicts.len() {
                1 => "1 file was merged".to_owned(),
                count => format!("{count} files were merged"),
            },
            some(&plan.conflicts)
        )?;
    }
    if !plan.outdated.is_empty() {
        writeln!(
            stderr(),
            "{WARNING} {} of the copy of operator-runtime, so {} older than the rest ({}): delete {}, run `bundle-tool update`, and \
             make your change again",
            match plan.outdated.len() {
                1 => "you have edited 1 file".to_owned(),
                count => format!("you have edited {count} files"),
            },
            if plan.outdated.len() == 1 { "it is" } else { "they are" },
            some(&plan.outdated),
            if plan.outdated.len() == 1 { "it" } else { "them" },
        )?;
    }
    Ok(if plan.conflicts.is_empty() && plan.outdated.is_empty() { Exit::Success } else { Exit::Findings })
}

/// Names the first of some paths.
fn some(paths: &BTreeSet<String>) -> String {
    let shown: Vec<&str> = paths.iter().take(MAX_PATHS).map(String::as_str).collect();
    let more = if paths.len() > MAX_PATHS { ", …" } else { "" };
    format!("{}{more}", shown.join(", "))
}

/// Returns the files of a directory that git lists as changed or untracked, relative to it. Returns `None` if the
/// directory is not in a git work tree, or if there is no git.
fn uncommitted(directory: &Path) -> Result<Option<BTreeSet<String>>> {
    let prefix = match git::output(directory, &["rev-parse", "--show-prefix"]) {
        Ok(Ok(output)) => output,
        Ok(Err(_)) => return Ok(None),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error).context("failed to run git"),
    };
    let prefix = String::from_utf8_lossy(&prefix).trim_end_matches('\n').to_owned();
    let output = git::status(directory, &["--untracked-files=all", "--no-renames", "--", "."])
        .context("failed to run git")?
        .map_err(|reason| anyhow!("git status failed: {reason}"))?;
    let text = String::from_utf8_lossy(&output);
    // Two letters and a blank, then a path relative to the work tree.
    let paths = text.split('\0').filter_map(|entry| entry.get(3..)?.strip_prefix(&prefix));
    Ok(Some(paths.map(str::to_owned).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn project_files_are_not_overwritten_if_they_changed_or_were_not_read() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("main.rs"), "1").unwrap();
        let files = ProjectFiles::new(dir.path());
        assert_eq!(files.read_text("main.rs").unwrap().as_deref(), Some("1"));
        assert_eq!(files.read_text("new.rs").unwrap(), None);
        std::fs::write(dir.path().join("main.rs"), "edited").unwrap();
        // What counts is what was read first.
        files.read_text("main.rs").unwrap();
        assert_eq!(files.expected("main.rs"), Some("1").into());
        assert_eq!(files.expected("new.rs"), Expected::Absent);
        assert_eq!(files.expected("unread.rs"), Expected::Absent);
    }

    #[test]
    fn a_path_is_relative_to_a_directory() {
        for (path, directory, expected) in [
            ("/a/b", "/a/c", "../b"),
            ("/a/b", "/a", "b"),
            ("/a", "/b/c", "../../a"),
            ("/a/b/c", "/a/b/d/e", "../../c"),
        ] {
            assert_eq!(relative(Path::new(path), Path::new(directory)), Path::new(expected));
        }
    }
}

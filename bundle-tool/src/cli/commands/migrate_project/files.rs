//! The files of a project that may call operator-sdk or opm.
//!
//! Everything is opened beneath the directory, so no symbolic link leads out of it.

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::Path;

use anyhow::{Context as _, Result, bail};

use super::report::ReportNote;
use crate::cli::commands::generate::parse_project;
use crate::cli::dropin::ProjectFacts;
use olm_model::disk::walk::{Kind as EntryKind, Options};
use olm_model::disk::{Directory, WalkError};
use olm_model::read::Unreadable;

/// The maximum size of a file in bytes.
const MAX_FILE: u64 = 1 << 20;
/// The maximum size of all files that are kept, in bytes.
const MAX_FILES: usize = 64 << 20;
/// The maximum number of files and directories in a project.
const MAX_ENTRIES: usize = 100_000;
/// The directories that are not searched.
const SKIPPED: &[&str] = &[".git", ".hg", ".jj", ".svn", "node_modules", "vendor", "target"];

/// What kind of file it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Makefile,
    Shell,
    /// A GitHub workflow or action, or GitLab CI.
    Pipeline,
    Tekton,
    Dockerfile,
}

/// A file.
#[derive(Debug)]
pub(super) struct File {
    /// The path below the directory, with `/` between the parts.
    pub(super) path: String,
    pub(super) kind: Kind,
    pub(super) text: String,
    /// Whether it changes the metadata or the Dockerfile of a bundle after it was generated.
    pub(super) edits_bundle: bool,
    /// The positions of its line breaks.
    breaks: Vec<usize>,
}

impl File {
    pub(super) fn new(path: String, kind: Kind, text: String) -> Self {
        let breaks = text.match_indices('\n').map(|(at, _)| at).collect();
        Self { path, kind, edits_bundle: edits_bundle(&text), text, breaks }
    }

    /// Returns the line of a position, from 1.
    pub(super) fn line(&self, at: usize) -> usize {
        self.breaks.partition_point(|line_break| *line_break < at) + 1
    }
}

/// Returns whether a script or a recipe changes the metadata or the Dockerfile of a bundle after it was generated. operator-sdk
/// generates these files again from nothing; the native command keeps what they contain, so the changes would accumulate.
fn edits_bundle(text: &str) -> bool {
    let joined = text.replace("\\\n", " ").to_lowercase();
    let is_comment = |line: &str| line.trim_start_matches([' ', '\t', '@', '-', '+']).starts_with('#');
    joined.lines().any(|line| !is_comment(line) && is_of_bundle(line) && changes_file(line))
}

fn is_of_bundle(text: &str) -> bool {
    let is_below = |name: &str| text.contains("bundle") && text.contains(name);
    text.contains("annotations.yaml") || is_below("dockerfile") || is_below("/metadata")
}

/// Returns whether a line of a script appends to a file, edits it in place, or replaces it.
fn changes_file(line: &str) -> bool {
    const EDITORS: [&str; 8] = ["sed", "gsed", "perl", "ruby", "yq", "awk", "gawk", "ex"];
    let appended = line.split_once(">>").or_else(|| line.split_once("tee "));
    if appended.is_some_and(|(_, target)| is_of_bundle(target)) {
        return true;
    }
    let words: Vec<&str> =
        line.split(|char: char| char.is_whitespace() || ";|&'\"`".contains(char)).collect();
    let programs = || {
        words.iter().map(|word| {
            // Such as `@$(SED)` and `/usr/bin/sed`.
            let name = word.trim_matches(['@', '-', '+', '$', '(', ')', '{', '}']);
            name.rsplit('/').next().unwrap_or(name)
        })
    };
    let is_in_place = |word: &&str| match word.strip_prefix("--") {
        Some(long) => long.starts_with("in-place") || long.starts_with("inplace"),
        // Flags of one letter, such as -i.bak and -ni.
        None => word.strip_prefix('-').is_some_and(|flags| {
            flags.chars().take_while(char::is_ascii_alphabetic).take(3).any(|flag| flag == 'i')
        }),
    };
    let is_edited = programs().any(|name| EDITORS.contains(&name)) && words.iter().any(is_in_place);
    let is_replaced = programs().any(|name| matches!(name, "mv" | "cp" | "sponge" | "patch"))
        && words.iter().rev().find(|word| !word.is_empty()).is_some_and(|last| is_of_bundle(last));
    is_edited || is_replaced
}

/// The files of a project.
#[derive(Debug, Default)]
pub(super) struct Files {
    pub(super) list: Vec<File>,
    pub(super) notes: Vec<ReportNote>,
    /// What PROJECT says, and whether the project has a kustomization.
    pub(super) project: ProjectFacts,
}

/// Reads the files of a project that mention operator-sdk or opm.
///
/// # Errors
/// There is no such directory, or it has too many files.
pub(super) fn read(directory: &Path) -> Result<Files> {
    if !directory.is_dir() {
        bail!("{} is not a directory; pass the directory of a project", directory.display());
    }
    let opened = Directory::open(directory)?;
    let options = Options { max_entries: MAX_ENTRIES, skipped_directories: SKIPPED, ..Options::default() };
    let entries = match opened.walk(options) {
        Err(error @ WalkError::TooManyEntries { .. }) => {
            bail!("{error}: expected the directory of a project")
        }
        entries => entries?,
    };
    let mut files = Files { project: project(directory, &opened)?, ..Files::default() };
    let mut size = 0;
    // Several links may lead to one file.
    let mut seen = BTreeSet::new();
    for entry in entries {
        files.project.has_kustomization |= entry.name == "config/manifests/kustomization.yaml";
        let Some(kind) = by_name(&entry.name) else { continue };
        let unread = |reason: &str| ReportNote::warning(&entry.name, 1, format!("not read: {reason}"));
        match &entry.kind {
            EntryKind::File(length) if *length > MAX_FILE => {
                if kind != ByName::Unknown {
                    files.notes.push(unread(&format!("it is larger than {MAX_FILE} bytes")));
                }
                continue;
            }
            EntryKind::File(_) => {}
            EntryKind::Unreadable(Unreadable::LeavesDirectory) if kind != ByName::Unknown => {
                files.notes.push(unread("the symbolic link points outside the directory"));
                continue;
            }
            _ => continue,
        }
        let failed = || format!("failed to read {}", directory.join(&entry.below).display());
        let bytes = match opened.read(&entry.below, MAX_FILE) {
            // A file that only its owner may read is none that the project consists of.
            Err(error) if kind == ByName::Unknown && !error.is_environment() => continue,
            bytes => bytes.with_context(failed)?,
        };
        let Some(kind) = by_content(kind, &bytes) else { continue };
        if !mentions(&bytes) {
            continue;
        }
        if entry.name.contains(char::REPLACEMENT_CHARACTER) {
            files.notes.push(unread("the name of the file is not UTF-8"));
            continue;
        }
        let Ok(text) = String::from_utf8(bytes) else {
            files.notes.push(unread("the file is not UTF-8"));
            continue;
        };
        // The file that a link leads to is changed, not the link.
        let path = real_path(directory, &entry.name).with_context(failed)?;
        if !seen.insert(path.clone()) {
            continue;
        }
        size += text.len();
        if size > MAX_FILES {
            bail!(
                "the files that mention operator-sdk or opm exceed the limit of {MAX_FILES} bytes in total"
            );
        }
        files.list.push(File::new(path, kind, text));
    }
    files.list.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(files)
}

/// Reads PROJECT, which not every project has.
fn project(directory: &Path, opened: &Directory) -> Result<ProjectFacts> {
    let path = directory.join("PROJECT");
    let bytes = match opened.read("PROJECT", MAX_FILE) {
        Err(Unreadable::Io(error)) if error.kind() == ErrorKind::NotFound => {
            return Ok(ProjectFacts::default());
        }
        bytes => bytes.with_context(|| format!("failed to read {}", path.display()))?,
    };
    Ok(ProjectFacts { project: parse_project(&path, &bytes)?, has_kustomization: false })
}

/// Returns the path of a file below a directory, without symbolic links.
fn real_path(directory: &Path, name: &str) -> Result<String> {
    let path = directory.join(name).canonicalize()?;
    let below = path.strip_prefix(directory.canonicalize()?).ok().and_then(Path::to_str);
    Ok(below.context("the symbolic link points outside the directory")?.to_owned())
}

/// What the name of a file says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ByName {
    Known(Kind),
    /// A script if it begins with `#!`.
    Unknown,
    /// A Tekton resource if its apiVersion says so.
    Yaml,
}

fn by_name(path: &str) -> Option<ByName> {
    let name = path.rsplit('/').next().unwrap_or_default().to_ascii_lowercase();
    let (stem, ending) = name.rsplit_once('.').unwrap_or((&name, ""));
    let is_yaml = matches!(ending, "yaml" | "yml");
    let first = name.split('.').next().unwrap_or_default();
    Some(match (first, ending) {
        ("makefile" | "gnumakefile", _) if !is_yaml => ByName::Known(Kind::Makefile),
        (_, "mk") => ByName::Known(Kind::Makefile),
        ("dockerfile" | "containerfile", _) | (_, "dockerfile") if !is_yaml => {
            ByName::Known(Kind::Dockerfile)
        }
        (_, "sh" | "bash") => ByName::Known(Kind::Shell),
        _ if is_yaml
            && (path.contains(".github/workflows/") || stem == "action" || stem.ends_with(".gitlab-ci")) =>
        {
            ByName::Known(Kind::Pipeline)
        }
        _ if is_yaml => ByName::Yaml,
        (_, "") => ByName::Unknown,
        _ => return None,
    })
}

fn by_content(name: ByName, bytes: &[u8]) -> Option<Kind> {
    match name {
        ByName::Known(kind) => Some(kind),
        ByName::Yaml => contains(bytes, b"tekton.dev").then_some(Kind::Tekton),
        ByName::Unknown => {
            let line = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
            let is_script = line.starts_with(b"#!") && (line.trim_ascii_end().ends_with(b"sh"));
            is_script.then_some(Kind::Shell)
        }
    }
}

/// Returns whether a file mentions one of the tools.
fn mentions(bytes: &[u8]) -> bool {
    [&b"operator-sdk"[..], b"OPERATOR_SDK", b"opm", b"OPM"].iter().any(|name| contains(bytes, name))
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

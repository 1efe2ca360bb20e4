//! `bundle-tool fix`: fixes findings in the files of bundles.

use std::collections::BTreeMap;
use std::io::{self, Write as _};
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use clap::Args;
use similar::TextDiff;

use super::exit::Exit;
use super::images::Location;
use super::settings::Choice;
use crate::fix;
use crate::model::dockerfile::BESIDE;
use crate::model::text::printable;
use crate::read;
use crate::read::overlay::Overlay;
use crate::report::{Fix as FindingFix, Safety};
use crate::rules::{self, Selection};

/// Maximum number of times that a bundle is validated: a fix can bring up the next finding.
const MAX_ROUNDS: usize = 50;

/// Fix findings in the files of bundles
///
/// Applies the fixes that need no decision. Comments and layout are preserved. Exit status: 0 if the files were written or need no change, 1 if `--diff` found a
/// change, 2 if a file could not be read or written.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub(super) struct Fix {
    /// Bundles: directories with manifests/ and metadata/
    #[arg(required = true, value_name = "DIRECTORY")]
    bundles: Vec<String>,
    /// Print the changes as a diff instead of writing files
    #[arg(long)]
    diff: bool,
    #[command(flatten)]
    options: FixOptions,
    #[command(flatten)]
    choice: Choice,
}

/// What is fixed.
#[derive(Debug, Clone, Args)]
pub(super) struct FixOptions {
    /// Also apply fixes that require review
    #[arg(long)]
    pub(super) unsafe_fixes: bool,
}

const EXAMPLES: &str = "\
Examples:
  # Apply the safe fixes
  bundle-tool fix ./bundle

  # Show what would change, including fixes that require review
  bundle-tool fix ./bundle --unsafe-fixes --diff

  # Fix the findings of the OpenShift community catalog in all bundles of an operator
  bundle-tool fix operators/gizmo-operator/*/ --profile community";

impl Fix {
    pub(super) fn run(self) -> Result<Exit> {
        let selections = self.choice.selections()?;
        let mut changed = false;
        for bundle in &self.bundles {
            let fixed = self.options.fix(bundle, &*selections.of(Some(Path::new(bundle)))?)?;
            changed |= !fixed.files.is_empty();
            if self.diff {
                fixed.print_diff(bundle)?;
            } else {
                fixed.write(bundle)?;
            }
            fixed.print_summary(bundle, self.diff)?;
        }
        Ok(if self.diff && changed { Exit::Findings } else { Exit::Success })
    }
}

/// What fixing a bundle changes.
pub(super) struct Fixed {
    /// The files that change: path below the bundle, old text, new text.
    files: BTreeMap<String, (String, String)>,
    /// The fixes: file, rule, what was done.
    done: Vec<(String, &'static str, String)>,
    /// How many findings have a fix that has to be reviewed, and was not applied.
    unsafe_fixes: usize,
}

impl FixOptions {
    /// Fixes the bundle in a directory, in memory.
    pub(super) fn fix(&self, bundle: &str, selection: &Selection) -> Result<Fixed> {
        if Location::of_image(bundle)?.is_some() || !Path::new(bundle).is_dir() {
            bail!("cannot fix {bundle}: expected a directory");
        }
        let mut fixed = Fixed { files: BTreeMap::new(), done: Vec::new(), unsafe_fixes: 0 };
        let mut contents = texts(Path::new(bundle))?;
        let mut dockerfile = read::dockerfile::of(Path::new(bundle), &Overlay::default());
        for _ in 0..MAX_ROUNDS {
            let mut read = read::bundle::files(bundle, &contents);
            read.dockerfile =
                dockerfile.as_ref().and_then(|file| read::dockerfile::parse(&file.path, file.bytes.clone()));
            let findings = rules::validate(&read, selection).findings;
            let mut by_file: BTreeMap<&str, Vec<(&'static str, &FindingFix)>> = BTreeMap::new();
            fixed.unsafe_fixes = 0;
            for finding in &findings {
                let (Some(file), Some(fix), None) = (&finding.file, &finding.fix, &finding.ignored) else {
                    continue;
                };
                if fix.safety == Safety::Unsafe && !self.unsafe_fixes {
                    fixed.unsafe_fixes += 1;
                } else {
                    by_file.entry(file).or_default().push((finding.rule, fix));
                }
            }
            let mut changes = Vec::new();
            for (file, fixes) in by_file {
                let of_dockerfile = dockerfile.as_ref().filter(|one| one.path == file).map(|one| &one.bytes);
                let bytes = of_dockerfile.or_else(|| contents.get(file));
                let Some(Ok(text)) = bytes.map(|bytes| std::str::from_utf8(bytes)) else { continue };
                let only: Vec<&FindingFix> = fixes.iter().map(|(_, fix)| *fix).collect();
                let (new, applied) = fix::apply(text, &only);
                if applied.is_empty() || new == text {
                    continue;
                }
                let what = |index: usize| (file.to_owned(), fixes[index].0, fixes[index].1.title.clone());
                fixed.done.extend(applied.into_iter().map(what));
                changes.push((file.to_owned(), text.to_owned(), new));
            }
            if changes.is_empty() {
                break;
            }
            for (file, old, new) in changes {
                match &mut dockerfile {
                    Some(one) if one.path == file => one.bytes = new.clone().into_bytes(),
                    _ => {
                        contents.insert(file.clone(), new.clone().into_bytes());
                    }
                }
                fixed.files.entry(file).or_insert_with(|| (old, String::new())).1 = new;
            }
        }
        fixed.files.retain(|_, (old, new)| old != new);
        Ok(fixed)
    }
}

/// Returns the files that a bundle is validated from.
fn texts(directory: &Path) -> Result<BTreeMap<String, Vec<u8>>> {
    let bundle = read::bundle::directory(directory)?;
    if let Some((file, reason)) = bundle.unreadable() {
        bail!("failed to read {}: {reason}", directory.join(&file.path).display());
    }
    let mut texts = BTreeMap::new();
    for file in bundle.files.iter().filter(|file| file.is_manifest() || file.is_metadata()) {
        let path = directory.join(&file.path);
        let bytes = read::file::read(&path, read::file::MAX_FILE_SIZE)
            .with_context(|| format!("failed to read {}", path.display()))?;
        texts.insert(file.path.clone(), bytes);
    }
    if texts.is_empty() {
        bail!(
            "cannot fix {}: expected a bundle, with files in manifests/ and metadata/",
            directory.display()
        );
    }
    Ok(texts)
}

impl Fixed {
    /// Writes the files that change.
    ///
    /// # Errors
    /// A file is a symbolic link that leads out of the bundle: then nothing is written. A file cannot be written.
    pub(super) fn write(&self, bundle: &str) -> Result<()> {
        let resolved = |path: &Path| {
            path.canonicalize().with_context(|| format!("failed to resolve {}", path.display()))
        };
        let root = resolved(Path::new(bundle))?;
        for file in self.files.keys() {
            let path = root.join(file);
            // The Dockerfile beside the bundle belongs to it.
            let root = if file == BESIDE { root.parent().unwrap_or(&root) } else { &root };
            if !resolved(&path)?.starts_with(root) {
                bail!(
                    "cannot fix {}: symbolic link to a file outside the bundle; fix that file, or replace the link with it",
                    Path::new(bundle).join(file).display()
                );
            }
        }
        for (file, (_, new)) in &self.files {
            atomic_files::file(&Path::new(bundle).join(file), new.as_bytes())?;
        }
        Ok(())
    }

    fn print_diff(&self, bundle: &str) -> Result<()> {
        let mut out = io::stdout().lock();
        for (file, (old, new)) in &self.files {
            let name = printable(&format!("{}/{file}", bundle.trim_end_matches('/'))).into_owned();
            let diff = TextDiff::from_lines(old.as_str(), new.as_str());
            write!(out, "{}", diff.unified_diff().context_radius(3).header(&name, &name))?;
        }
        Ok(())
    }

    /// Prints what was fixed to standard error.
    pub(super) fn print_summary(&self, bundle: &str, is_diff: bool) -> Result<()> {
        let mut out = io::stderr().lock();
        let bundle = bundle.trim_end_matches('/');
        for (file, rule, title) in &self.done {
            writeln!(out, "{}: {rule}: {}", printable(&format!("{bundle}/{file}")), printable(title))?;
        }
        let verb = if is_diff { "would fix" } else { "fixed" };
        let count = |count: usize, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
        write!(out, "{}: {verb} {}", printable(bundle), count(self.done.len(), "finding"))?;
        if !self.files.is_empty() {
            write!(out, " in {}", count(self.files.len(), "file"))?;
        }
        if self.unsafe_fixes > 0 {
            write!(out, "; {} with --unsafe-fixes", self.unsafe_fixes)?;
        }
        writeln!(out)?;
        Ok(())
    }
}

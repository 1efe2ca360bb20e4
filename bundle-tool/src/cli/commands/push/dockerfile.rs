//! Reads what a bundle's Dockerfile adds to the image: labels, further files, the user and the base image.
//!
//! The manifests, the metadata and the tests always come from the bundle's directory, and the annotations always become labels.
//! Instructions that would have to run in a container, and files of other images, are reported and skipped.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read as _, Write as _};
use std::path::{Component, Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use oci_images::compressed::is_compressed;
use oci_images::layout::FileMap;

use crate::terminal::{WARNING, stderr};
use kube_yaml::text::printable;
use olm_model::Content;
use olm_model::disk;
use olm_model::disk::overlay::Overlay;
use olm_model::dockerfile::{
    BESIDE, Copied, CopyError, CopyErrorReason, Recipe, copies, invalid, labels, recipe,
};
use olm_model::read::dockerfile::parse;

/// The maximum size of a Dockerfile in bytes.
const MAX_SIZE: u64 = 1 << 20;

/// The maximum number of layers that container engines accept, and how many of them are the bundle's own.
const MAX_LAYERS: usize = 127;
const OWN_LAYERS: usize = 3;

/// Instructions that make no difference to a bundle, because its image is read, but never run.
const HARMLESS: [&str; 9] =
    ["ARG", "CMD", "ENTRYPOINT", "ENV", "EXPOSE", "HEALTHCHECK", "MAINTAINER", "STOPSIGNAL", "SHELL"];

/// What a Dockerfile adds.
#[derive(Debug, Default)]
pub(crate) struct Additions {
    /// Labels; the bundle's annotations with the same keys take precedence.
    pub(crate) labels: BTreeMap<String, String>,
    /// Files besides those of the bundle, one map for each instruction.
    pub(crate) files: Vec<FileMap>,
    /// The user of the image.
    pub(crate) user: Option<String>,
    /// The base image; `None` for FROM scratch.
    pub(crate) base: Option<String>,
}

impl Additions {
    /// Reads the Dockerfile of the bundle in a directory: the given one, or the one in or beside the directory. Reports what it skips.
    pub(crate) fn read(directory: &Path, given: Option<&Path>) -> Result<Self> {
        let (name, bytes, context) = if let Some(path) = given {
            let bytes = disk::file::read_in_project(path, MAX_SIZE)
                .with_context(|| format!("failed to read {}", path.display()))?;
            let context = path.parent().filter(|parent| !parent.as_os_str().is_empty());
            let file = parse(&path.display().to_string(), bytes)
                .with_context(|| format!("{} is not valid UTF-8", path.display()))?;
            // The build context is the directory of the Dockerfile.
            let own = context.unwrap_or(Path::new(".")).to_owned();
            (path.display().to_string(), file.bytes, own)
        } else {
            let Some(file) = disk::dockerfile::find(directory, &Overlay::default()) else {
                warn_of_ignored(directory)?;
                return Ok(Self::default());
            };
            if let Content::Unreadable(reason) = &file.content {
                bail!("failed to read {}: {reason}", directory.join(&file.path).display());
            }
            let path = directory.join(&file.path);
            let context =
                if file.path.starts_with("..") { directory.join("..") } else { directory.to_owned() };
            (path.display().to_string(), file.bytes, context)
        };
        let text = String::from_utf8(bytes).with_context(|| format!("{name} is not valid UTF-8"))?;
        Self::parse(&name, &text, &context, directory)
    }

    fn parse(name: &str, text: &str, context: &Path, directory: &Path) -> Result<Self> {
        if let Some((invalid, position)) = invalid(text) {
            let problem = invalid.to_string();
            bail!("{}:{}: {}", printable(name), position.line, printable(&problem));
        }
        let Recipe { base, user, others } = recipe(text);
        let mut additions = Self { user, base: base.filter(|base| base != "scratch"), ..Self::default() };
        let mut err = stderr();
        let name = printable(name).into_owned();
        for (instruction, position) in others {
            if !HARMLESS.contains(&instruction.to_ascii_uppercase().as_str()) {
                let instruction = printable(&instruction).into_owned();
                writeln!(
                    err,
                    "{WARNING} {name}:{}: {instruction} is ignored, because bundle-tool does not run commands",
                    position.line
                )?;
            }
        }
        for label in labels(text) {
            match label.value {
                Some(value) => _ = additions.labels.insert(label.key, value),
                None => writeln!(
                    err,
                    "{WARNING} {name}:{}: label `{}` contains a variable and is omitted",
                    label.position.line,
                    printable(&label.key)
                )?,
            }
        }
        let mut known = Vec::new();
        let mut is_complete = true;
        for copy in copies(text) {
            match copy {
                Ok(copy) => known.push(copy),
                Err(CopyError { reason: CopyErrorReason::Variable, .. }) => is_complete = false,
                Err(error) => bail!("{name}:{}: invalid COPY or ADD: {error}", error.position.line),
            }
        }
        if !is_complete {
            writeln!(
                err,
                "{WARNING} {name}: a COPY or ADD contains variables or a here-document: only the bundle's own files are copied"
            )?;
            return Ok(additions);
        }
        drop(err);
        for copy in known {
            if !copy.is_from_context {
                writeln!(
                    stderr(),
                    "{WARNING} {name}:{}: files of another image or stage are not copied to {}",
                    copy.position.line,
                    printable(&copy.target)
                )?;
                continue;
            }
            let files = additional(&copy, context, directory)
                .with_context(|| format!("{name}:{}", copy.position.line))?;
            if files.is_empty() {
                continue;
            }
            if additions.files.len() >= MAX_LAYERS - OWN_LAYERS {
                bail!(
                    "{name}:{}: the image exceeds the limit of {MAX_LAYERS} layers: copy several files with one instruction",
                    copy.position.line
                );
            }
            additions.files.push(files);
        }
        Ok(additions)
    }
}

/// Returns the files that an instruction copies, without those of the bundle itself.
fn additional(copy: &Copied, context: &Path, directory: &Path) -> Result<FileMap> {
    let mut files = FileMap::new();
    let mut sources = Vec::new();
    for source in &copy.sources {
        if source.contains("://") {
            bail!("cannot add {source}: URLs are not downloaded; copy a local file");
        }
        sources.extend(matching(context, source)?);
    }
    let root = context.canonicalize().with_context(|| format!("failed to read {}", context.display()))?;
    for source in &sources {
        let real = source.canonicalize().with_context(|| format!("cannot copy {}", source.display()))?;
        if !real.starts_with(&root) {
            bail!(
                "cannot copy {}: it is a symbolic link that points outside the build context",
                source.display()
            );
        }
    }
    let is_directory = copy.is_directory || sources.len() > 1;
    for source in &sources {
        if is_of_bundle(source, directory) {
            continue;
        }
        if source.is_dir() {
            files.collect(source, &copy.target)?;
        } else {
            if copy.is_add && is_archive(source)? {
                bail!(
                    "cannot add {}: ADD extracts archives, which is not supported: extract it and copy the files, or use COPY to copy the archive itself",
                    source.display()
                );
            }
            let name = source.file_name().unwrap_or_default().to_string_lossy();
            let target = if is_directory { format!("{}/{name}", copy.target) } else { copy.target.clone() };
            files.collect(source, &target)?;
        }
    }
    Ok(files)
}

/// Warns of a Dockerfile beside the directory of a bundle that copies nothing from it.
fn warn_of_ignored(directory: &Path) -> Result<()> {
    let beside = directory.join(BESIDE);
    if beside.is_file() {
        writeln!(
            stderr(),
            "{WARNING} {} is ignored, because it does not copy files from {}; pass --dockerfile to apply it",
            printable(&beside.display().to_string()),
            printable(&directory.display().to_string())
        )?;
    }
    Ok(())
}

/// Returns whether `ADD` would extract a file, because it is compressed or begins with the header of a tar archive.
fn is_archive(path: &Path) -> Result<bool> {
    // Reading a FIFO would wait for its writer.
    if !path.is_file() {
        return Ok(false);
    }
    let mut head = Vec::new();
    let file = fs::File::open(path).with_context(|| format!("failed to read {}", path.display()))?;
    file.take(512).read_to_end(&mut head).with_context(|| format!("failed to read {}", path.display()))?;
    Ok(is_compressed(&head) || is_tar_header(&head))
}

/// Returns whether a block is the header of a tar archive: its checksum counts itself as spaces.
fn is_tar_header(block: &[u8]) -> bool {
    let (Some(before), Some(written), Some(after)) =
        (block.get(..148), block.get(148..156), block.get(156..512))
    else {
        return false;
    };
    let digits = written.split(|byte| matches!(byte, 0 | b' ')).find(|digits| !digits.is_empty());
    let written = digits.and_then(|digits| std::str::from_utf8(digits).ok());
    let written = written.and_then(|digits| u32::from_str_radix(digits, 8).ok());
    let sum = before.iter().chain(after).map(|byte| u32::from(*byte)).sum::<u32>() + 8 * u32::from(b' ');
    written == Some(sum)
}

/// Returns whether a path is the manifests, the metadata or the tests of the bundle, or below them.
fn is_of_bundle(source: &Path, directory: &Path) -> bool {
    let Ok(source) = source.canonicalize() else { return false };
    ["manifests", "metadata", "tests"]
        .iter()
        .any(|part| directory.join(part).canonicalize().is_ok_and(|own| source.starts_with(own)))
}

/// Returns the paths that a source in the build context names; its last component may contain `*` and `?`.
fn matching(context: &Path, source: &str) -> Result<Vec<PathBuf>> {
    let relative = Path::new(source.trim_start_matches('/'));
    if relative.components().any(|part| part == Component::ParentDir) {
        bail!("cannot copy {source}: the path is outside the build context");
    }
    let path = context.join(relative);
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    if !name.contains(['*', '?']) {
        if !path.exists() {
            bail!("cannot copy {source}: {} does not exist", path.display());
        }
        return Ok(vec![path]);
    }
    let parent = path.parent().unwrap_or(context);
    let entries = fs::read_dir(parent).with_context(|| format!("cannot copy {source}"))?;
    let mut found = Vec::new();
    for entry in entries {
        let entry = entry.with_context(|| format!("cannot copy {source}"))?;
        if fits(&name, &entry.file_name().to_string_lossy()) {
            found.push(entry.path());
        }
    }
    found.sort();
    if found.is_empty() {
        bail!("cannot copy {source}: no file matches");
    }
    Ok(found)
}

/// Returns whether a name matches a pattern with `*` and `?`.
fn fits(pattern: &str, name: &str) -> bool {
    let (pattern, name): (Vec<char>, Vec<char>) = (pattern.chars().collect(), name.chars().collect());
    let (mut p, mut n) = (0, 0);
    // Where to continue if what follows the last `*` does not match.
    let mut retry: Option<(usize, usize)> = None;
    while n < name.len() {
        match pattern.get(p) {
            Some('*') => {
                retry = Some((p + 1, n));
                p += 1;
            }
            Some(char) if *char == '?' || *char == name[n] => {
                p += 1;
                n += 1;
            }
            _ => match retry {
                Some((after, start)) => {
                    retry = Some((after, start + 1));
                    (p, n) = (after, start + 1);
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|char| *char == '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads a Dockerfile of a bundle that has the file `d/x` and two archives.
    fn read(dockerfile: &str) -> Result<Additions> {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("d")).unwrap();
        fs::write(dir.path().join("d/x"), "x").unwrap();
        let mut header = [0; 512];
        header[..6].copy_from_slice(b"x\0\0\0\0\0");
        let sum = u32::from(b'x') + 8 * 32;
        header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        fs::write(dir.path().join("t.tar"), header).unwrap();
        fs::write(dir.path().join("t.tgz"), [0x1f, 0x8b, 8]).unwrap();
        Additions::parse("Dockerfile", dockerfile, dir.path(), dir.path())
    }

    fn error(dockerfile: &str) -> String {
        format!("{:#}", read(dockerfile).unwrap_err())
    }

    #[test]
    fn archives_are_not_added_as_files() {
        for archive in ["t.tar", "t.tgz"] {
            let error = error(&format!("FROM scratch\nADD {archive} /l/\n"));
            assert!(error.starts_with("Dockerfile:2: cannot add "), "{error}");
            assert!(error.contains("ADD extracts archives"), "{error}");
        }
        let files = read("FROM scratch\nCOPY t.tar /l/\nADD d/x /l/\n").unwrap().files;
        assert_eq!(files.len(), 2);
    }

    #[test]
    fn instructions_without_a_target_and_with_a_deep_one_are_errors() {
        for instruction in ["COPY a", "COPY [\"d/x\"", "COPY d/x "] {
            assert_eq!(
                error(&format!("FROM scratch\n{instruction}\n")),
                "Dockerfile:2: invalid COPY or ADD: expected at least one source and a target"
            );
        }
        let error = error(&format!("FROM scratch\nCOPY d/x /{}\n", "a/".repeat(40_000)));
        assert_eq!(error, "Dockerfile:2: invalid COPY or ADD: the target exceeds the limit of 4096 bytes");
    }

    #[test]
    fn files_that_are_no_dockerfiles_are_errors() {
        for (text, expected) in [
            ("suites = []\n", "Dockerfile:1: unknown instruction `suites`"),
            (
                "FROM scratch\nCOPPY d/x /l\n",
                "Dockerfile:2: unknown instruction `COPPY`: did you mean `COPY`?",
            ),
            ("COPY d/x /l\n", "Dockerfile:1: `COPY` before `FROM`"),
        ] {
            assert_eq!(error(text), expected);
        }
    }

    #[test]
    fn layers_are_limited() {
        let copies = |count| format!("FROM scratch\n{}", "COPY d/x /l\n".repeat(count));
        assert_eq!(read(&copies(MAX_LAYERS - OWN_LAYERS)).unwrap().files.len(), MAX_LAYERS - OWN_LAYERS);
        let error = error(&copies(2000));
        assert!(error.starts_with("Dockerfile:126: the image exceeds the limit of 127 layers"), "{error}");
    }

    #[test]
    fn patterns_match_names() {
        for (pattern, name, is_match) in [
            ("*", "LICENSE", true),
            ("LIC*", "LICENSE", true),
            ("*.txt", "a.txt", true),
            ("*.txt", "a.md", false),
            ("a?c*e", "abcdde", true),
            ("a?", "a", false),
            ("*a*b*c", "xxaxxbxxbxc", true),
        ] {
            assert_eq!(fits(pattern, name), is_match, "{pattern} {name}");
        }
    }
}

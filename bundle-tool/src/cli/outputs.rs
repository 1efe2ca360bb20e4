//! Side output files (`--digest-file`, …). They are opened first, so that a bad path fails early, and must be distinct.

use std::path::{Path, PathBuf, absolute};

use anyhow::{Context as _, Result, bail};
use atomic_files::Pending;
use oci_images::location::ImageLocation;

/// Opens the files of options, in the order of `files`; `images` are read or written by the command.
///
/// # Errors
///
/// A file cannot be written, two options name the same file, or one names an image or a file in it.
pub(crate) fn open<const N: usize>(
    files: [(&str, Option<&Path>); N],
    images: &[&ImageLocation],
) -> Result<[Option<Pending>; N]> {
    let paths = images.iter().filter_map(|image| image.path());
    let paths = paths.map(resolved).collect::<Result<Vec<_>>>()?;
    let mut seen: Vec<(&str, PathBuf)> = Vec::new();
    for (option, path) in files {
        let Some(path) = path else { continue };
        let file = resolved(path)?;
        if paths.iter().any(|image| file.starts_with(image)) {
            bail!("{option} would overwrite a file of the image: {}", path.display());
        }
        if let Some((other, _)) = seen.iter().find(|(_, known)| *known == file) {
            bail!("{other} and {option} are the same file: {}", path.display());
        }
        require_parent(path)?;
        // Every device takes several results.
        if !path.exists() || path.is_file() {
            seen.push((option, file));
        }
    }
    let mut opened = [const { None }; N];
    for (slot, (_, path)) in opened.iter_mut().zip(files) {
        *slot = path.map(Pending::new).transpose()?;
    }
    Ok(opened)
}

/// Fails if the directory of a file to write does not exist: a misspelled path does not become a directory, which only options that
/// name directories create.
pub(crate) fn require_parent(file: &Path) -> Result<()> {
    match file.parent() {
        Some(parent) if !parent.as_os_str().is_empty() && !parent.exists() => {
            bail!("failed to write {}: the directory {} does not exist", file.display(), parent.display())
        }
        _ => Ok(()),
    }
}

/// Fails if an image is written to an archive in a directory that does not exist.
pub(crate) fn require_parent_of_archive(to: &ImageLocation) -> Result<()> {
    match to {
        ImageLocation::Archive(path, _) | ImageLocation::DockerArchive(path, _) => require_parent(path),
        _ => Ok(()),
    }
}

/// Fails if `output`, which the option or argument `what` names, is `input` or inside of it: writing it would change what is
/// read.
pub(crate) fn require_outside(what: &str, output: &Path, input: &Path) -> Result<()> {
    if resolved(output)?.starts_with(resolved(input)?) {
        bail!("{what} {} is part of the input {}: choose another path", output.display(), input.display());
    }
    Ok(())
}

/// Fails if writing the image `to` would change the image `from`, which it is copied from. An image can be copied within a
/// layout.
pub(crate) fn require_other_image(from: &ImageLocation, to: &ImageLocation) -> Result<()> {
    let (Some(input), Some(output)) = (from.path(), to.path()) else { return Ok(()) };
    if let (ImageLocation::Directory(..), ImageLocation::Directory(..)) = (from, to)
        && resolved(input)? == resolved(output)?
    {
        return Ok(());
    }
    require_outside("target", output, input)
}

/// Returns the path of a file without links and `..`, of which the last parts may not exist yet.
pub(crate) fn resolved(path: &Path) -> Result<PathBuf> {
    let whole = absolute(path).with_context(|| format!("failed to resolve {}", path.display()))?;
    for existing in whole.ancestors() {
        if let (Ok(real), Ok(rest)) = (existing.canonicalize(), whole.strip_prefix(existing)) {
            return Ok(if rest.as_os_str().is_empty() { real } else { real.join(rest) });
        }
    }
    Ok(whole)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn image_is_not_copied_onto_a_part_of_itself() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        fs::create_dir(at("layout")).unwrap();
        fs::write(at("layout/index.json"), "{}").unwrap();
        std::os::unix::fs::symlink("layout", at("link")).unwrap();
        let layout = |name: &str| ImageLocation::Directory(at(name), None);
        let archive = |name: &str| ImageLocation::Archive(at(name), None);
        for (from, to) in [
            (layout("layout"), archive("layout/index.json")),
            (layout("link"), archive("layout/new.tar")),
            (layout("layout"), layout("layout/blobs")),
            (archive("a.tar"), ImageLocation::DockerArchive(at("a.tar"), None)),
        ] {
            let message = require_other_image(&from, &to).unwrap_err().to_string();
            assert!(message.contains("is part of the input"), "{message}");
        }
        for (from, to) in [
            (layout("layout"), layout("link")),
            (layout("layout"), archive("a.tar")),
            (archive("a.tar"), layout("new")),
        ] {
            require_other_image(&from, &to).unwrap();
        }
    }

    #[test]
    fn directories_of_files_are_not_created() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("missing/out");
        let archive = ImageLocation::Archive(path.clone(), None);
        let errors = [
            open([("--digest-file", Some(&path))], &[]).map(drop).unwrap_err(),
            require_parent_of_archive(&archive).unwrap_err(),
        ];
        let parent = dir.path().join("missing");
        let expected =
            format!("failed to write {}: the directory {} does not exist", path.display(), parent.display());
        assert_eq!(errors.map(|error| error.to_string()), [expected.clone(), expected]);
        assert!(!parent.exists());
        require_parent(Path::new("out")).unwrap();
        require_parent(&dir.path().join("out")).unwrap();
        require_parent_of_archive(&ImageLocation::Directory(path, None)).unwrap();
    }

    #[test]
    fn two_names_of_a_file_are_one_file() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        fs::create_dir(at("d")).unwrap();
        fs::write(at("file"), "").unwrap();
        std::os::unix::fs::symlink("file", at("link")).unwrap();
        let both = |one: &str, other: &str| {
            let (one, other) = (at(one), at(other));
            let files = [("--digest-file", Some(one.as_path())), ("--metadata-file", Some(other.as_path()))];
            open(files, &[]).err().map(|error| error.to_string())
        };
        for (one, other) in [("new", "new"), ("new", "d/../new"), ("file", "link"), ("file", "./file")] {
            let message = both(one, other).unwrap_or_default();
            assert!(
                message.starts_with("--digest-file and --metadata-file are the same file: "),
                "{message}"
            );
        }
        assert_eq!(both("new", "file"), None);
        assert!(!at("new").exists(), "nothing is left of a file without content");
        assert_eq!(both("/dev/null", "/dev/null"), None);
    }

    #[test]
    fn what_is_written_to_is_no_file_for_a_result() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("out");
        let inside = path.join("index.json");
        for target in
            [ImageLocation::Directory(path.clone(), None), ImageLocation::Archive(path.clone(), None)]
        {
            for file in [&path, &inside] {
                let message = open([("--digest-file", Some(file))], &[&target]).unwrap_err().to_string();
                assert!(
                    message.starts_with("--digest-file would overwrite a file of the image"),
                    "{message}"
                );
            }
            assert!(!path.exists());
        }
    }
}

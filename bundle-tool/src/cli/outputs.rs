//! The files that a command writes beside its result, such as `--digest-file`: opened before anything else is done, and
//! each another one.

use std::path::{Path, PathBuf, absolute};

use anyhow::{Context as _, Result, bail};
use atomic_files::Pending;
use oci_images::place::Place;

/// Opens the files of options, in the order of `files`; `target` is where the result itself is written.
///
/// # Errors
///
/// A file cannot be written, two options name the same file, or one names the target or a file in it.
pub(super) fn open<const N: usize>(
    files: [(&str, Option<&Path>); N],
    target: Option<&Place>,
) -> Result<[Option<Pending>; N]> {
    let target = match target {
        Some(Place::Directory(path, _) | Place::Archive(path, _) | Place::DockerArchive(path, _)) => {
            Some(resolved(path)?)
        }
        _ => None,
    };
    let mut seen: Vec<(&str, PathBuf)> = Vec::new();
    for (option, path) in files {
        let Some(path) = path else { continue };
        let file = resolved(path)?;
        if target.as_ref().is_some_and(|target| file.starts_with(target)) {
            bail!("{option} would overwrite a file of the image: {}", path.display());
        }
        if let Some((other, _)) = seen.iter().find(|(_, known)| *known == file) {
            bail!("{other} and {option} are the same file: {}", path.display());
        }
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

/// Returns the path of a file without links and `..`, of which the last parts may not exist yet.
pub(super) fn resolved(path: &Path) -> Result<PathBuf> {
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
    fn two_names_of_a_file_are_one_file() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        fs::create_dir(at("d")).unwrap();
        fs::write(at("file"), "").unwrap();
        std::os::unix::fs::symlink("file", at("link")).unwrap();
        let both = |one: &str, other: &str| {
            let (one, other) = (at(one), at(other));
            let files = [("--digest-file", Some(one.as_path())), ("--metadata-file", Some(other.as_path()))];
            open(files, None).err().map(|error| error.to_string())
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
        for target in [Place::Directory(path.clone(), None), Place::Archive(path.clone(), None)] {
            for file in [&path, &inside] {
                let message = open([("--digest-file", Some(file))], Some(&target)).unwrap_err().to_string();
                assert!(
                    message.starts_with("--digest-file would overwrite a file of the image"),
                    "{message}"
                );
            }
            assert!(!path.exists());
        }
    }
}

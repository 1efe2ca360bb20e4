//! Notices that files have changed.
//!
//! They are polled: unlike notifications of the system, this works for mounted volumes, links and
//! network file systems, too.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use super::error::WalkError;
use super::walk::{Kind, Options, walk};

/// The time between two looks. A state is used when two looks saw the same one, so that files are not read while an editor
/// or a copy still writes them.
pub const INTERVAL: Duration = Duration::from_millis(500);

/// What a look sees: each file's path, size and time of modification.
type Fingerprint = Vec<(PathBuf, u64, Option<SystemTime>)>;

/// Files and directories that are looked at.
#[derive(Debug)]
pub struct Watch {
    paths: Vec<PathBuf>,
    files: Vec<PathBuf>,
    options: Options,
    seen: Fingerprint,
    used: Fingerprint,
}

impl Watch {
    /// Looks at files and directories for the first time.
    ///
    /// # Errors
    /// One of them cannot be listed.
    pub fn new(paths: Vec<PathBuf>, options: Options) -> Result<Self, WalkError> {
        let seen = fingerprints(&paths, &[], options)?;
        Ok(Self { paths, files: Vec::new(), options, used: seen.clone(), seen })
    }

    /// Also looks at files that may be missing.
    ///
    /// # Errors
    /// As for [`Self::new`].
    pub fn with_files(mut self, files: Vec<PathBuf>) -> Result<Self, WalkError> {
        self.seen = fingerprints(&self.paths, &files, self.options)?;
        self.used.clone_from(&self.seen);
        Ok(Self { files, ..self })
    }

    /// Looks again. Returns whether another state than the one used last was seen twice; it counts as used then.
    ///
    /// # Errors
    /// Something cannot be listed: what is being replaced can be missing for a moment.
    pub fn has_changed(&mut self) -> Result<bool, WalkError> {
        let now = fingerprints(&self.paths, &self.files, self.options)?;
        let is_settled = now == self.seen;
        self.seen = now;
        if !is_settled || self.seen == self.used {
            return Ok(false);
        }
        self.used.clone_from(&self.seen);
        Ok(true)
    }
}

fn fingerprints(paths: &[PathBuf], files: &[PathBuf], options: Options) -> Result<Fingerprint, WalkError> {
    let state = |path: PathBuf| {
        let metadata = fs::metadata(&path).ok();
        let size = metadata.as_ref().map_or(0, fs::Metadata::len);
        (path, size, metadata.and_then(|metadata| metadata.modified().ok()))
    };
    let mut found = Fingerprint::new();
    for path in paths {
        if path.is_file() {
            found.push(state(path.clone()));
        } else {
            let entries = walk(path, options)?.into_iter();
            let files = entries.filter(|entry| !matches!(entry.kind, Kind::Directory));
            found.extend(files.map(|entry| state(path.join(&entry.below))));
        }
    }
    found.extend(files.iter().filter(|path| path.exists()).cloned().map(state));
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_that_was_seen_twice_is_a_change_once() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("directory/a");
        fs::create_dir(file.parent().unwrap()).unwrap();
        fs::write(&file, "1").unwrap();
        let single = dir.path().join("single");
        fs::write(&single, "1").unwrap();
        let paths = vec![dir.path().join("directory"), single.clone()];
        let missing = dir.path().join("missing");
        let mut watch =
            Watch::new(paths.clone(), Options::default()).unwrap().with_files(vec![missing.clone()]).unwrap();
        let mut looks =
            |count: usize| (0..count).map(|_| watch.has_changed().unwrap_or_default()).collect::<Vec<_>>();
        assert_eq!(looks(2), [false, false]);
        fs::write(&file, "22").unwrap();
        assert_eq!(looks(3), [false, true, false]);
        fs::write(&single, "333").unwrap();
        assert_eq!(looks(1), [false]);
        fs::write(&single, "4444").unwrap();
        assert_eq!(looks(3), [false, true, false]);
        fs::write(missing, "").unwrap();
        assert_eq!(looks(3), [false, true, false]);
        fs::remove_dir_all(file.parent().unwrap()).unwrap();
        assert_eq!(looks(2), [false, false]);
        assert!(Watch::new(paths, Options::default()).is_err());
    }
}

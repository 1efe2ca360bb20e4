//! Finds and reads `bundle-tool.toml`. `docs/schemas/bundle-tool.json` describes the file to editors.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use kube_yaml::Position;
use olm_model::Level;
use olm_model::disk::file;
use olm_model::read::Unreadable;
use olm_rules::{ProjectSettings, SETTINGS_FILE, Selection};
use serde::Deserialize;
use toml::Spanned;

/// The maximum size of the file in bytes.
const MAX_SIZE: u64 = 1 << 20;

/// Why settings cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SettingsError {
    /// The file cannot be read.
    #[error("failed to read {}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: Unreadable,
    },
    /// The file is not valid.
    #[error("{}:{}:{}: {message}", path.display(), position.line, position.column)]
    Invalid {
        /// The file.
        path: PathBuf,
        /// Where.
        position: Position,
        /// What is wrong.
        message: String,
    },
}

/// Returns the file that applies to a directory: the one in it or in the nearest directory above it, up to the root of the
/// git repository, if there is one.
#[must_use]
pub fn find(directory: &Path) -> Option<PathBuf> {
    // What is not a regular file is found, too: reading it says what is wrong.
    candidates(directory).into_iter().find(|path| path.symlink_metadata().is_ok())
}

/// Returns the files of which the first that exists applies to a directory.
#[must_use]
pub fn candidates(directory: &Path) -> Vec<PathBuf> {
    let Ok(directory) = std::path::absolute(directory) else { return Vec::new() };
    let mut candidates = Vec::new();
    for directory in directory.ancestors() {
        candidates.push(directory.join(SETTINGS_FILE));
        if directory.join(".git").exists() {
            break;
        }
    }
    candidates
}

/// Reads the bytes of a file, which belongs to the repository or the directory that it is in.
pub(crate) fn read_bytes(path: &Path) -> Result<Vec<u8>, Unreadable> {
    let path = std::path::absolute(path)?;
    let in_repository = path.ancestors().skip(1).any(|directory| directory.join(".git").exists());
    match (path.parent(), path.file_name()) {
        (Some(directory), Some(name)) if !in_repository => file::read_below(directory, name, MAX_SIZE),
        _ => file::read_in_project(&path, MAX_SIZE),
    }
}

/// Reads a file.
///
/// # Errors
/// The file cannot be read, is larger than a mebibyte, or is not valid.
pub fn read(path: &Path) -> Result<ProjectSettings, SettingsError> {
    let bytes = read_bytes(path).map_err(|source| SettingsError::File { path: path.to_owned(), source })?;
    let invalid = |position, message| SettingsError::Invalid { path: path.to_owned(), position, message };
    let settings = ProjectSettings::parse(&bytes).map_err(|error| invalid(error.position, error.message))?;
    match unknown(&bytes, &settings) {
        Some((position, message)) => Err(invalid(position, message)),
        None => Ok(settings),
    }
}

/// The names in a file, with their places.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Names {
    profile: Option<Spanned<String>>,
    suites: Vec<Spanned<String>>,
    rules: BTreeMap<Spanned<String>, Level>,
    ignore: Vec<IgnoredRule>,
}

/// The rule of an entry of `ignore`.
#[derive(Deserialize)]
struct IgnoredRule {
    rule: Spanned<String>,
}

/// Returns the place of the first setting that cannot be applied, and why; `None` if all can.
fn unknown(bytes: &[u8], settings: &ProjectSettings) -> Option<(Position, String)> {
    let names: Names = toml::from_slice(bytes).ok()?;
    let mut each: Vec<(usize, ProjectSettings)> = Vec::new();
    let mut add = |name: &Spanned<String>, set: &dyn Fn(&mut ProjectSettings)| {
        let mut one = ProjectSettings::default();
        set(&mut one);
        each.push((name.span().start, one));
    };
    for name in &names.suites {
        add(name, &|one| one.suites.push(name.get_ref().clone()));
    }
    if let Some(name) = &names.profile {
        add(name, &|one| one.profile = Some(name.get_ref().clone()));
    }
    for (name, level) in &names.rules {
        add(name, &|one| _ = one.rules.insert(name.get_ref().clone(), *level));
    }
    for (entry, name) in settings.ignore.iter().zip(&names.ignore) {
        add(&name.rule, &|one| one.ignore.push(entry.clone()));
    }
    each.sort_by_key(|(start, _)| *start);
    each.into_iter().find_map(|(start, one)| {
        let error = one.apply(&mut Selection::default()).err()?;
        Some((Position::behind(bytes.get(..start)?), error.to_string()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_and_errors_have_places() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(SETTINGS_FILE);
        std::fs::write(
            &path,
            "suites = [\"operatorhubv2\"]\ndeny-warnings = true\n[rules]\nunsupported-kind = \"allow\"\n\
             [[ignore]]\nrule = \"unsupported-kind\"\nfile = \"manifests/*\"\nreason = \"known\"\n",
        )
        .unwrap();
        let settings = read(&path).unwrap();
        assert_eq!(settings.suites, ["operatorhubv2"]);
        assert_eq!(settings.rules["unsupported-kind"], Level::Allow);
        assert_eq!(settings.ignore[0].file.as_deref(), Some("manifests/*"));
        for (text, expected) in [
            ("a = 1\n", "1:1: unknown field `a`, expected one of"),
            ("\n[rules]\nx = \"off\"\n", "3:5: unknown level `off`: must be `allow`, `warn` or `deny`"),
            ("\n[rules]\nx = 3\n", "3:5: expected a string, found integer `3`"),
            ("suites = \"x\"\n", "1:10: expected a list, found string \"x\""),
            ("profile = []\n", "1:11: expected a string, found a list"),
            ("[[ignore]]\nrule = \"x\"\n", "1:1: missing field `reason`"),
            ("[[ignore]]\nrule = \"x\"\nreason = \" \"\n", "1:1: missing reason to ignore `x`"),
            ("a =\n", "1:4: "),
            ("suites = [\"all\", \"operatorhub\"]\n", "1:18: unknown suite `operatorhub`: did you mean"),
            ("profile = \"x\"\n", "1:11: unknown profile `x`: must be "),
            (
                "[rules]\nunsupported-kind = \"warn\"\nunsupported-kin = \"warn\"\n",
                "3:1: unknown rule `unsupported-kin`: did",
            ),
            (
                "[[ignore]]\nreason = \"x\"\nrule = \"unsupportedkind\"\n",
                "3:8: unknown rule `unsupportedkind`",
            ),
        ] {
            std::fs::write(&path, text).unwrap();
            let message = read(&path).unwrap_err().to_string();
            assert!(message.contains(&format!("{SETTINGS_FILE}:{expected}")), "{message}");
        }
    }

    #[test]
    fn what_is_not_a_regular_file_is_found_and_rejected() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(SETTINGS_FILE);
        std::fs::create_dir(&path).unwrap();
        assert_eq!(find(dir.path()), Some(path.clone()));
        assert!(read(&path).unwrap_err().to_string().contains(SETTINGS_FILE));
        std::fs::remove_dir(&path).unwrap();
        std::os::unix::fs::symlink("nowhere", &path).unwrap();
        assert_eq!(find(dir.path()), Some(path.clone()));
        assert!(read(&path).unwrap_err().to_string().contains(SETTINGS_FILE));
    }

    #[test]
    fn settings_behind_a_link_out_of_the_project_are_rejected() {
        let dir = tempfile::tempdir().unwrap();
        let project = dir.path().join("project");
        std::fs::create_dir_all(project.join("bundle")).unwrap();
        std::fs::write(dir.path().join("secret"), "token\n").unwrap();
        let path = project.join(SETTINGS_FILE);
        std::os::unix::fs::symlink("../secret", &path).unwrap();
        let outside = |error: SettingsError| {
            matches!(error, SettingsError::File { source: Unreadable::LeavesDirectory, .. })
        };
        assert!(outside(read(&path).unwrap_err()));
        std::fs::create_dir(project.join(".git")).unwrap();
        assert!(outside(read(&path).unwrap_err()));
        std::fs::write(project.join("shared.toml"), "").unwrap();
        let path = project.join("bundle").join(SETTINGS_FILE);
        std::os::unix::fs::symlink("../shared.toml", &path).unwrap();
        assert_eq!(read(&path).unwrap(), ProjectSettings::default());
    }

    #[test]
    fn the_nearest_file_of_the_repository_counts() {
        let dir = tempfile::tempdir().unwrap();
        let bundle = dir.path().join("repository/operators/a/1.0.0");
        std::fs::create_dir_all(&bundle).unwrap();
        std::fs::write(dir.path().join(SETTINGS_FILE), "").unwrap();
        assert_eq!(find(&bundle), Some(dir.path().join(SETTINGS_FILE)));
        std::fs::create_dir(dir.path().join("repository/.git")).unwrap();
        assert_eq!(find(&bundle), None);
        let nearest = dir.path().join("repository/operators").join(SETTINGS_FILE);
        std::fs::write(&nearest, "").unwrap();
        assert_eq!(find(&bundle), Some(nearest));
    }
}

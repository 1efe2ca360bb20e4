//! `bundle-tool.toml`: which suites validate a project's bundles, what findings of a rule count as, and which findings are
//! ignored at one place. `docs/schemas/bundle-tool.json` describes the file to editors.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use kube_yaml::Position;
use kube_yaml::text::without_serde_terms;
use olm_model::Level;
use olm_model::disk::file;
use olm_model::read::Unreadable;

/// The name of the file.
pub const FILE_NAME: &str = "bundle-tool.toml";

/// The maximum size of the file in bytes.
const MAX_SIZE: u64 = 1 << 20;

/// What a file says. What names rules and suites is not checked here.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
#[non_exhaustive]
pub struct Settings {
    /// The URI of the schema, for editors.
    #[serde(rename = "$schema")]
    pub schema: Option<String>,
    /// A set of suites to enable.
    pub profile: Option<String>,
    /// Suites to enable.
    pub suites: Vec<String>,
    /// Whether warnings are errors.
    pub deny_warnings: bool,
    /// Levels of rules.
    pub rules: BTreeMap<String, Level>,
    /// Findings to ignore.
    pub ignore: Vec<Entry>,
}

/// Findings to ignore at one place.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
#[non_exhaustive]
pub struct Entry {
    /// The rule.
    pub rule: String,
    /// The path of the file below the bundle, in which `*` stands for anything.
    pub file: Option<String>,
    /// The field, in which `*` stands for anything.
    pub path: Option<String>,
    /// Why.
    pub reason: String,
}

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
        candidates.push(directory.join(FILE_NAME));
        if directory.join(".git").exists() {
            break;
        }
    }
    candidates
}

/// Reads the bytes of a file, which belongs to the repository or the directory that it is in.
fn read_bytes(path: &Path) -> Result<Vec<u8>, Unreadable> {
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
pub fn read(path: &Path) -> Result<Settings, SettingsError> {
    let bytes = read_bytes(path).map_err(|source| SettingsError::File { path: path.to_owned(), source })?;
    let invalid = |offset: usize, message: String| SettingsError::Invalid {
        path: path.to_owned(),
        position: Position::behind(&bytes[..offset.min(bytes.len())]),
        message,
    };
    let text = std::str::from_utf8(&bytes)
        .map_err(|error| invalid(error.valid_up_to(), "invalid UTF-8".to_owned()))?;
    let settings: Settings = toml::from_str(text).map_err(|error| {
        let message = without_serde_terms(error.message());
        invalid(error.span().map_or(0, |span| span.start), message)
    })?;
    for entry in &settings.ignore {
        if entry.reason.trim().is_empty() {
            return Err(invalid(0, format!("missing reason to ignore `{}`", entry.rule)));
        }
    }
    Ok(settings)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_and_errors_have_places() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(FILE_NAME);
        std::fs::write(
            &path,
            "suites = [\"operatorhubv2\"]\ndeny-warnings = true\n[rules]\nicon-missing = \"allow\"\n\
             [[ignore]]\nrule = \"x\"\nfile = \"manifests/*\"\nreason = \"known\"\n",
        )
        .unwrap();
        let settings = read(&path).unwrap();
        assert_eq!(settings.suites, ["operatorhubv2"]);
        assert_eq!(settings.rules["icon-missing"], Level::Allow);
        assert_eq!(settings.ignore[0].file.as_deref(), Some("manifests/*"));
        for (text, expected) in [
            ("a = 1\n", "1:1: unknown field `a`, expected one of"),
            ("\n[rules]\nx = \"off\"\n", "3:5: unknown level `off`: must be `allow`, `warn` or `deny`"),
            ("\n[rules]\nx = 3\n", "3:5: invalid type: integer `3`, expected a string"),
            ("suites = \"x\"\n", "1:10: invalid type: string \"x\", expected a list"),
            ("profile = []\n", "1:11: invalid type: list, expected a string"),
            ("[[ignore]]\nrule = \"x\"\n", "1:1: missing field `reason`"),
            ("[[ignore]]\nrule = \"x\"\nreason = \" \"\n", "1:1: missing reason to ignore `x`"),
            ("a =\n", "1:4: "),
        ] {
            std::fs::write(&path, text).unwrap();
            let message = read(&path).unwrap_err().to_string();
            assert!(message.contains(&format!("{FILE_NAME}:{expected}")), "{message}");
        }
    }

    #[test]
    fn what_is_not_a_regular_file_is_found_and_rejected() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(FILE_NAME);
        std::fs::create_dir(&path).unwrap();
        assert_eq!(find(dir.path()), Some(path.clone()));
        assert!(read(&path).unwrap_err().to_string().contains(FILE_NAME));
        std::fs::remove_dir(&path).unwrap();
        std::os::unix::fs::symlink("nowhere", &path).unwrap();
        assert_eq!(find(dir.path()), Some(path.clone()));
        assert!(read(&path).unwrap_err().to_string().contains(FILE_NAME));
    }

    #[test]
    fn settings_behind_a_link_out_of_the_project_are_rejected() {
        let dir = tempfile::tempdir().unwrap();
        let project = dir.path().join("project");
        std::fs::create_dir_all(project.join("bundle")).unwrap();
        std::fs::write(dir.path().join("secret"), "token\n").unwrap();
        let path = project.join(FILE_NAME);
        std::os::unix::fs::symlink("../secret", &path).unwrap();
        let outside = |error: SettingsError| {
            matches!(error, SettingsError::File { source: Unreadable::LeavesDirectory, .. })
        };
        assert!(outside(read(&path).unwrap_err()));
        std::fs::create_dir(project.join(".git")).unwrap();
        assert!(outside(read(&path).unwrap_err()));
        std::fs::write(project.join("shared.toml"), "").unwrap();
        let path = project.join("bundle").join(FILE_NAME);
        std::os::unix::fs::symlink("../shared.toml", &path).unwrap();
        assert_eq!(read(&path).unwrap(), Settings::default());
    }

    #[test]
    fn the_nearest_file_of_the_repository_counts() {
        let dir = tempfile::tempdir().unwrap();
        let bundle = dir.path().join("repository/operators/a/1.0.0");
        std::fs::create_dir_all(&bundle).unwrap();
        std::fs::write(dir.path().join(FILE_NAME), "").unwrap();
        assert_eq!(find(&bundle), Some(dir.path().join(FILE_NAME)));
        std::fs::create_dir(dir.path().join("repository/.git")).unwrap();
        assert_eq!(find(&bundle), None);
        let nearest = dir.path().join("repository/operators").join(FILE_NAME);
        std::fs::write(&nearest, "").unwrap();
        assert_eq!(find(&bundle), Some(nearest));
    }
}

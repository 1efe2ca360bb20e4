//! The record of what the scaffold last wrote, which an update compares with the files to keep what was edited since.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::error::Error;
use super::files::{Files, ScaffoldFile};
use super::vendor::{self, Digests};
use kube_yaml::text::without_serde_terms;

/// The name of the file.
pub const FILE: &str = ".scaffold.yaml";

/// The maximum number of bytes of the file that are read.
pub const MAX_SIZE: u64 = 16 << 20;

const HEADER: &str = "\
# What `bundle-tool init`, `create`, `edit` or `update` last wrote. `bundle-tool update` compares it with the
# project's files to keep your changes: do not edit it, and keep it in git.
";

/// What was last written, and by which version of the tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// The version of the tool.
    pub version: semver::Version,
    /// The files as they were written.
    pub files: Files,
    /// The copy of the runtime as it was written.
    pub vendored: Digests,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Yaml {
    version: String,
    files: Vec<Entry>,
    #[serde(default, skip_serializing_if = "Digests::is_empty")]
    vendored: Digests,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    /// The name that a file keeps when it moves; the path, if it is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    path: String,
    text: String,
}

impl Record {
    /// Reads the record.
    ///
    /// # Errors
    /// It is not one that [`Record::emit`] writes.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let invalid = |message: String| Error::Record { message };
        let parsed = kube_yaml::parse(text.as_bytes());
        if let Some(error) = parsed.error {
            return Err(invalid(error.to_string()));
        }
        let [document] = parsed.documents.as_slice() else {
            return Err(invalid(format!("expected one YAML document, found {}", parsed.documents.len())));
        };
        let Yaml { version, files, vendored } = serde_json::from_value(document.root().to_json())
            .map_err(|error| invalid(without_serde_terms(&error.to_string())))?;
        let version =
            semver::Version::parse(&version).map_err(|error| invalid(format!("version: {error}")))?;
        let check = |path: &str| {
            let mut parts = std::path::Path::new(path).components();
            let is_plain = |part| match part {
                std::path::Component::Normal(name) => !name.eq_ignore_ascii_case(".git"),
                _ => false,
            };
            if path.is_empty() || path.chars().any(char::is_control) || !parts.all(is_plain) {
                return Err(invalid(format!(
                    "invalid path `{}`: must be relative and stay in the project",
                    path.escape_debug()
                )));
            }
            Ok(())
        };
        for (path, digest) in &vendored {
            check(path)?;
            if !std::path::Path::new(path).starts_with(vendor::DIRECTORY) {
                return Err(invalid(format!("invalid path `{path}`: must be in {}", vendor::DIRECTORY)));
            }
            if digest.len() != 64 || !digest.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')) {
                return Err(invalid(format!(
                    "vendored: {path}: expected the 64 hexadecimal digits of a SHA-256"
                )));
            }
        }
        let mut record = Self { version, files: BTreeMap::new(), vendored };
        for Entry { id, path, text } in files {
            check(&path)?;
            let id = id.unwrap_or_else(|| path.clone());
            if record.files.insert(id.clone(), ScaffoldFile { path, text }).is_some() {
                return Err(invalid(format!("duplicate file `{id}`")));
            }
        }
        Ok(record)
    }

    /// Returns the text of the record.
    #[must_use]
    pub fn emit(&self) -> String {
        let files = self.files.iter().map(|(id, file)| {
            let id = (*id != file.path).then(|| id.clone());
            Entry { id, path: file.path.clone(), text: file.text.clone() }
        });
        let (version, vendored) = (self.version.to_string(), self.vendored.clone());
        let yaml = Yaml { version, files: files.collect(), vendored };
        format!("{HEADER}{}", kube_yaml::emit(&json!(yaml)))
    }
}

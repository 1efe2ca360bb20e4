//! The API server's audit log, if there is one: the requests and their status codes.

use anyhow::{Context as _, Result};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// The log from a certain time on.
pub struct Audit {
    path: PathBuf,
    from: usize,
}

/// One request, in the terms of RBAC.
#[derive(Clone, Debug)]
pub struct Call {
    /// As in `patch`.
    pub verb: String,
    /// The API group, empty for the core group.
    pub group: String,
    /// Plural, with `/subresource`.
    pub resource: String,
    /// Empty for all namespaces and for cluster-scoped resources.
    pub namespace: String,
    /// Empty for collections.
    pub name: String,
    /// The response's status code.
    pub code: u64,
}

impl Audit {
    /// The log that `AUDIT_LOG` names, or `log/audit.jsonl` beside the kubeconfig, from now on; `None` without one.
    #[must_use]
    pub fn from_env() -> Option<Self> {
        let beside =
            std::env::var_os("KUBECONFIG").map(|config| Path::new(&config).with_file_name("log/audit.jsonl"));
        let path =
            std::env::var_os("AUDIT_LOG").map(PathBuf::from).or(beside).filter(|path| path.is_file())?;
        let from = usize::try_from(std::fs::metadata(&path).ok()?.len()).ok()?;
        Some(Self { path, from })
    }

    /// Returns the log since then. The API server renames a log that has become too large, and begins another.
    fn text(&self) -> Result<Vec<u8>> {
        let current = std::fs::read(&self.path)?;
        if let Some(text) = current.get(self.from..) {
            return Ok(text.to_vec());
        }
        let directory = self.path.parent().context("the audit log is in no directory")?;
        let stem = self.path.file_stem().context("the audit log has no name")?.to_string_lossy().into_owned();
        let renamed = std::fs::read_dir(directory)?
            .filter_map(|entry| Some(entry.ok()?.path()))
            .filter(|path| {
                path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(&format!("{stem}-")))
            })
            .max()
            .context("the audit log has been cut")?;
        let text = std::fs::read(renamed)?;
        Ok([text.get(self.from..).context("the audit log has been cut")?, &current].concat())
    }

    /// What was asked since then, of those entries that `of` picks.
    ///
    /// # Errors
    /// The log cannot be read, or was cut.
    pub fn calls(&self, of: impl Fn(&Value) -> bool) -> Result<Vec<Call>> {
        let text = self.text()?;
        let lines = text.split(|byte| *byte == b'\n');
        let entries = lines.filter_map(|line| serde_json::from_slice::<Value>(line).ok());
        Ok(entries.filter(of).map(|entry| Call::of(&entry)).collect())
    }
}

impl Call {
    fn of(entry: &Value) -> Self {
        let object = &entry["objectRef"];
        let text = |field: &str| object[field].as_str().unwrap_or_default().to_owned();
        let resource = match text("subresource") {
            none if none.is_empty() => text("resource"),
            subresource => format!("{}/{subresource}", text("resource")),
        };
        Self {
            verb: entry["verb"].as_str().unwrap_or_default().to_owned(),
            group: text("apiGroup"),
            resource,
            namespace: text("namespace"),
            name: text("name"),
            code: entry["responseStatus"]["code"].as_u64().unwrap_or_default(),
        }
    }

    /// `VERB GROUP/RESOURCE`, as a rule would allow it.
    #[must_use]
    pub fn permission(&self) -> String {
        format!("{} {}/{}", self.verb, self.group, self.resource)
    }
}

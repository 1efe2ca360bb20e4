//! The APIs that a PROJECT file lists.
//!
//! Source: `pkg/config` of kubebuilder v4.

use std::path::Path;

use anyhow::{Context as _, Result, bail};

use kube_yaml::{Value, field, string};
use olm_model::disk::file;

/// The maximum size of a PROJECT file in bytes.
const MAX_FILE: u64 = 1 << 20;

/// A group, a version and a kind.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Gvk {
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) kind: String,
}

/// Returns the APIs of a PROJECT file of version 2 or 3.
pub(crate) fn resources(path: &Path) -> Result<Vec<Gvk>> {
    let bytes = file::read_in_project(path, MAX_FILE)
        .with_context(|| format!("failed to read {}", path.display()))?;
    let parsed = kube_yaml::parse(&bytes);
    if let Some(error) = parsed.error {
        bail!("{}:{}:{}: {}", path.display(), error.position.line, error.position.column, error.message);
    }
    let Some(tree) = parsed.documents.first() else { return Ok(Vec::new()) };
    let root = tree.root();
    // Version 2 has one domain for all resources.
    let domain = if string(root, "version") == "2" { string(root, "domain") } else { "" };
    let resource = |value: Value<'_>| {
        let own = string(value, "domain");
        let domain = if own.is_empty() { domain } else { own };
        let group = match (string(value, "group"), domain) {
            ("", domain) => domain.to_owned(),
            (group, "") => group.to_owned(),
            (group, domain) => format!("{group}.{domain}"),
        };
        Gvk { group, version: string(value, "version").to_owned(), kind: string(value, "kind").to_owned() }
    };
    Ok(field(root, "resources").into_iter().flat_map(Value::items).map(resource).collect())
}

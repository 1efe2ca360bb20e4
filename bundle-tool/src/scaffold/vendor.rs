//! The copy of operator-runtime in a project, so that the project builds without any other checkout.
//!
//! Unlike the scaffold, the copy is not merged: files that were not edited are replaced, edited ones stay.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};
use toml::{Table, Value};

use super::error::Error;
use super::merge::Plan;
use super::project::{Project, Runtime};

/// The directory of the copies in a project.
pub const DIRECTORY: &str = "vendor";

/// The files of the crates, with the manifest and the license of their workspace.
const SOURCES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/runtime_sources.rs"));

/// The digests of the copied files as they were written, in hexadecimal, by their paths in the project.
pub type Digests = BTreeMap<String, String>;

/// Returns the SHA-256 of a file in hexadecimal.
#[must_use]
pub fn digest(text: &str) -> String {
    Sha256::digest(text).iter().fold(String::new(), |mut all, byte| {
        // Writing to a string does not fail.
        let _ = write!(all, "{byte:02x}");
        all
    })
}

/// Returns the copied files of a project by their paths; none if its runtime is elsewhere.
///
/// # Errors
/// [`Error::NoRuntime`] if this program was built without the sources.
pub fn of(project: &Project) -> Result<BTreeMap<String, String>, Error> {
    match project.runtime {
        Runtime::Vendored => files(),
        Runtime::Path(_) => Ok(BTreeMap::new()),
    }
}

fn files() -> Result<BTreeMap<String, String>, Error> {
    let source = |name: &str| SOURCES.iter().find(|(path, _)| *path == name).map(|(_, text)| *text);
    let workspace = source("Cargo.toml").and_then(|text| text.parse().ok()).ok_or(Error::NoRuntime)?;
    let license = source("LICENSE").ok_or(Error::NoRuntime)?;
    let mut files = BTreeMap::new();
    for (path, text) in SOURCES {
        let Some((name, file)) = path.split_once('/') else { continue };
        let text = match file {
            "Cargo.toml" => manifest(text, &workspace).ok_or(Error::NoRuntime)?,
            _ => (*text).to_owned(),
        };
        files.insert(format!("{DIRECTORY}/{path}"), text);
        files.insert(format!("{DIRECTORY}/{name}/LICENSE"), license.to_owned());
    }
    Ok(files)
}

/// Adds to `plan` how the copy in a project becomes `new`; `old` are the digests of what was written last. `current` returns
/// what a file holds, or nothing if it does not exist.
///
/// # Errors
/// Those of `current`.
pub fn plan<E>(
    plan: &mut Plan,
    old: &Digests,
    new: &BTreeMap<String, String>,
    mut current: impl FnMut(&str) -> Result<Option<String>, E>,
) -> Result<(), E> {
    for (path, text) in new {
        match current(path)? {
            Some(there) if there == *text => {}
            Some(there) if old.get(path) != Some(&digest(&there)) => {
                plan.kept.insert(path.clone());
            }
            _ => {
                plan.files.insert(path.clone(), text.clone());
            }
        }
    }
    for (path, written) in old.iter().filter(|(path, _)| !new.contains_key(*path)) {
        if let Some(there) = current(path)? {
            let list = if digest(&there) == *written { &mut plan.removed } else { &mut plan.kept };
            list.insert(path.clone());
        }
    }
    Ok(())
}

/// Returns a crate's manifest without its workspace: what it inherits stands in it, and what only its tests need is left out.
fn manifest(text: &str, workspace: &Table) -> Option<String> {
    let crate_: Table = text.parse().ok()?;
    let inherited = workspace.get("workspace")?;
    let mut out = "# A copy that `bundle-tool init` and `bundle-tool update` write.\n[package]\n".to_owned();
    for (key, value) in crate_.get("package")?.as_table()? {
        let value = if is_inherited(value) { inherited.get("package")?.get(key)? } else { value };
        line(&mut out, key, value);
    }
    out.push_str("publish = false\n");
    if let Some(features) = crate_.get("features") {
        out.push_str("\n[features]\n");
        for (key, value) in features.as_table()? {
            line(&mut out, key, value);
        }
    }
    out.push_str("\n[dependencies]\n");
    for (key, value) in crate_.get("dependencies")?.as_table()? {
        line(&mut out, key, &Value::Table(dependency(key, value, inherited.get("dependencies")?)?));
    }
    Some(out)
}

fn is_inherited(value: &Value) -> bool {
    value.get("workspace").and_then(Value::as_bool) == Some(true)
}

/// Returns a dependency with what it inherits from the workspace's.
fn dependency(name: &str, own: &Value, workspace: &Value) -> Option<Table> {
    let table = |value: &Value| match value {
        Value::String(version) => Some(Table::from_iter([("version".to_owned(), version.as_str().into())])),
        Value::Table(table) => Some(table.clone()),
        _ => None,
    };
    let mut own = table(own)?;
    if own.remove("workspace").is_none() {
        return Some(own);
    }
    let mut all = table(workspace.get(name)?)?;
    if all.contains_key("path") {
        // The copies are beside each other.
        all = Table::from_iter([("path".to_owned(), format!("../{name}").into())]);
    }
    for (key, value) in own {
        match (all.get_mut(&key).and_then(Value::as_array_mut), value) {
            (Some(features), Value::Array(more)) => features.extend(more),
            (_, value) => _ = all.insert(key, value),
        }
    }
    Some(all)
}

fn line(out: &mut String, key: &str, value: &Value) {
    // Writing to a string does not fail.
    let _ = writeln!(out, "{key} = {}", inline(value));
}

/// Returns a value on one line.
fn inline(value: &Value) -> String {
    let list = |items: Vec<String>| items.join(", ");
    match value {
        // The strings of these manifests have no escapes in which JSON and TOML differ.
        Value::String(text) => serde_json::Value::from(text.as_str()).to_string(),
        Value::Array(values) => format!("[{}]", list(values.iter().map(inline).collect())),
        Value::Table(table) => {
            let fields = table.iter().map(|(key, value)| format!("{key} = {}", inline(value)));
            format!("{{ {} }}", list(fields.collect()))
        }
        Value::Boolean(value) => value.to_string(),
        Value::Integer(value) => value.to_string(),
        Value::Float(value) => value.to_string(),
        Value::Datetime(value) => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn manifests_inherit_nothing() {
        let files = files().unwrap();
        for name in ["operator-runtime", "atomic-files"] {
            let text = &files[&format!("vendor/{name}/Cargo.toml")];
            assert!(!text.contains("workspace"), "{text}");
            let manifest: Table = text.parse().unwrap();
            assert_eq!(manifest["package"]["version"].as_str(), Some(env!("CARGO_PKG_VERSION")));
        }
        insta::assert_snapshot!(files["vendor/operator-runtime/Cargo.toml"]);
    }

    #[test]
    fn what_was_edited_stays_and_the_rest_follows() {
        let old: Digests = [("a", "1"), ("b", "1"), ("c", "1"), ("d", "1"), ("e", "1")]
            .map(|(path, text)| (path.into(), digest(text)))
            .into();
        let new = [("a", "2"), ("b", "2"), ("c", "2"), ("f", "2"), ("g", "2")]
            .map(|(path, text)| (path.into(), text.into()))
            .into();
        let there = [("a", "1"), ("b", "mine"), ("d", "1"), ("e", "mine"), ("g", "mine")];
        let mut found = Plan::default();
        let current = |path: &str| {
            Ok::<_, Error>(there.iter().find(|(name, _)| *name == path).map(|(_, text)| (*text).to_owned()))
        };
        plan(&mut found, &old, &new, current).unwrap();
        let joined = |paths: Vec<&String>| paths.into_iter().cloned().collect::<String>();
        assert_eq!(joined(found.files.keys().collect()), "acf");
        assert_eq!(joined(found.removed.iter().collect()), "d");
        assert_eq!(joined(found.kept.iter().collect()), "beg");
    }
}

//! The copy of operator-runtime in a project, so that the project builds without any other checkout.
//!
//! Unlike the scaffold, the copy is not merged: files that were not edited are replaced, and edited ones stay.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};
use toml::{Table, Value};

use super::error::Error;
use super::merge::Plan;
use super::project::{Project, Runtime};

/// The directory of the copy in a project. Not `vendor`, which cargo and git's ignore files know in another sense.
pub const DIRECTORY: &str = "runtime";

/// Files beside the crates: formatters and line ends must not change what is compared.
const SETTINGS: [(&str, &str); 2] =
    [(".gitattributes", "* -text linguist-vendored\n"), ("rustfmt.toml", "disable_all_formatting = true\n")];

/// The files of the crates, with the manifest and the license of their workspace.
const SOURCES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/runtime_sources.rs"));

/// The digests of the copied files as they were written, in hexadecimal, by their paths in the project.
pub type Digests = BTreeMap<String, String>;

/// Returns the SHA-256 of a file in hexadecimal.
#[must_use]
pub fn digest(text: &[u8]) -> String {
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
pub fn copies(project: &Project) -> Result<BTreeMap<String, String>, Error> {
    match project.runtime {
        Runtime::Vendored => all(),
        Runtime::Path(_) => Ok(BTreeMap::new()),
    }
}

fn all() -> Result<BTreeMap<String, String>, Error> {
    let source = |name: &str| SOURCES.iter().find(|(path, _)| *path == name).map(|(_, text)| *text);
    let workspace = source("Cargo.toml").and_then(|text| text.parse().ok()).ok_or(Error::NoRuntime)?;
    let license = source("LICENSE").ok_or(Error::NoRuntime)?;
    let settings = SETTINGS.iter().map(|(name, text)| (format!("{DIRECTORY}/{name}"), (*text).to_owned()));
    let mut files: BTreeMap<_, _> = settings.collect();
    for (path, text) in SOURCES {
        let Some((name, file)) = path.split_once('/') else { continue };
        let text = match file {
            "Cargo.toml" => manifest(text, &workspace).ok_or(Error::NoRuntime)?,
            _ => (*text).to_owned(),
        };
        files.insert(format!("{DIRECTORY}/{path}"), text);
        files.insert(format!("{DIRECTORY}/{name}/LICENSE"), license.to_owned());
    }
    let changes = source("CHANGELOG.md").ok_or(Error::NoRuntime)?;
    let changes = changelog(changes, env!("CARGO_PKG_VERSION"), &revision(&files));
    files.insert(format!("{DIRECTORY}/CHANGELOG.md"), changes);
    Ok(files)
}

/// Returns a digest of all copied files: the same sources have the same revision, whatever they were built from.
fn revision(files: &BTreeMap<String, String>) -> String {
    let mut all = String::new();
    for (path, text) in files {
        // Writing to a string does not fail.
        let _ = writeln!(all, "{path} {}", digest(text.as_bytes()));
    }
    digest(all.as_bytes())
}

/// Returns the changelog of the copied crates: their items of that of the workspace, and which revision the copy is of.
fn changelog(workspace: &str, version: &str, revision: &str) -> String {
    let mut out = format!(
        "# Changelog of operator-runtime\n\nThis directory is a copy of version {version} (revision {}), which `bundle-tool update` keeps \
         up to date.\nThe revision is a digest of all files.\n",
        revision.get(..12).unwrap_or(revision),
    );
    let is_copied = |item: &str| {
        let name = item.strip_prefix("- `").and_then(|rest| rest.split_once('`'));
        name.is_some_and(|(name, _)| SOURCES.iter().any(|(path, _)| path.starts_with(&format!("{name}/"))))
    };
    let mut copies = false;
    for line in workspace.lines() {
        if line.starts_with("## ") {
            let _ = write!(out, "\n{line}\n\n");
        }
        copies = if line.starts_with("- ") { is_copied(line) } else { copies && line.starts_with("  ") };
        if copies {
            let _ = writeln!(out, "{line}");
        }
    }
    out
}

/// Adds to `plan` how the copy in a project becomes `new`; `old` are the digests of what was written last. A file that was deleted
/// is written again. `current` returns what a file holds, or nothing if it does not exist.
///
/// Returns the digests to record: of an edited file, that of what was written before, by which it is recognized should it be
/// restored.
///
/// # Errors
/// Those of `current`.
pub fn follow<E>(
    plan: &mut Plan,
    old: &Digests,
    new: &BTreeMap<String, String>,
    mut current: impl FnMut(&str) -> Result<Option<Vec<u8>>, E>,
) -> Result<Digests, E> {
    let mut record = Digests::new();
    for (path, text) in new {
        let (last, next) = (old.get(path), digest(text.as_bytes()));
        match current(path)? {
            Some(there) if there == text.as_bytes() => _ = record.insert(path.clone(), next),
            Some(there) if last != Some(&digest(&there)) => {
                if last != Some(&next) {
                    plan.outdated.insert(path.clone());
                }
                record.extend(last.map(|last| (path.clone(), last.clone())));
            }
            _ => {
                plan.files.insert(path.clone(), text.clone());
                record.insert(path.clone(), next);
            }
        }
    }
    for (path, written) in old.iter().filter(|(path, _)| !new.contains_key(*path)) {
        if let Some(there) = current(path)? {
            let list = if digest(&there) == *written { &mut plan.removed } else { &mut plan.kept };
            list.insert(path.clone());
        }
    }
    Ok(record)
}

/// Returns a crate's manifest without its workspace: what it inherits stands in it, and what only its tests need is left out.
fn manifest(text: &str, workspace: &Table) -> Option<String> {
    let crate_: Table = text.parse().ok()?;
    // What is not known here would be lost.
    let known = ["package", "features", "dependencies", "target", "dev-dependencies", "lints"];
    if crate_.keys().any(|key| !known.contains(&key.as_str())) {
        return None;
    }
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
    let mut list = |header: &str, dependencies: &Value| {
        out.push_str(header);
        for (key, value) in dependencies.as_table()? {
            line(&mut out, key, &Value::Table(dependency(key, value, inherited.get("dependencies")?)?));
        }
        Some(())
    };
    list("\n[dependencies]\n", crate_.get("dependencies")?)?;
    for (target, tables) in crate_.get("target").and_then(Value::as_table).into_iter().flatten() {
        if tables.as_table()?.keys().any(|key| key != "dependencies") {
            return None;
        }
        list(&format!("\n[target.'{target}'.dependencies]\n"), tables.get("dependencies")?)?;
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
        let files = all().unwrap();
        for (_, text) in files.iter().filter(|(path, _)| path.ends_with("/Cargo.toml")) {
            assert!(!text.contains("workspace"), "{text}");
            let manifest: Table = text.parse().unwrap();
            assert_eq!(manifest["package"]["version"].as_str(), Some(env!("CARGO_PKG_VERSION")));
            for (name, dependency) in manifest["dependencies"].as_table().unwrap() {
                let is_copied = files.contains_key(&format!("runtime/{name}/Cargo.toml"));
                assert_eq!(dependency.get("path").is_some(), is_copied, "{name}");
            }
        }
        assert!(
            files["runtime/atomic-files/Cargo.toml"]
                .contains("\n[target.'cfg(unix)'.dependencies]\nrustix = ")
        );
        insta::assert_snapshot!(files["runtime/operator-runtime/Cargo.toml"]);
    }

    #[test]
    fn changelog_is_that_of_the_copied_crates_and_names_the_revision() {
        let text = "# Changelog\n\n## 0.2.0\n\n### bundle-tool\n\n- Fixes:\n  more.\n\n### Crates\n\n- `operator-runtime`: one\n  \
                    and more.\n- `oci-images`: two\n  and more.\n- `limited-http`: three\n\n## 0.1.0\n\n- `atomic-files`: four\n";
        insta::assert_snapshot!(changelog(text, "0.3.0", &digest(b"sources")));
        let files = all().unwrap();
        let written = &files["runtime/CHANGELOG.md"];
        assert!(written.contains("- `operator-runtime`: ") && !written.contains("oci-images"), "{written}");
        let mut others = files.clone();
        others.remove("runtime/CHANGELOG.md");
        assert!(written.contains(&revision(&others)[..12]));
        others.insert("runtime/operator-runtime/src/new.rs".to_owned(), String::new());
        assert!(!written.contains(&revision(&others)[..12]), "every change is another revision");
    }

    fn followed(old: &Digests, there: &[(&str, &str)]) -> (Plan, Digests) {
        let new = ["a", "b", "c", "f", "g", "h"].map(|path| (path.into(), "2".into())).into();
        let mut plan = Plan::default();
        let current = |path: &str| {
            let found = there.iter().find(|(name, _)| *name == path);
            Ok::<_, Error>(found.map(|(_, text)| text.as_bytes().to_vec()))
        };
        let record = follow(&mut plan, old, &new, current).unwrap();
        (plan, record)
    }

    fn digests(list: &[(&str, &str)]) -> Digests {
        list.iter().map(|(path, text)| ((*path).to_owned(), digest(text.as_bytes()))).collect()
    }

    #[test]
    fn what_was_edited_stays_and_the_rest_follows() {
        let old = digests(&[("a", "1"), ("b", "1"), ("c", "1"), ("d", "1"), ("e", "1"), ("h", "2")]);
        let (plan, record) = followed(
            &old,
            &[("a", "1"), ("b", "mine"), ("d", "1"), ("e", "mine"), ("g", "mine"), ("h", "mine")],
        );
        let joined = |paths: &mut dyn Iterator<Item = &String>| paths.cloned().collect::<String>();
        assert_eq!(joined(&mut plan.files.keys()), "acf");
        assert_eq!(joined(&mut plan.removed.iter()), "d");
        assert_eq!(joined(&mut plan.kept.iter()), "e");
        // `h` was edited, but the copy of it is the same as before.
        assert_eq!(joined(&mut plan.outdated.iter()), "bg");
        assert_eq!(record, digests(&[("a", "2"), ("b", "1"), ("c", "2"), ("f", "2"), ("h", "2")]));
        // Once the edit is undone, the file follows.
        let (plan, record) = followed(&record, &[("b", "1"), ("g", "2")]);
        assert!(plan.files.contains_key("b") && plan.outdated.is_empty(), "{plan:?}");
        assert_eq!(record["g"], digest(b"2"));
    }
}

//! `bundle-tool catalog deprecate`.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};
use clap::Args;
use serde_json::{Value as Json, json};

use super::load;
use super::store::{Change, Store};
use crate::cli::exit::Exit;
use crate::cli::lock::lock;
use crate::terminal::messages;
use kube_yaml::is_same_name;
use kube_yaml::text::printable;
use olm_catalog::validate::{Blob, resolve};

/// Deprecate a package, channels or bundles of a file-based catalog
///
/// OLM and consoles show the message to users of the deprecated package, channel or bundle. A deprecation does not affect
/// upgrades by OLM v0. OLM v1 prefers bundles that are not deprecated: it upgrades to a deprecated bundle only if every
/// other candidate, including the installed version, is deprecated, too.
///
/// The `olm.deprecations` blob of the package is changed in place, or added to the file of the package. An existing
/// deprecation is replaced.
///
/// Exit status: 0 on success, 1 if the resulting catalog would be invalid, 2 on an error; with 1 or 2, nothing is written.
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  # Deprecate a channel
  bundle-tool catalog deprecate ./catalog --package gizmo --channel alpha \\
    --message 'Switch to channel stable'

  # Deprecate two bundles
  bundle-tool catalog deprecate ./catalog --package gizmo \\
    --bundle gizmo.v1.0.0 --bundle gizmo.v1.0.1 \\
    --message 'Versions before 1.1.0 lose data: upgrade'

  # Deprecate the package
  bundle-tool catalog deprecate ./catalog --package gizmo \\
    --message 'Use gadget instead'

  # Undo a deprecation
  bundle-tool catalog deprecate ./catalog --package gizmo \\
    --channel alpha --undo")]
pub(crate) struct Deprecate {
    /// Catalog directory
    catalog: PathBuf,
    /// Package to deprecate, unless you pass --channel or --bundle
    #[arg(long, value_name = "NAME")]
    package: String,
    /// Channel to deprecate (repeatable)
    #[arg(long, value_name = "NAME")]
    channel: Vec<String>,
    /// Bundle to deprecate (repeatable)
    #[arg(long, value_name = "NAME")]
    bundle: Vec<String>,
    /// Message for users: what to do instead
    #[arg(long, value_name = "TEXT", required_unless_present = "undo")]
    message: Option<String>,
    /// Remove the deprecation
    #[arg(long, conflicts_with = "message")]
    undo: bool,
    /// Write the catalog even if it is invalid
    #[arg(long)]
    no_validate: bool,
}

impl Deprecate {
    pub(crate) fn run(self) -> Result<Exit> {
        if !self.catalog.is_dir() {
            bail!("{} is not a catalog directory", self.catalog.display());
        }
        if self.message.as_deref().is_some_and(|message| message.trim().is_empty()) {
            bail!("--message must not be empty");
        }
        let failed = || format!("failed to change {}", self.catalog.display());
        let mut lock = lock(&self.catalog)?;
        let store = Store::read(lock.path()).with_context(failed)?;
        let (mut packages, _) = resolve(&store.blobs);
        load::select([&mut packages], Some(&self.package))?;
        let linked = packages.get(self.package.as_str()).context("the package is not in the catalog")?;
        for channel in &self.channel {
            linked.channel(channel)?;
        }
        if let Some(bundle) = self.bundle.iter().find(|name| !linked.bundles.contains_key(name.as_str())) {
            bail!("bundle `{bundle}` is not in package `{}`", self.package);
        }
        let mut references: Vec<Json> =
            self.channel.iter().map(|name| json!({"schema": "olm.channel", "name": name})).collect();
        references.extend(self.bundle.iter().map(|name| json!({"schema": "olm.bundle", "name": name})));
        if references.is_empty() {
            references.push(json!({"schema": "olm.package"}));
        }
        let find = |wanted: fn(&Blob) -> bool| {
            store.blobs.iter().position(|blob| wanted(blob) && blob.package() == self.package)
        };
        let existing = find(|blob| matches!(blob, Blob::Deprecations(_)));
        let mut changes = BTreeMap::new();
        let mut new = Vec::new();
        match existing {
            Some(index) => {
                let mut blob = store.json(index)?;
                let is_empty = self.edit(&mut blob, references)?;
                changes.insert(index, if is_empty { Change::Remove } else { Change::To(blob) });
            }
            None if self.undo => bail!("package `{}` has no deprecations", self.package),
            None => {
                let mut blob = json!({"schema": "olm.deprecations", "package": self.package, "entries": []});
                self.edit(&mut blob, references)?;
                let home = find(|blob| matches!(blob, Blob::Package(_)));
                let home = home.and_then(|index| store.file(index)).context("the package has no file")?;
                new.push((home, blob));
            }
        }
        let files = store.changed(&changes, &new)?;
        if !store.write(&mut lock, &self.catalog, files, self.no_validate)? {
            return Ok(Exit::Findings);
        }
        let verb = if self.undo { "removed the deprecation of" } else { "deprecated" };
        writeln!(messages(), "{verb} {} in {}", self.subjects(), self.catalog.display())?;
        Ok(Exit::Success)
    }

    /// Returns what is deprecated.
    fn subjects(&self) -> String {
        let package = printable(&self.package);
        let channels = self.channel.iter().map(|name| format!("channel {}", printable(name)));
        let bundles = self.bundle.iter().map(|name| format!("bundle {}", printable(name)));
        let parts: Vec<String> = channels.chain(bundles).collect();
        if parts.is_empty() {
            format!("package {package}")
        } else {
            format!("{} of package {package}", parts.join(", "))
        }
    }

    /// Changes the entries of an `olm.deprecations` blob; returns whether none is left.
    fn edit(&self, blob: &mut Json, references: Vec<Json>) -> Result<bool> {
        let key = blob
            .as_object()
            .into_iter()
            .flat_map(serde_json::Map::keys)
            .find(|key| is_same_name(key, "entries"))
            .map_or_else(|| "entries".to_owned(), Clone::clone);
        if !blob[&key].is_array() {
            blob[&key] = Json::Array(Vec::new());
        }
        let Some(entries) = blob[&key].as_array_mut() else { bail!("`entries` is not a list") };
        for reference in references {
            let is_same = |entry: &Json| {
                let text = |key: &str| entry["reference"][key].as_str().unwrap_or_default();
                text("schema") == reference["schema"]
                    && text("name") == reference["name"].as_str().unwrap_or_default()
            };
            let found = entries.iter().position(is_same);
            match (found, &self.message) {
                (Some(index), Some(message)) => entries[index]["message"] = message.as_str().into(),
                (Some(index), None) => {
                    entries.remove(index);
                }
                (None, Some(message)) => entries.push(json!({"reference": reference, "message": message})),
                (None, None) => bail!("not deprecated: {reference}"),
            }
        }
        Ok(entries.is_empty())
    }
}

//! The base CSV of a project: generated from `Cargo.toml` and the CRDs' schemas, with the user's overrides, and merged into
//! the existing base without losing manual changes.

use serde_json::{Value as Json, json};

use super::error::Error;
use super::json::map_mut;
use super::ledger::{Fate, Ledger};
use super::project::{Icon, Project};
use super::{base as bases, descriptors, input, merge};
use crate::model::Document;

/// What a base is generated from.
#[derive(Debug, Default)]
pub struct Base<'i> {
    /// The project. Without one, the base contains placeholders.
    pub project: Option<&'i Project>,
    /// The package's name.
    pub package: &'i str,
    /// The contents of the project's description file.
    pub description: Option<&'i str>,
    /// The icon.
    pub icon: Option<&'i Icon>,
    /// The manifests. All but CRDs are ignored.
    pub documents: &'i [Document],
    /// Part of a CSV that is merged over what is generated. Null removes a field.
    pub overrides: Option<&'i Json>,
    /// The existing base.
    pub there: Option<&'i Json>,
    /// What was generated when the existing base was written.
    pub last: Option<&'i Json>,
}

/// Returns the base, and what was generated for it: [`Base::last`] of the next time.
///
/// # Errors
/// A CRD has a field of the wrong type.
pub fn base(what: &Base<'_>, ledger: &mut Ledger) -> Result<(Json, Json), Error> {
    let mut now = match what.project {
        Some(project) => project.csv(what.description, what.icon),
        None => bases::bare(what.package),
    };
    let collected = input::collect(what.documents, ledger)?;
    let mut owned = Vec::new();
    for definition in collected.definitions() {
        let entries = descriptors::owned(definition);
        ledger.fate(definition.source, Fate::Csv("customresourcedefinitions.owned".to_owned()));
        owned.extend(entries);
    }
    if let Some(spec) = map_mut(&mut now, "spec") {
        spec.insert("customresourcedefinitions".to_owned(), json!({"owned": owned}));
        spec.insert("apiservicedefinitions".to_owned(), json!({}));
        spec.insert("install".to_owned(), json!({"spec": {"deployments": null}, "strategy": ""}));
    }
    if let Some(overrides) = what.overrides {
        merge::overlay(&mut now, overrides);
    }
    let merged = match what.there {
        Some(there) => merge::update(there, what.last, &now),
        None => now.clone(),
    };
    Ok((merged, now))
}

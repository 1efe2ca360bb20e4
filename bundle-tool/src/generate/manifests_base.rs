//! The base CSV of a project: what `Cargo.toml` and the schemas say, a person's overrides over it, put into the base
//! that is there without losing a word of it.

use serde_json::{Value as Json, json};

use super::json::map_mut;
use super::ledger::{Fate, Ledger};
use super::project::{Icon, Project};
use super::{Document, Error, base as bases, descriptors, input, merge};

/// What a base is made from.
#[derive(Debug, Default)]
pub struct Base<'i> {
    /// Who the operator is; a bare base is made where nothing is known.
    pub project: Option<&'i Project>,
    /// The package's name.
    pub package: &'i str,
    /// The text of the file that the project takes its description from.
    pub description: Option<&'i str>,
    /// The picture.
    pub icon: Option<&'i Icon>,
    /// The manifests; only definitions of custom resources count.
    pub documents: &'i [Document],
    /// A piece of a CSV that is put over what was generated; null removes.
    pub overrides: Option<&'i Json>,
    /// The base that is there.
    pub there: Option<&'i Json>,
    /// What was generated when it was written last.
    pub last: Option<&'i Json>,
}

/// The base, and what was generated for it, to be given as [`Base::last`] the next time.
///
/// # Errors
/// A definition that does not fit its type.
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

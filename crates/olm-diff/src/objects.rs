//! What an upgrade does to objects that exist: each is validated against the schema of its version, before and after.

use serde::Serialize;
use serde_json::Value as Json;

use super::version::Version;
use kube_yaml::Tree;
use olm_rules::{Crds, Outcome};

/// What an upgrade does to objects.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Objects {
    /// How many were validated.
    pub checked: usize,
    /// How many of them the old version rejects already: what the new one says of them is not reported.
    pub invalid_before: usize,
    /// How many further objects are of kinds that the old version does not own.
    pub foreign: usize,
    /// How many further objects could not be validated within the limit on work.
    pub unverified: usize,
    /// The objects that the upgrade breaks, in their order.
    pub broken: Vec<BrokenObject>,
}

/// An object that an upgrade breaks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct BrokenObject {
    /// The object, such as ``Gizmo `default/sample` ``.
    pub object: String,
    /// The name of its CRD.
    pub crd: String,
    /// What is wrong after the upgrade.
    pub problem: String,
}

/// Validates objects against two versions of an operator. `parse` converts JSON into a tree.
#[must_use]
pub fn objects(old: &Version, new: &Version, objects: &[Json], parse: &dyn Fn(&Json) -> Tree) -> Objects {
    let trees = |version: &Version| version.crds.values().map(parse).collect::<Vec<_>>();
    let (old, new) = (trees(old), trees(new));
    let old = Crds::new(old.iter().map(Tree::root), parse);
    let new = Crds::new(new.iter().map(Tree::root), parse);
    let mut found = Objects::default();
    for object in objects {
        let Some(before) = old.outcome(object) else {
            found.foreign += 1;
            continue;
        };
        let after = new.outcome(object);
        let is_invalid = before.rejected.is_some() || !before.is_served;
        let problem = match after {
            _ if is_invalid => None,
            None => Some("its CRD is removed".to_owned()),
            Some(after) if !after.is_served => {
                Some(format!("version `{}` is no longer served", version_of(object)))
            }
            Some(after) if before.is_unverified || after.is_unverified => {
                found.unverified += 1;
                continue;
            }
            Some(after) => changed(&before, after),
        };
        found.checked += 1;
        found.invalid_before += usize::from(is_invalid);
        found.broken.extend(problem.map(|problem| BrokenObject {
            object: name(object),
            crd: before.crd,
            problem,
        }));
    }
    found
}

/// Returns what is wrong with an object after the upgrade, and was not before.
fn changed(before: &Outcome, after: Outcome) -> Option<String> {
    let dropped = after.dropped.filter(|field| before.dropped.as_ref() != Some(field));
    after.rejected.or_else(|| dropped.map(|field| format!("{field} is dropped")))
}

fn string_at<'j>(json: &'j Json, pointer: &str) -> &'j str {
    json.pointer(pointer).and_then(Json::as_str).unwrap_or_default()
}

fn version_of(object: &Json) -> &str {
    string_at(object, "/apiVersion").rsplit('/').next().unwrap_or_default()
}

/// Returns what an object is called in messages.
fn name(object: &Json) -> String {
    let (kind, namespace, name) = (
        string_at(object, "/kind"),
        string_at(object, "/metadata/namespace"),
        string_at(object, "/metadata/name"),
    );
    let separator = if namespace.is_empty() { "" } else { "/" };
    format!("{kind} `{namespace}{separator}{name}`")
}

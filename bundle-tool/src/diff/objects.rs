//! What an upgrade does to objects that exist: each is validated against the schema of its version, before and after.

use std::collections::HashMap;

use serde::Serialize;
use serde_json::Value as Json;

use super::version::Version;
use crate::model::yaml::Tree;
use crate::rules::{Fate, fate};

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
    let (old, new) = (Side::new(old, parse), Side::new(new, parse));
    let mut found = Objects::default();
    for object in objects {
        let Some(before) = old.fate(object) else {
            found.foreign += 1;
            continue;
        };
        found.checked += 1;
        if before.fate.rejected.is_some() || !before.fate.is_served {
            found.invalid_before += 1;
            continue;
        }
        if let Some(problem) = problem(&before.fate, new.fate(object), version_of(object)) {
            let (object, crd) = (name(object), before.crd.to_owned());
            found.broken.push(BrokenObject { object, crd, problem });
        }
    }
    found
}

fn problem(before: &Fate, after: Option<Found<'_>>, version: &str) -> Option<String> {
    let Some(Found { fate: after, .. }) = after else { return Some("its CRD is removed".to_owned()) };
    if !after.is_served {
        return Some(format!("version `{version}` is no longer served"));
    }
    let dropped = after.dropped.filter(|field| before.dropped.as_ref() != Some(field));
    after.rejected.or_else(|| dropped.map(|field| format!("{field} is dropped")))
}

/// What a version makes of an object.
struct Found<'v> {
    crd: &'v str,
    fate: Fate,
}

/// The CRDs of a version by group and kind.
struct Side<'v> {
    crds: HashMap<(&'v str, &'v str), (&'v str, &'v Json, Tree)>,
    parse: &'v dyn Fn(&Json) -> Tree,
}

impl<'v> Side<'v> {
    fn new(version: &'v Version, parse: &'v dyn Fn(&Json) -> Tree) -> Self {
        let key = |crd: &'v Json| (text(crd, "/spec/group"), text(crd, "/spec/names/kind"));
        let crds = version.crds.iter().map(|(name, crd)| (key(crd), (name.as_str(), crd, parse(crd))));
        Self { crds: crds.collect(), parse }
    }

    fn fate(&self, object: &Json) -> Option<Found<'v>> {
        let (group, version) = text(object, "/apiVersion").split_once('/')?;
        let (name, crd, tree) = self.crds.get(&(group, text(object, "/kind")))?;
        let mut object = object.clone();
        let versions = crd.pointer("/spec/versions").and_then(Json::as_array).into_iter().flatten();
        if let Some(served) = versions.into_iter().find(|one| one["name"] == version) {
            set_defaults(&mut object, &served["schema"]["openAPIV3Schema"]);
        }
        let object = (self.parse)(&object);
        Some(Found { crd: name, fate: fate(tree.root(), object.root()) })
    }
}

/// Sets the defaults of a schema, as the API server does when it reads an object.
///
/// Source: `Default` of `pkg/apiserver/schema/defaulting/algorithm.go` of `k8s.io/apiextensions-apiserver`.
fn set_defaults(value: &mut Json, schema: &Json) {
    match value {
        Json::Object(fields) => {
            for (name, property) in schema["properties"].as_object().into_iter().flatten() {
                let default = &property["default"];
                let is_unset =
                    fields.get(name).is_none_or(|value| value.is_null() && property["nullable"] != true);
                if !default.is_null() && is_unset {
                    fields.insert(name.clone(), default.clone());
                }
            }
            for (name, value) in fields {
                let property = &schema["properties"][name];
                set_defaults(
                    value,
                    if property.is_null() { &schema["additionalProperties"] } else { property },
                );
            }
        }
        Json::Array(items) => items.iter_mut().for_each(|item| set_defaults(item, &schema["items"])),
        _ => {}
    }
}

fn text<'j>(json: &'j Json, pointer: &str) -> &'j str {
    json.pointer(pointer).and_then(Json::as_str).unwrap_or_default()
}

fn version_of(object: &Json) -> &str {
    text(object, "/apiVersion").rsplit('/').next().unwrap_or_default()
}

/// Returns what an object is called in messages.
fn name(object: &Json) -> String {
    let (kind, namespace, name) =
        (text(object, "/kind"), text(object, "/metadata/namespace"), text(object, "/metadata/name"));
    let separator = if namespace.is_empty() { "" } else { "/" };
    format!("{kind} `{namespace}{separator}{name}`")
}

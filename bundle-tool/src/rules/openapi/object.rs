//! What a CRD makes of an existing object: whether its version is served, whether an update is accepted, and what is dropped.
//!
//! Source: `pkg/registry/customresource/strategy.go` of `k8s.io/apiextensions-apiserver`, whose `ValidateUpdate` applies the
//! schema and its rules to the whole object.

use super::prune::unknown_field;
use super::validate::validate;
use crate::model::crd::Schema;
use crate::model::yaml::{Path, Value};
use crate::rules::subjects::{Effort, cel_schema};
use kubernetes_cel::Step;

/// What becomes of an object.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Fate {
    /// Whether its version is served.
    pub is_served: bool,
    /// Why an update is rejected, the first reason.
    pub rejected: Option<String>,
    /// The path of the first field that is dropped.
    pub dropped: Option<String>,
}

/// Returns what becomes of an object of the kind of a CRD. Defaults are those of the object. Rules are evaluated with the object as
/// the old one, too: an update that changes nothing.
#[must_use]
pub fn fate(crd: Value<'_>, object: Value<'_>) -> Fate {
    let api_version = object.get("apiVersion").map(Value::text).unwrap_or_default();
    let name = api_version.rsplit('/').next().unwrap_or_default();
    let versions = crd.dig(&["spec", "versions"]).into_iter().flat_map(Value::items);
    let version = versions.into_iter().find(|version| {
        version.get("name").map(Value::text) == Some(name)
            && version.get("served").and_then(Value::as_bool) == Some(true)
    });
    let Some(version) = version else { return Fate::default() };
    let Some(root) = version.dig(&["schema", "openAPIV3Schema"]) else {
        return Fate { is_served: true, ..Fate::default() };
    };
    let (schema, effort) = (Schema::read(root), Effort::share(1, 1));
    let mismatch = validate(object, &schema, &Path::ROOT, &effort).err();
    let rejected = mismatch.map(|mismatch| {
        let separator = if mismatch.path.is_empty() { "" } else { ": " };
        format!("{}{separator}{}", mismatch.path, mismatch.message)
    });
    let rejected = rejected.or_else(|| {
        let json = object.to_json();
        let broken =
            effort.with_budget(|budget| kubernetes_cel::broken_rule(&cel_schema(root), &json, budget))?;
        let (path, number) = (value_path(&broken.path), broken.rule + 1);
        let separator = if path.is_empty() { "" } else { ": " };
        Some(match broken.error {
            None => format!("{path}{separator}breaks rule {number} of `x-kubernetes-validations`"),
            Some(error) => {
                format!("{path}{separator}rule {number} of `x-kubernetes-validations` fails: {error}")
            }
        })
    });
    Fate { is_served: true, rejected, dropped: unknown_field(object, &schema, true, &Path::ROOT) }
}

/// Returns where in an object the values of a schema are, such as `spec.ports[*].name`.
fn value_path(steps: &[Step]) -> String {
    let mut path = String::new();
    for step in steps {
        match step {
            Step::Property(name) if path.is_empty() => path.push_str(name),
            Step::Property(name) => path.extend([".", name]),
            _ => path.push_str("[*]"),
        }
    }
    path
}

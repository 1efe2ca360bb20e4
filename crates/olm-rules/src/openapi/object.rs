//! What CRDs make of existing objects: whether a version is served, whether an update is accepted, and what is dropped.
//!
//! Source: `pkg/registry/customresource/strategy.go` of `k8s.io/apiextensions-apiserver`, whose `ValidateUpdate` applies the
//! schema and its rules to the whole object.

use std::cell::OnceCell;
use std::collections::HashMap;

use kubernetes_cel::{Server, Step};
use serde_json::Value as Json;

use super::defaulting::{set_defaults, size_of};
use super::prune::unknown_field;
use super::validate::validate;
use crate::inputs::{WorkBudget, cel_schema};
use kube_yaml::{Path, Tree, Value};
use olm_model::crd::Schema;
use olm_model::kubernetes;

/// How many bytes of an object are copied and parsed in a step of the work.
const BYTES_A_STEP: usize = 4;

/// What becomes of an object.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Outcome {
    /// The name of its CRD.
    pub crd: String,
    /// Whether its version is served.
    pub is_served: bool,
    /// Why an update is rejected, the first reason.
    pub rejected: Option<String>,
    /// The path of the first field that is dropped.
    pub dropped: Option<String>,
    /// Whether validating it exceeded the limit on work, so that a reason may be missing.
    pub is_unverified: bool,
}

/// The CRDs of an operator. Schemas are read once for all objects, and the work for all objects together is limited.
pub struct Crds<'c> {
    kinds: HashMap<(&'c str, &'c str), Kind<'c>>,
    work_budget: WorkBudget<'c>,
    /// The oldest version, whose rejections all versions share.
    server: Server,
    parse: &'c dyn Fn(&Json) -> Tree,
}

struct Kind<'c> {
    crd: &'c str,
    /// The served versions by name; `None` for a version without a schema.
    versions: HashMap<&'c str, Option<Version<'c>>>,
}

struct Version<'c> {
    root: Value<'c>,
    read: OnceCell<ReadSchema<'c>>,
}

/// A schema in the forms of its readers.
struct ReadSchema<'c> {
    schema: Schema<'c>,
    json: Json,
    rules: kubernetes_cel::Schema<'c>,
}

impl<'c> Version<'c> {
    fn schema(&self) -> &ReadSchema<'c> {
        self.read.get_or_init(|| ReadSchema {
            schema: Schema::read(self.root),
            json: self.root.to_json(),
            rules: cel_schema(self.root),
        })
    }
}

impl<'c> Crds<'c> {
    /// Prepares CRDs; `parse` converts JSON into a tree.
    #[must_use]
    pub fn new(crds: impl Iterator<Item = Value<'c>>, parse: &'c dyn Fn(&Json) -> Tree) -> Self {
        let kinds = crds.map(|crd| {
            let text = |keys: &[&str]| crd.dig(keys).map(Value::text).unwrap_or_default();
            let served = crd
                .dig(&["spec", "versions"])
                .into_iter()
                .flat_map(Value::items)
                .filter(|version| version.get("served").and_then(Value::as_bool) == Some(true));
            let versions = served.map(|version| {
                let root = version.dig(&["schema", "openAPIV3Schema"]);
                let name = version.get("name").map(Value::text).unwrap_or_default();
                (name, root.map(|root| Version { root, read: OnceCell::new() }))
            });
            let kind = Kind { crd: text(&["metadata", "name"]), versions: versions.collect() };
            ((text(&["spec", "group"]), text(&["spec", "names", "kind"])), kind)
        });
        let server = Server::new(kubernetes::oldest().number());
        Self { kinds: kinds.collect(), work_budget: WorkBudget::share(1, 1), server, parse }
    }

    /// Returns what becomes of an object; `None` if no CRD defines its kind. Rules are evaluated with the object as the old one,
    /// too: an update that changes nothing.
    #[must_use]
    pub fn outcome(&self, object: &Json) -> Option<Outcome> {
        let text = |name: &str| object[name].as_str().unwrap_or_default();
        let (group, version) = text("apiVersion").split_once('/')?;
        let kind = self.kinds.get(&(group, text("kind")))?;
        let crd = kind.crd.to_owned();
        let Some(version) = kind.versions.get(version) else {
            return Some(Outcome { crd, ..Outcome::default() });
        };
        let outcome = Outcome { crd, is_served: true, ..Outcome::default() };
        let Some(version) = version else { return Some(outcome) };
        let schema = version.schema();
        let unverified = || Some(Outcome { is_unverified: true, ..outcome.clone() });
        if !self.work_budget.spend(size_of(object) / BYTES_A_STEP) {
            return unverified();
        }
        let mut object = object.clone();
        if set_defaults(&mut object, &schema.json, &self.work_budget).is_err() {
            return unverified();
        }
        let tree = (self.parse)(&object);
        let mismatch =
            validate(tree.root(), &schema.schema, &Path::ROOT, &self.work_budget, &self.server).err();
        let rejected = mismatch.map(|mismatch| located(&mismatch.path, &mismatch.message));
        let rejected = rejected.or_else(|| self.broken_rule(&schema.rules, &object));
        let dropped = unknown_field(tree.root(), &schema.schema, true, &Path::ROOT);
        let is_unverified = rejected.is_none() && self.work_budget.is_spent();
        Some(Outcome { rejected, dropped, is_unverified, ..outcome })
    }

    /// Returns what the first broken rule says of an object.
    fn broken_rule(&self, schema: &kubernetes_cel::Schema<'_>, object: &Json) -> Option<String> {
        let broken = self
            .work_budget
            .with_budget(|budget| kubernetes_cel::rule_broken_by_resource(schema, object, budget))?;
        let number = broken.rule + 1;
        let message = match broken.error {
            // What this program cannot afford says nothing about the API server.
            Some(_) if self.work_budget.is_spent() => return None,
            None => format!("breaks rule {number} of `x-kubernetes-validations`"),
            Some(error) => format!("rule {number} of `x-kubernetes-validations` fails: {error}"),
        };
        Some(located(&value_path(&broken.path), &message))
    }
}

fn located(path: &str, message: &str) -> String {
    let separator = if path.is_empty() { "" } else { ": " };
    format!("{path}{separator}{message}")
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn parse(json: &Json) -> Tree {
        kube_yaml::parse(json.to_string().as_bytes()).documents.remove(0)
    }

    fn crd() -> Tree {
        let schema = json!({"type": "object", "properties": {
            "size": {"type": "integer", "maximum": 5, "default": 1},
            "names": {"type": "array", "items": {"type": "string", "pattern": "^a+$"}},
        }});
        parse(&json!({
            "metadata": {"name": "gizmos.example.com"},
            "spec": {"group": "example.com", "names": {"kind": "Gizmo"}, "versions": [
                {"name": "v1", "served": true, "schema": {"openAPIV3Schema": schema}}, {"name": "v2", "served": false},
            ]},
        }))
    }

    fn object(version: &str, rest: &Json) -> Json {
        let mut object = json!({"apiVersion": format!("example.com/{version}"), "kind": "Gizmo"});
        let fields = rest.as_object().cloned().unwrap_or_default();
        object.as_object_mut().unwrap().extend(fields);
        object
    }

    #[test]
    fn objects_are_rejected_pruned_or_not_served() {
        let crd = crd();
        let kinds = Crds::new([crd.root()].into_iter(), &parse);
        let of = |version, rest| kinds.outcome(&object(version, &rest));
        let good = of("v1", json!({"names": ["a", "aa"]})).unwrap();
        assert_eq!(
            good,
            Outcome { crd: "gizmos.example.com".to_owned(), is_served: true, ..Outcome::default() }
        );
        assert_eq!(of("v1", json!({"size": 6})).unwrap().rejected.unwrap(), "size: must be at most 5");
        assert_eq!(of("v1", json!({"color": "red"})).unwrap().dropped.unwrap(), "color");
        assert!(!of("v2", json!({})).unwrap().is_served);
        assert_eq!(kinds.outcome(&json!({"apiVersion": "v1", "kind": "Gizmo"})), None);
    }

    #[test]
    fn rules_of_the_whole_resource_read_its_name() {
        let rule =
            "size(self.metadata.name) <= 3 && self.kind == 'Gizmo' && !has(self.metadata.generateName)";
        let schema = json!({"type": "object", "x-kubernetes-validations": [{"rule": rule}]});
        let crd = parse(&json!({
            "metadata": {"name": "gizmos.example.com"},
            "spec": {"group": "example.com", "names": {"kind": "Gizmo"}, "versions": [
                {"name": "v1", "served": true, "schema": {"openAPIV3Schema": schema}},
            ]},
        }));
        let kinds = Crds::new([crd.root()].into_iter(), &parse);
        let of = |name| kinds.outcome(&object("v1", &json!({"metadata": {"name": name}}))).unwrap();
        assert_eq!(of("abc").rejected, None);
        assert_eq!(of("abcd").rejected.unwrap(), "breaks rule 1 of `x-kubernetes-validations`");
    }

    #[test]
    fn the_work_for_all_objects_is_limited() {
        let crd = crd();
        let mut kinds = Crds::new([crd.root()].into_iter(), &parse);
        kinds.work_budget = WorkBudget::share(1, 10_000);
        let object = object("v1", &json!({"names": vec!["aaaa"; 100]}));
        let verified = (0..100).filter(|_| !kinds.outcome(&object).unwrap().is_unverified).count();
        assert!((1..99).contains(&verified), "{verified}");
    }
}

//! What an upgrade changes in one CRD, check by check as OLM v1 does before it upgrades.
//!
//! Source: operator-controller 1.11, `internal/operator-controller/rukpak/preflights/crdupgradesafety`, with the checks
//! of crdify that it calls. Each check reports at most once for each version and path, as there.

use std::collections::{BTreeSet, HashMap};

use serde::Serialize;
use serde_json::Value;

use super::schema::{Schema, canonical, flatten, same_json};
use olm_model::crd::compare_versions;

/// What a change means for the objects that exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Effect {
    /// The API server rejects the CRD, or may reject objects that are valid today.
    Rejects,
    /// The API server drops data of existing objects.
    Drops,
    /// Objects are read with other values than before.
    Changes,
    /// The API server no longer serves a version, a subresource or a field selector: requests for it fail.
    Unserved,
    /// Existing objects stay as they are; OLM v1 rejects the upgrade all the same.
    Harmless,
}

/// One change that OLM v1 rejects, or that the API server or clients notice.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[non_exhaustive]
pub struct Change {
    /// The check that finds it, as crdify names it: `type`, `existingFieldRemoval`; or `kind`, `servedVersionRemoval`,
    /// `servedVersionDisabled`, `subresourceRemoval` or `selectableFieldRemoval`, which OLM v1 does not check.
    pub check: &'static str,
    /// The version (`v1`), two served versions (`v1beta1 -> v1`), or empty if it is about the whole CRD.
    pub version: String,
    /// The field (`^.spec.size`), or upstream's text if it is about the whole CRD.
    pub path: String,
    /// What changed, for people: `10 -> 5`.
    pub detail: String,
    /// What it means for the objects that exist.
    pub effect: Effect,
}

/// The checks' own fields, sorted: what is not among them is `unhandled`.
const HANDLED: &[&str] = &[
    "default",
    "description",
    "enum",
    "items",
    "maxItems",
    "maxLength",
    "maxProperties",
    "maximum",
    "minItems",
    "minLength",
    "minProperties",
    "minimum",
    "nullable",
    "oneOf",
    "pattern",
    "properties",
    "required",
    "type",
];

/// Fields that people read and no server checks, sorted.
const DESCRIPTIVE: &[&str] = &["description", "example", "externalDocs", "id", "title"];

/// All changes between two CRDs of one name that OLM v1 rejects, sorted.
///
/// `stored` are the versions that objects are stored in (`status.storedVersions` of the installed CRD).
///
/// What two served versions of the old CRD differ in already is not reported again. OLM v1 compares the messages, which
/// name newly required fields in random order, so it almost always reports a known change again if there are more than two;
/// `strict` does as well.
pub(crate) fn changes(old: &Value, new: &Value, stored: &[String], strict: bool) -> Vec<Change> {
    let mut found = whole(old, new, stored);
    let old_versions = Versions::new(old);
    let new_versions = Versions::new(new);
    for (name, schema) in &old_versions.schemas {
        if let Some(other) = new_versions.schemas.get(name) {
            removed_fields(name, schema, other, &mut found);
            found.extend(compare(name, schema, other, strict));
        }
    }
    if new["spec"]["conversion"]["strategy"] != "Webhook" {
        let known: HashMap<_, BTreeSet<Change>> = old_versions
            .pairs()
            .into_iter()
            .map(|(name, old, new)| (name.clone(), compare(&name, old, new, strict)))
            .collect();
        for (name, old, new) in new_versions.pairs() {
            let known = known.get(&name);
            found.extend(compare(&name, old, new, strict).into_iter().filter(|change| {
                let unordered =
                    strict && change.check == "required" && change.detail.matches(", ").count() > 1;
                unordered || !known.is_some_and(|known| known.contains(change))
            }));
        }
    }
    let mut found: Vec<_> = found.into_iter().collect();
    found.sort();
    found
}

/// The storage version, in which objects are stored unless something else is known.
pub(crate) fn storage_versions(crd: &Value) -> Vec<String> {
    let versions = crd["spec"]["versions"].as_array().into_iter().flatten();
    versions
        .filter(|version| version["storage"] == true)
        .filter_map(|version| version["name"].as_str())
        .map(str::to_owned)
        .collect()
}

/// The names of a CRD's versions.
pub(crate) fn version_names(crd: &Value) -> BTreeSet<&str> {
    crd["spec"]["versions"].as_array().into_iter().flatten().filter_map(|v| v["name"].as_str()).collect()
}

/// Adds what OLM v1 does not check: a kind that changes, served versions that are removed or no longer served, and what requests to a
/// served version can no longer use. A version that objects are stored in is already reported.
pub(crate) fn add_unserved(old: &Value, new: &Value, stored: &[String], found: &mut Vec<Change>) {
    let mut add = |check, version: &str, detail, effect| {
        let path = String::new();
        found.push(Change { check, version: version.to_owned(), path, detail, effect });
    };
    let kind = |crd: &Value| crd["spec"]["names"]["kind"].as_str().unwrap_or_default().to_owned();
    let (before, after) = (kind(old), kind(new));
    if before != after && !before.is_empty() && !after.is_empty() {
        add("kind", "", format!("{before} -> {after}"), Effect::Rejects);
    }
    let served = |crd: &Value| -> BTreeSet<String> {
        let versions = crd["spec"]["versions"].as_array().into_iter().flatten();
        let names = versions.filter(|version| version["served"] == true).filter_map(|v| v["name"].as_str());
        names.map(str::to_owned).collect()
    };
    let names = version_names(new);
    let (served_before, served_after) = (served(old), served(new));
    let (before, after) = (requestable(old), requestable(new));
    for version in served_before.intersection(&served_after) {
        let (Some(before), Some(after)) = (before.get(version.as_str()), after.get(version.as_str())) else {
            continue;
        };
        for (check, what) in before.difference(after) {
            add(*check, version, format!("{version} {what}"), Effect::Unserved);
        }
    }
    for version in served_before.difference(&served_after) {
        if names.contains(version.as_str()) {
            add("servedVersionDisabled", version, version.clone(), Effect::Unserved);
        } else if !stored.contains(version) {
            add("servedVersionRemoval", version, version.clone(), Effect::Unserved);
        }
    }
    found.sort();
}

/// Returns what requests to each version can use besides its objects, each with the check that reports its removal: its subresources
/// and the fields that objects can be selected by.
fn requestable(crd: &Value) -> HashMap<&str, BTreeSet<(&'static str, String)>> {
    let mut found = HashMap::new();
    for version in crd["spec"]["versions"].as_array().into_iter().flatten() {
        let Some(name) = version["name"].as_str() else { continue };
        let subresources =
            ["status", "scale"].into_iter().filter(|name| version["subresources"][name].is_object());
        let fields = version["selectableFields"].as_array().into_iter().flatten();
        let fields = fields.filter_map(|field| field["jsonPath"].as_str());
        found.entry(name).or_insert_with(|| {
            subresources
                .map(|name| ("subresourceRemoval", name.to_owned()))
                .chain(fields.map(|path| ("selectableFieldRemoval", path.to_owned())))
                .collect()
        });
    }
    found
}

/// The schemas of one version by path.
type Flat<'c> = HashMap<String, Schema<'c>>;

/// The schemas of a CRD's versions, flattened once.
struct Versions<'c> {
    schemas: HashMap<&'c str, Flat<'c>>,
    /// The served ones, in Kubernetes' order.
    served: Vec<&'c str>,
}

impl<'c> Versions<'c> {
    fn new(crd: &'c Value) -> Self {
        let mut schemas = HashMap::new();
        let mut served = Vec::new();
        for version in crd["spec"]["versions"].as_array().into_iter().flatten() {
            let Some(name) = version["name"].as_str() else { continue };
            schemas.entry(name).or_insert_with(|| flatten(&version["schema"]["openAPIV3Schema"]));
            if version["served"] == true {
                served.push(name);
            }
        }
        served.sort_by(|a, b| compare_versions(a, b));
        Self { schemas, served }
    }

    /// Every pair of served versions, the lower first: `v1beta1 -> v1`.
    fn pairs(&self) -> Vec<(String, &Flat<'c>, &Flat<'c>)> {
        let mut pairs = Vec::new();
        for (index, lower) in self.served.iter().enumerate() {
            for higher in &self.served[index + 1..] {
                pairs.push((format!("{lower} -> {higher}"), &self.schemas[lower], &self.schemas[higher]));
            }
        }
        pairs
    }
}

/// The checks of the CRD as a whole: its scope and the versions that objects are stored in.
fn whole(old: &Value, new: &Value, stored: &[String]) -> BTreeSet<Change> {
    let mut found = BTreeSet::new();
    let mut add = |check, path, detail, effect| {
        found.insert(Change { check, version: String::new(), path, detail, effect });
    };
    let scope = |crd: &Value| crd["spec"]["scope"].as_str().unwrap_or_default().to_owned();
    let (old_scope, new_scope) = (scope(old), scope(new));
    if old_scope != new_scope {
        let path = format!("scope changed : {old_scope:?} -> {new_scope:?}");
        add("scope", path, format!("{old_scope} -> {new_scope}"), Effect::Rejects);
    }
    let versions = version_names(new);
    let removed: Vec<_> = stored.iter().map(String::as_str).filter(|name| !versions.contains(name)).collect();
    if !removed.is_empty() {
        let path = format!("stored versions removed : [{}]", removed.join(" "));
        add("storedVersionRemoval", path, removed.join(", "), Effect::Rejects);
    }
    found
}

/// `existingFieldRemoval`: paths of a version that its successor lacks.
fn removed_fields(version: &str, old: &Flat<'_>, new: &Flat<'_>, found: &mut BTreeSet<Change>) {
    for path in old.keys().filter(|path| !new.contains_key(*path)) {
        found.insert(Change {
            check: "existingFieldRemoval",
            version: String::new(),
            path: format!("removed field : {version}.{path}"),
            detail: format!("{version} {}", field(path)),
            effect: if is_alternative(path) { Effect::Harmless } else { Effect::Drops },
        });
    }
}

/// Whether a path is one of several alternative schemas of a field or below it, which declares no field itself.
fn is_alternative(path: &str) -> bool {
    [".allOf[", ".anyOf[", ".oneOf["].iter().any(|junctor| path.contains(junctor))
}

/// A path as people write it: `spec.size`.
pub(crate) fn field(path: &str) -> &str {
    path.strip_prefix("^.").unwrap_or(path)
}

/// All property checks for every path of the old version; one that is gone is compared with the empty schema.
fn compare(version: &str, old: &Flat<'_>, new: &Flat<'_>, strict: bool) -> BTreeSet<Change> {
    let mut found = BTreeSet::new();
    for (path, &old) in old {
        let new = new.get(path).copied().unwrap_or(Schema::EMPTY);
        property(old, new, strict, &mut |check, detail, effect| {
            found.insert(Change { check, version: version.to_owned(), path: path.clone(), detail, effect });
        });
    }
    found
}

/// The property checks of one path.
fn property(
    old: Schema<'_>,
    new: Schema<'_>,
    strict: bool,
    add: &mut impl FnMut(&'static str, String, Effect),
) {
    let (before, after) = (old.string("type"), new.string("type"));
    if before != after {
        let widened = before == "integer" && after == "number";
        add(
            "type",
            format!("{before:?} -> {after:?}"),
            if widened { Effect::Harmless } else { Effect::Rejects },
        );
    }
    default(old, new, add);
    enumeration(old, new, add);
    let known: BTreeSet<_> = old.list("required").iter().filter_map(Value::as_str).collect();
    let required: Vec<_> =
        new.list("required").iter().filter_map(Value::as_str).filter(|name| !known.contains(name)).collect();
    if !required.is_empty() {
        add("required", required.join(", "), Effect::Rejects);
    }
    for (check, tightens) in [
        ("minimum", f64::gt as fn(&f64, &f64) -> bool),
        ("minLength", f64::gt),
        ("minItems", f64::gt),
        ("minProperties", f64::gt),
        ("maximum", f64::lt),
        ("maxLength", f64::lt),
        ("maxItems", f64::lt),
        ("maxProperties", f64::lt),
    ] {
        let number = |schema: Schema<'_>| schema.value(check).and_then(Value::as_f64);
        match (number(old), number(new)) {
            (None, Some(bound)) => add(check, format!("none -> {bound}"), Effect::Rejects),
            (Some(before), Some(after)) if tightens(&after, &before) => {
                add(check, format!("{before} -> {after}"), Effect::Rejects);
            }
            _ => {}
        }
    }
    let (before, after) = (old.flag("nullable"), new.flag("nullable"));
    if before != after {
        add(
            "nullable",
            format!("{before} -> {after}"),
            if after { Effect::Harmless } else { Effect::Changes },
        );
    }
    let (before, after) = (old.string("pattern"), new.string("pattern"));
    if before != after {
        let effect = if after.is_empty() { Effect::Harmless } else { Effect::Rejects };
        add("pattern", format!("{before:?} -> {after:?}"), effect);
    }
    one_of(old, new, add);
    let mut unhandled = old.differences(new, HANDLED);
    // The schema of a map's values has a path of its own, where its changes are reported.
    if !strict && old.value("additionalProperties").is_some_and(Value::is_object) {
        unhandled.retain(|name| *name != "additionalProperties");
    }
    if !unhandled.is_empty() {
        let detail = unhandled.iter().map(|name| {
            let text =
                |schema: Schema<'_>| schema.value(name).map_or_else(|| "none".to_owned(), Value::to_string);
            format!("{name}: {} -> {}", text(old), text(new))
        });
        let effects = unhandled.iter().map(|name| unhandled_effect(name, old, new));
        let effect = effects.min().unwrap_or(Effect::Harmless);
        add("unhandled", detail.collect::<Vec<_>>().join("; "), effect);
    }
}

/// Returns what a change of a field without a check of its own means for the objects that exist.
fn unhandled_effect(name: &str, old: Schema<'_>, new: Schema<'_>) -> Effect {
    let is_set = |schema: Schema<'_>| schema.value(name).is_some_and(|value| *value != Value::Bool(false));
    match name {
        // The map type is how server-side apply merges; nothing is validated.
        name if DESCRIPTIVE.contains(&name) || name == "x-kubernetes-map-type" => Effect::Harmless,
        // `set` and `map` require unique items; `atomic` is the default and requires nothing.
        "x-kubernetes-list-type" => match new.string(name) {
            "set" | "map" => Effect::Rejects,
            _ => Effect::Harmless,
        },
        "x-kubernetes-list-map-keys" if new.string("x-kubernetes-list-type") != "map" => Effect::Harmless,
        "x-kubernetes-preserve-unknown-fields" if is_set(old) && !is_set(new) => Effect::Drops,
        "x-kubernetes-preserve-unknown-fields" => Effect::Harmless,
        "x-kubernetes-validations" => {
            let rules = |schema: Schema<'_>| -> BTreeSet<String> {
                schema.list(name).iter().map(|rule| rule["rule"].to_string()).collect()
            };
            if rules(new).is_subset(&rules(old)) { Effect::Harmless } else { Effect::Rejects }
        }
        // A constraint that is gone rejects nothing.
        "allOf"
        | "anyOf"
        | "exclusiveMaximum"
        | "exclusiveMinimum"
        | "format"
        | "multipleOf"
        | "not"
        | "uniqueItems"
        | "x-kubernetes-embedded-resource"
            if !is_set(new) =>
        {
            Effect::Harmless
        }
        "x-kubernetes-int-or-string" if is_set(new) => Effect::Harmless,
        _ => Effect::Rejects,
    }
}

fn default(old: Schema<'_>, new: Schema<'_>, add: &mut impl FnMut(&'static str, String, Effect)) {
    match (old.value("default"), new.value("default")) {
        (None, None) => {}
        (Some(before), Some(after)) if same_json(before, after) => {}
        (before, after) => {
            let text = |value: Option<&Value>| value.map_or_else(|| "none".to_owned(), Value::to_string);
            add("default", format!("{} -> {}", text(before), text(after)), Effect::Changes);
        }
    }
}

/// `enum`: added where there was none, or a value removed; additions are allowed.
fn enumeration(old: Schema<'_>, new: Schema<'_>, add: &mut impl FnMut(&'static str, String, Effect)) {
    let values = |schema: Schema<'_>| -> BTreeSet<String> {
        schema.list("enum").iter().map(Value::to_string).collect()
    };
    let (before, after) = (values(old), values(new));
    let join = |values: &mut dyn Iterator<Item = &String>| values.cloned().collect::<Vec<_>>().join(", ");
    if before.is_empty() && !after.is_empty() {
        add("enum", format!("any value -> {}", join(&mut after.iter())), Effect::Rejects);
    } else if before.difference(&after).next().is_some() {
        let effect = if after.is_empty() { Effect::Harmless } else { Effect::Rejects };
        add("enum", format!("removed {}", join(&mut before.difference(&after))), effect);
    }
}

/// `oneOf`: a subschema added or removed, compared without its own description and example.
fn one_of(old: Schema<'_>, new: Schema<'_>, add: &mut impl FnMut(&'static str, String, Effect)) {
    let (before, after) = (old.list("oneOf"), new.list("oneOf"));
    let set = |list: &[Value]| -> BTreeSet<String> {
        list.iter().map(|schema| canonical(schema, &["description", "example"])).collect()
    };
    if set(before) != set(after) {
        let effect = if after.is_empty() { Effect::Harmless } else { Effect::Rejects };
        add("oneOf", format!("{} -> {} subschemas", before.len(), after.len()), effect);
    }
}

/// Omits what existing objects do not notice, and follow-up errors: each removed field is reported once, as removed, and only the
/// uppermost of a removed subtree; what changes in alternative schemas is reported once, at their field.
pub(crate) fn keep_relevant(changes: &mut Vec<Change>) {
    let removed: BTreeSet<(String, String)> = changes
        .iter()
        .filter(|change| change.check == "existingFieldRemoval")
        .filter_map(|change| change.path.strip_prefix("removed field : ")?.split_once(".^"))
        .map(|(version, path)| (version.to_owned(), format!("^{path}")))
        .collect();
    let below = |version: &str, path: &str| {
        path.match_indices(['.', '['])
            .any(|(end, _)| removed.contains(&(version.to_owned(), path[..end].to_owned())))
    };
    changes.retain(|change| match change.check {
        "existingFieldRemoval" => {
            if change.effect == Effect::Harmless {
                return false;
            }
            let place = change.path.strip_prefix("removed field : ").and_then(|place| place.split_once(".^"));
            place.is_none_or(|(version, path)| !below(version, &format!("^{path}")))
        }
        _ => {
            change.effect != Effect::Harmless
                && !is_alternative(&change.path)
                && !removed.contains(&(change.version.clone(), change.path.clone()))
                && !below(&change.version, &change.path)
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn crd(schema: &Value) -> Value {
        let version =
            json!({"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}});
        json!({"spec": {"scope": "Namespaced", "versions": [version]}})
    }

    /// The checks that an upgrade of the field `f` fails.
    fn checks(old: &Value, new: &Value) -> Vec<(&'static str, Effect)> {
        let wrap = |field: &Value| crd(&json!({"type": "object", "properties": {"f": field}}));
        let found = changes(&wrap(old), &wrap(new), &["v1".to_owned()], true);
        found.into_iter().map(|change| (change.check, change.effect)).collect()
    }

    #[test]
    fn each_property_check_has_changes_that_fail_and_changes_that_pass() {
        use Effect::{Changes, Harmless, Rejects};
        let failing = [
            (json!({"type": "string"}), json!({"type": "integer"}), "type", Rejects),
            (json!({"type": "integer"}), json!({"type": "number"}), "type", Harmless),
            (json!({}), json!({"default": 1}), "default", Changes),
            (json!({"default": 1}), json!({}), "default", Changes),
            (json!({"default": 1}), json!({"default": 2}), "default", Changes),
            (json!({}), json!({"required": ["a"]}), "required", Rejects),
            (json!({}), json!({"enum": ["a"]}), "enum", Rejects),
            (json!({"enum": ["a", "b"]}), json!({"enum": ["a"]}), "enum", Rejects),
            (json!({"enum": ["a"]}), json!({}), "enum", Harmless),
            (json!({}), json!({"minimum": 0}), "minimum", Rejects),
            (json!({"minimum": 1}), json!({"minimum": 2}), "minimum", Rejects),
            (json!({"minLength": 1}), json!({"minLength": 2}), "minLength", Rejects),
            (json!({"minItems": 1}), json!({"minItems": 2}), "minItems", Rejects),
            (json!({"minProperties": 1}), json!({"minProperties": 2}), "minProperties", Rejects),
            (json!({"maximum": 2}), json!({"maximum": 1}), "maximum", Rejects),
            (json!({}), json!({"maxLength": 1}), "maxLength", Rejects),
            (json!({"maxItems": 2}), json!({"maxItems": 1}), "maxItems", Rejects),
            (json!({"maxProperties": 2}), json!({"maxProperties": 1}), "maxProperties", Rejects),
            (json!({}), json!({"nullable": true}), "nullable", Harmless),
            (json!({"nullable": true}), json!({}), "nullable", Changes),
            (json!({}), json!({"pattern": "a"}), "pattern", Rejects),
            (json!({"pattern": "a"}), json!({}), "pattern", Harmless),
            (json!({"format": "int32"}), json!({"format": "int64"}), "unhandled", Rejects),
            (json!({"title": "a"}), json!({"title": "b"}), "unhandled", Harmless),
            (json!({}), json!({"x-kubernetes-validations": [{"rule": "true"}]}), "unhandled", Rejects),
        ];
        for (old, new, check, effect) in &failing {
            assert_eq!(checks(old, new), [(*check, *effect)], "{old} -> {new}");
        }
        let passing = [
            (json!({"default": 1}), json!({"default": 1.0})),
            (json!({"required": ["a"]}), json!({})),
            (json!({"enum": ["a"]}), json!({"enum": ["a", "b"]})),
            (json!({"minimum": 1}), json!({"minimum": 0})),
            (json!({"minimum": 1}), json!({})),
            (json!({"maxLength": 1}), json!({"maxLength": 2})),
            (json!({"maxLength": 1}), json!({})),
            (json!({"description": "a"}), json!({"description": "b"})),
            (
                json!({"oneOf": [{"required": ["a"]}]}),
                json!({"oneOf": [{"required": ["a"], "description": "d"}]}),
            ),
            (json!({"title": ""}), json!({"nullable": false})),
        ];
        for (old, new) in &passing {
            assert_eq!(checks(old, new), [], "{old} -> {new}");
        }
    }

    #[test]
    fn a_removed_alternative_drops_no_data() {
        let old = json!({"oneOf": [{"required": ["a"]}]});
        let expected = [("existingFieldRemoval", Effect::Harmless), ("oneOf", Effect::Harmless)];
        assert_eq!(checks(&old, &json!({})), expected);
    }

    #[test]
    fn a_removed_field_is_reported_once_unless_strict() {
        let old = crd(
            &json!({"type": "object", "properties": {"a": {"type": "object", "properties": {"b": {"type": "string"}}}}}),
        );
        let new = crd(&json!({"type": "object", "properties": {}}));
        let mut found = changes(&old, &new, &["v1".to_owned()], true);
        let checks: Vec<_> = found.iter().map(|change| (change.check, change.path.as_str())).collect();
        assert_eq!(
            checks,
            [
                ("existingFieldRemoval", "removed field : v1.^.a"),
                ("existingFieldRemoval", "removed field : v1.^.a.b"),
                ("type", "^.a"),
                ("type", "^.a.b"),
            ]
        );
        keep_relevant(&mut found);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].path, "removed field : v1.^.a");
    }

    #[test]
    fn a_change_of_a_nested_schema_is_reported_once_unless_strict() {
        let wrap = |field: &Value| crd(&json!({"type": "object", "properties": {"f": field}}));
        let found = |old: &Value, new: &Value, strict| {
            let mut found = changes(&wrap(old), &wrap(new), &["v1".to_owned()], strict);
            if !strict {
                keep_relevant(&mut found);
            }
            let found = found.into_iter().map(|change| format!("{} {}", change.path, change.check));
            found.collect::<Vec<_>>()
        };
        let map = |values: Value| json!({"type": "object", "additionalProperties": values});
        let (old, new) = (map(json!({"type": "string"})), map(json!({"type": "string", "maxLength": 2})));
        assert_eq!(found(&old, &new, true), ["^.f.additionalProperties maxLength", "^.f unhandled"]);
        assert_eq!(found(&old, &new, false), ["^.f.additionalProperties maxLength"]);
        // What the values may be is only relaxed.
        assert_eq!(found(&new, &old, false), [""; 0]);
        let closed = json!({"type": "object"});
        assert_eq!(
            found(&old, &closed, false),
            ["removed field : v1.^.f.additionalProperties existingFieldRemoval"]
        );
        assert_eq!(found(&closed, &new, false), ["^.f unhandled"]);
        for (junctor, check) in [("anyOf", "unhandled"), ("oneOf", "oneOf")] {
            let with = |pattern: &str| json!({"type": "string", junctor: [{"pattern": pattern}]});
            assert_eq!(found(&with("a"), &with("b"), false), [format!("^.f {check}")], "{junctor}");
        }
    }

    #[test]
    fn what_requests_can_no_longer_use_is_reported_for_versions_that_stay_served() {
        let version = |name: &str, served: bool, more: Value| {
            let mut version = json!({"name": name, "served": served, "storage": name == "v1"});
            version.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            version
        };
        let with = |versions: [Value; 2]| json!({"spec": {"scope": "Namespaced", "versions": versions}});
        let all = json!({
            "subresources": {"status": {}, "scale": {"specReplicasPath": ".spec.a", "statusReplicasPath": ".status.a"}},
            "selectableFields": [{"jsonPath": ".spec.a"}, {"jsonPath": ".spec.b"}],
        });
        let old = with([version("v1", true, all.clone()), version("v1beta1", true, all.clone())]);
        let fewer = json!({"subresources": {"status": null}, "selectableFields": [{"jsonPath": ".spec.b"}]});
        let new = with([version("v1", true, fewer), version("v1beta1", false, json!({}))]);
        let found = |old: &Value, new: &Value| {
            let mut found = Vec::new();
            add_unserved(old, new, &["v1".to_owned()], &mut found);
            let found = found.into_iter().map(|change| (change.check, change.detail, change.effect));
            found.collect::<Vec<_>>()
        };
        assert_eq!(
            found(&old, &new),
            [
                ("selectableFieldRemoval", "v1 .spec.a".to_owned(), Effect::Unserved),
                ("servedVersionDisabled", "v1beta1".to_owned(), Effect::Unserved),
                ("subresourceRemoval", "v1 scale".to_owned(), Effect::Unserved),
                ("subresourceRemoval", "v1 status".to_owned(), Effect::Unserved),
            ]
        );
        assert_eq!(found(&new, &old), []);
        assert_eq!(found(&old, &old), []);
    }

    #[test]
    fn scope_and_stored_versions_are_checked() {
        let old = crd(&json!({"type": "object"}));
        let mut new = old.clone();
        new["spec"]["scope"] = json!("Cluster");
        new["spec"]["versions"][0]["name"] = json!("v2");
        let found = changes(&old, &new, &storage_versions(&old), true);
        let found: Vec<_> = found.iter().map(|change| (change.check, change.path.as_str())).collect();
        assert_eq!(
            found,
            [
                ("scope", "scope changed : \"Namespaced\" -> \"Cluster\""),
                ("storedVersionRemoval", "stored versions removed : [v1]"),
            ]
        );
    }

    #[test]
    fn served_versions_are_compared_with_each_other_unless_a_webhook_converts() {
        let version = |name: &str, schema: Value| json!({"name": name, "served": true, "storage": name == "v1", "schema": {"openAPIV3Schema": schema}});
        let string = json!({"type": "object", "properties": {"f": {"type": "string"}}});
        let old = json!({"spec": {"scope": "Namespaced", "versions": [version("v1beta1", string.clone())]}});
        let integer = json!({"type": "object", "properties": {"f": {"type": "integer"}}});
        let both = [version("v1", integer), version("v1beta1", string)];
        let mut new = json!({"spec": {"scope": "Namespaced", "versions": both}});
        let found = changes(&old, &new, &[], true);
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].check, found[0].version.as_str()), ("type", "v1beta1 -> v1"));
        // What the installed CRD has already is not reported again.
        assert_eq!(changes(&new, &new, &[], true), []);
        new["spec"]["conversion"] = json!({"strategy": "Webhook"});
        assert_eq!(changes(&old, &new, &[], true), []);
    }

    #[test]
    fn fields_that_reject_no_object_are_harmless() {
        let with = |field: &str, value: Value| {
            let mut schema = json!({"type": "object"});
            schema[field] = value;
            schema
        };
        let plain = json!({"type": "object"});
        let map = with("x-kubernetes-map-type", json!("atomic"));
        assert_eq!(checks(&plain, &map), [("unhandled", Effect::Harmless)]);
        let list = |kind: &str| with("x-kubernetes-list-type", json!(kind));
        assert_eq!(checks(&list("set"), &list("atomic")), [("unhandled", Effect::Harmless)]);
        assert_eq!(checks(&list("atomic"), &list("set")), [("unhandled", Effect::Rejects)]);
        let rule = |rule: &str| with("x-kubernetes-validations", json!([{"rule": rule}]));
        assert_eq!(checks(&rule("a"), &plain), [("unhandled", Effect::Harmless)]);
        assert_eq!(checks(&plain, &rule("a")), [("unhandled", Effect::Rejects)]);
        let open = with("x-kubernetes-preserve-unknown-fields", json!(true));
        assert_eq!(checks(&open, &plain), [("unhandled", Effect::Drops)]);
    }
}

//! OLM's constraints: what a property of type `olm.constraint` may say, alone and nested.
//!
//! Source: `pkg/constraints` of operator-framework/api, and OLM's resolver.

use crate::model::version::Range;
use crate::model::yaml::{Kind, Value};
use kubernetes_cel::check_constraint;

/// The largest constraint that OLM reads, in bytes of JSON.
const MAX_SIZE: usize = 2 << 16;

/// How deep constraints are followed.
const MAX_DEPTH: usize = 64;

/// Where a constraint is wrong, below it, and how.
type Wrong = (String, String);

/// Checks a constraint as OLM's resolver does.
pub(super) fn check(value: Value<'_>) -> Result<(), Wrong> {
    if value.to_json().to_string().len() > MAX_SIZE {
        return Err((String::new(), format!("the constraint takes more than {MAX_SIZE} bytes")));
    }
    decode(value, "", 0)?;
    resolve(value, "")
}

/// The fields of a constraint, and what is in each of them.
const FIELDS: [(&str, &[&str]); 7] = [
    ("failureMessage", &[]),
    ("cel", &["rule"]),
    ("package", &["packageName", "versionRange"]),
    ("gvk", &["group", "kind", "version"]),
    ("all", &["constraints"]),
    ("any", &["constraints"]),
    ("not", &["constraints"]),
];

/// Reads the constraint, as strictly as OLM does: with no field that it does not know.
fn decode(value: Value<'_>, path: &str, depth: usize) -> Result<(), Wrong> {
    let wrong = |path: &str, message: String| Err((path.to_owned(), message));
    if depth > MAX_DEPTH {
        return wrong(path, "constraints are nested too deep".to_owned());
    }
    if value.kind() != Kind::Object {
        return wrong(path, format!("a constraint is {}, where a map belongs", value.kind()));
    }
    for (key, value) in value.entries() {
        let key = key.text();
        let path = format!("{path}.{key}");
        let Some((_, fields)) = FIELDS.iter().find(|(name, _)| *name == key) else {
            return wrong(&path, format!("a constraint has no field '{key}'"));
        };
        match value.kind() {
            Kind::Null => continue,
            Kind::String if fields.is_empty() => continue,
            Kind::Object if !fields.is_empty() => {}
            kind => return wrong(&path, format!("'{key}' cannot be {kind}")),
        }
        for (name, value) in value.entries() {
            let name = name.text();
            let path = format!("{path}.{name}");
            if !fields.contains(&name) {
                return wrong(&path, format!("'{key}' has no field '{name}'"));
            }
            match (name, value.kind()) {
                (_, Kind::Null) => {}
                ("constraints", Kind::Array) => {
                    for (index, nested) in value.items().enumerate() {
                        decode(nested, &format!("{path}[{index}]"), depth + 1)?;
                    }
                }
                ("constraints", kind) => return wrong(&path, format!("'constraints' cannot be {kind}")),
                (_, Kind::String) => {}
                (_, kind) => {
                    return wrong(&path, format!("'{name}' is {kind}, where text belongs; quote it"));
                }
            }
        }
    }
    Ok(())
}

/// Makes a condition of the constraint; the first of its fields in this order counts.
fn resolve(value: Value<'_>, path: &str) -> Result<(), Wrong> {
    let get = |key: &str| value.get(key).filter(|value| !value.is_null());
    let text =
        |value: Value<'_>, key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    if get("gvk").is_some() {
        return Ok(());
    }
    if let Some(package) = get("package") {
        let range = text(package, "versionRange");
        return Range::parse(&range).map(drop).map_err(|error| {
            (format!("{path}.package.versionRange"), format!("'{range}' is no range of versions: {error}"))
        });
    }
    for key in ["all", "any", "not"] {
        if let Some(compound) = get(key) {
            let nested = compound.get("constraints").into_iter().flat_map(Value::items);
            for (index, nested) in nested.enumerate() {
                resolve(nested, &format!("{path}.{key}.constraints[{index}]"))?;
            }
            return Ok(());
        }
    }
    if let Some(cel) = get("cel") {
        return check_constraint(&text(cel, "rule"))
            .map_err(|error| (format!("{path}.cel.rule"), format!("the rule is no condition: {error}")));
    }
    Err((path.to_owned(), "the constraint is empty".to_owned()))
}

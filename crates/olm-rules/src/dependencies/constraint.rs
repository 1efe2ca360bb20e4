//! OLM's constraints: the values of properties of type `olm.constraint`, which can be nested.
//!
//! Source: `pkg/constraints` of operator-framework/api, and OLM's resolver.

use kube_yaml::{Kind, Value};
use kubernetes_cel::check_constraint;
use olm_model::report::suggest::did_you_mean;
use olm_model::version::Range;

/// Maximum size of a constraint in bytes of JSON.
const MAX_SIZE: usize = 2 << 16;

/// Maximum depth of nested constraints.
const MAX_DEPTH: usize = 64;

/// The path of an error below the constraint, and its message.
type Wrong = (String, String);

/// Validates a constraint as OLM's resolver does.
pub(crate) fn check(value: Value<'_>) -> Result<(), Wrong> {
    if value.to_json().to_string().len() > MAX_SIZE {
        return Err((String::new(), format!("the constraint exceeds the limit of {MAX_SIZE} bytes")));
    }
    decode(value, "", 0)?;
    resolve(value, "")
}

/// The fields of a constraint, and their fields.
const FIELDS: [(&str, &[&str]); 7] = [
    ("failureMessage", &[]),
    ("cel", &["rule"]),
    ("package", &["packageName", "versionRange"]),
    ("gvk", &["group", "kind", "version"]),
    ("all", &["constraints"]),
    ("any", &["constraints"]),
    ("not", &["constraints"]),
];

/// Decodes the constraint as strictly as OLM does: unknown fields are errors.
fn decode(value: Value<'_>, path: &str, depth: usize) -> Result<(), Wrong> {
    let wrong = |path: &str, message: String| Err((path.to_owned(), message));
    if depth > MAX_DEPTH {
        return wrong(path, format!("constraints are nested deeper than {MAX_DEPTH} levels"));
    }
    if value.kind() != Kind::Object {
        return wrong(path, format!("invalid constraint: expected a map, found {}", value.kind()));
    }
    for (key, value) in value.entries() {
        let key = key.text();
        let path = format!("{path}.{key}");
        let Some((_, fields)) = FIELDS.iter().find(|(name, _)| *name == key) else {
            return wrong(
                &path,
                format!("unknown field `{key}`{}", did_you_mean(key, FIELDS.iter().map(|(name, _)| *name))),
            );
        };
        match value.kind() {
            Kind::Null => continue,
            Kind::String if fields.is_empty() => continue,
            Kind::Object if !fields.is_empty() => {}
            kind => {
                let expected = if fields.is_empty() { "a string" } else { "a map" };
                return wrong(&path, format!("invalid `{key}`: expected {expected}, found {kind}"));
            }
        }
        for (name, value) in value.entries() {
            let name = name.text();
            let path = format!("{path}.{name}");
            if !fields.contains(&name) {
                return wrong(
                    &path,
                    format!(
                        "unknown field `{name}` of `{key}`{}",
                        did_you_mean(name, fields.iter().copied())
                    ),
                );
            }
            match (name, value.kind()) {
                (_, Kind::Null) => {}
                ("constraints", Kind::Array) => {
                    for (index, nested) in value.items().enumerate() {
                        decode(nested, &format!("{path}[{index}]"), depth + 1)?;
                    }
                }
                ("constraints", kind) => {
                    return wrong(&path, format!("invalid `constraints`: expected a list, found {kind}"));
                }
                (_, Kind::String) => {}
                (_, kind) => {
                    return wrong(&path, format!("invalid `{name}`: expected a string, found {kind}"));
                }
            }
        }
    }
    Ok(())
}

/// Validates the first field of the constraint that is set, in OLM's order.
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
            (format!("{path}.package.versionRange"), format!("invalid version range `{range}`: {error}"))
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
            .map_err(|error| (format!("{path}.cel.rule"), format!("invalid CEL rule: {error}")));
    }
    Err((
        path.to_owned(),
        "empty constraint: must set `gvk`, `package`, `cel`, `all`, `any` or `not`".to_owned(),
    ))
}

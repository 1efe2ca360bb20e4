//! Defaults that the API server sets when it reads an object.
//!
//! Source: `PruneNonNullableNullsWithoutDefaults` and `Default` of `pkg/apiserver/schema/defaulting` of
//! `k8s.io/apiextensions-apiserver`.

use serde_json::Value as Json;

use crate::inputs::WorkBudget;

/// The maximum size of the defaults that are set in one object, in bytes of JSON. etcd accepts objects of up to 1.5 MiB.
const MAX_SIZE: usize = 4 << 20;

/// How many bytes of a default are copied in a step.
const BYTES_A_STEP: usize = 8;

/// The defaults of an object exceed [`MAX_SIZE`], or the limit on work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TooLarge;

/// Sets the defaults of a schema in an object, and removes nulls that are neither allowed nor have a default.
///
/// # Errors
/// The defaults are too large, or `work_budget` does not suffice; some of them are set then.
pub(crate) fn set_defaults(
    object: &mut Json,
    schema: &Json,
    work_budget: &WorkBudget<'_>,
) -> Result<(), TooLarge> {
    Defaulter { left: MAX_SIZE, work_budget }.set(object, schema)
}

/// Returns the size of a value in bytes of JSON, about.
pub(crate) fn size_of(value: &Json) -> usize {
    usize::MAX - size(value, usize::MAX).unwrap_or_default()
}

struct Defaulter<'e, 'b> {
    /// How many bytes of defaults may still be set.
    left: usize,
    work_budget: &'e WorkBudget<'b>,
}

impl Defaulter<'_, '_> {
    fn set(&mut self, value: &mut Json, schema: &Json) -> Result<(), TooLarge> {
        match value {
            Json::Object(fields) => {
                let properties = schema["properties"].as_object().map_or(0, serde_json::Map::len);
                self.spend(fields.len() + properties)?;
                let below = |name: &str| {
                    let property = &schema["properties"][name];
                    if property.is_null() { &schema["additionalProperties"] } else { property }
                };
                fields.retain(|name, value| {
                    !(is_unset(value, below(name)) && below(name)["default"].is_null())
                });
                for (name, property) in schema["properties"].as_object().into_iter().flatten() {
                    let default = &property["default"];
                    if !default.is_null() && fields.get(name).is_none_or(|value| is_unset(value, property)) {
                        fields.insert(name.clone(), self.copy(default)?);
                    }
                }
                fields.iter_mut().try_for_each(|(name, value)| self.within(value, below(name)))
            }
            Json::Array(items) => {
                self.spend(items.len())?;
                items.iter_mut().try_for_each(|item| self.within(item, &schema["items"]))
            }
            _ => Ok(()),
        }
    }

    /// Sets the defaults of a value of a map or a list.
    fn within(&mut self, value: &mut Json, schema: &Json) -> Result<(), TooLarge> {
        if is_unset(value, schema) {
            *value = self.copy(&schema["default"])?;
        }
        self.set(value, schema)
    }

    fn copy(&mut self, default: &Json) -> Result<Json, TooLarge> {
        let left = size(default, self.left).ok_or(TooLarge)?;
        self.spend((self.left - left) / BYTES_A_STEP)?;
        self.left = left;
        Ok(default.clone())
    }

    fn spend(&self, steps: usize) -> Result<(), TooLarge> {
        if self.work_budget.spend(steps) { Ok(()) } else { Err(TooLarge) }
    }
}

/// Whether a value is null and its schema does not allow that.
fn is_unset(value: &Json, schema: &Json) -> bool {
    value.is_null() && schema.is_object() && schema["nullable"] != true
}

/// Returns what is left of a number of bytes after a value; `None` if it is larger.
fn size(value: &Json, left: usize) -> Option<usize> {
    /// The bytes of a number, a literal, or the punctuation of a field.
    const SCALAR: usize = 8;
    let left = left.checked_sub(SCALAR)?;
    match value {
        Json::String(text) => left.checked_sub(text.len()),
        Json::Array(items) => items.iter().try_fold(left, |left, item| size(item, left)),
        Json::Object(fields) => {
            fields.iter().try_fold(left, |left, (name, value)| size(value, left.checked_sub(name.len())?))
        }
        _ => Some(left),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn defaulted(mut object: Json, schema: &Json) -> Json {
        set_defaults(&mut object, schema, &WorkBudget::share(1, 1)).unwrap();
        object
    }

    #[test]
    fn defaults_are_set_at_every_depth() {
        let item = json!({"type": "object", "default": {}, "properties": {"port": {"default": 80}}});
        let schema = json!({"properties": {
            "spec": {"default": {}, "properties": {"size": {"default": 1}}},
            "list": {"items": item}, "map": {"additionalProperties": item},
        }});
        assert_eq!(defaulted(json!({}), &schema), json!({"spec": {"size": 1}}));
        let object =
            json!({"spec": {"size": 2}, "list": [{"port": 1}, null, {}], "map": {"a": null, "b": {}}});
        let port = |port: u32| json!({"port": port});
        assert_eq!(
            defaulted(object, &schema),
            json!({"spec": {"size": 2}, "list": [port(1), port(80), port(80)], "map": {"a": port(80), "b": port(80)}})
        );
    }

    #[test]
    fn nulls_are_removed_unless_they_are_allowed_or_unknown() {
        let schema = json!({"properties": {
            "gone": {"type": "string"}, "kept": {"nullable": true}, "set": {"default": 1},
            "map": {"additionalProperties": {"type": "string"}},
        }});
        let object = json!({"gone": null, "kept": null, "set": null, "unknown": null, "map": {"a": null}});
        assert_eq!(defaulted(object, &schema), json!({"kept": null, "set": 1, "unknown": null, "map": {}}));
    }

    #[test]
    fn defaults_are_limited() {
        let item = json!({"properties": {"text": {"default": "x".repeat(1 << 10)}}});
        let schema = json!({"properties": {"list": {"items": item}}});
        let of = |count: usize| json!({"list": vec![json!({}); count]});
        let all = WorkBudget::share(1, 1);
        assert_eq!(set_defaults(&mut of(1000), &schema, &all), Ok(()));
        assert_eq!(set_defaults(&mut of(5000), &schema, &all), Err(TooLarge));
        let little = WorkBudget::share(1, 1000);
        assert_eq!(set_defaults(&mut of(50), &schema, &little), Ok(()));
        assert_eq!(set_defaults(&mut of(1000), &schema, &little), Err(TooLarge), "work is limited, too");
    }
}

//! The fix of a scalar that has the wrong type only because of its quotes, or for want of them.

use crate::prelude::*;
use kube_yaml::{DecodeError, Kind, Scalar, Value, resolve};
use olm_model::Object;

/// Returns the fix of a value that cannot be decoded: `1.0` where a string is expected gets quotes, `"true"` where a boolean
/// is expected loses them.
pub(crate) fn fix(object: &Object<'_>, error: &DecodeError) -> Option<Fix> {
    let value = scalar_at(object.root, error)?;
    let text = value.text();
    let fix = |change| Fix::at(Safety::Safe, error.position, &error.path, change);
    let expects = |what: &str| error.message.starts_with(&format!("expected {what}"));
    match value.kind() {
        Kind::Boolean | Kind::Integer | Kind::Number if expects("a string") => {
            Some(fix(Change::SetString(text.to_owned())))
        }
        Kind::String => {
            match resolve(text) {
                // Of YAML 1.1's booleans, everybody knows these.
                Scalar::Bool(value) if expects("a boolean") => {
                    Some(fix(Change::SetLiteral(value.to_string())))
                }
                Scalar::Int(_) if INTEGERS.iter().any(|what| expects(what)) => {
                    Some(fix(Change::SetLiteral(text.to_owned())))
                }
                _ => None,
            }
        }
        _ => None,
    }
}

/// What errors call integers.
const INTEGERS: [&str; 3] = ["an integer", "a 32-bit integer", "a 64-bit integer"];

/// Returns the scalar at the position of an error.
fn scalar_at<'a>(root: Value<'a>, error: &DecodeError) -> Option<Value<'a>> {
    let mut pending = vec![root];
    while let Some(value) = pending.pop() {
        let is_scalar = !matches!(value.kind(), Kind::Array | Kind::Object);
        if is_scalar && value.position() == error.position {
            return Some(value);
        }
        pending.extend(value.entries().map(|(_, value)| value));
        pending.extend(value.items());
    }
    None
}

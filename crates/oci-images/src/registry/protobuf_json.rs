//! Values in the JSON form of protobuf, which sigstore's documents have: bytes are in base64, and numbers of 64 bits are strings.
//!
//! Source: "`ProtoJSON` Format" of protobuf; `protos/sigstore_common.proto` of sigstore/protobuf-specs for certificates.

use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::Value;

/// Bytes, encoded.
#[derive(Deserialize)]
#[serde(transparent)]
pub(super) struct Base64(String);

impl Base64 {
    /// Returns the bytes; `None` if they are not in base64.
    pub(super) fn decode(&self) -> Option<Vec<u8>> {
        STANDARD.decode(&self.0).ok()
    }
}

/// A certificate.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RawBytes {
    pub(super) raw_bytes: Base64,
}

/// A certificate, and those that it leads to.
#[derive(Deserialize)]
pub(super) struct Chain {
    pub(super) certificates: Vec<RawBytes>,
}

/// Returns bytes; `None` if the value is not a string in base64.
pub(super) fn bytes(value: &Value) -> Option<Vec<u8>> {
    STANDARD.decode(value.as_str()?).ok()
}

/// Returns a number; `None` if the value is not a number of this type. Zeros are omitted, such as the index of the first entry of a
/// log.
pub(super) fn number<N: Default + FromStr>(value: &Value) -> Option<N> {
    match value {
        Value::Null => Some(N::default()),
        Value::String(text) => text.parse().ok(),
        Value::Number(number) => number.to_string().parse().ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn numbers_are_strings_or_numbers_within_their_type() {
        for (value, signed, unsigned) in [
            (Value::Null, Some(0), Some(0)),
            (json!("7"), Some(7), Some(7)),
            (json!(7), Some(7), Some(7)),
            (json!(-7), Some(-7), None),
            (json!("-9223372036854775808"), Some(i64::MIN), None),
            (json!(u64::MAX), None, Some(u64::MAX)),
            (json!("18446744073709551616"), None, None),
            (json!("9".repeat(100_000)), None, None),
            (json!(1e300), None, None),
            (json!(0.5), None, None),
            (json!("1e3"), None, None),
            (json!(""), None, None),
            (json!([7]), None, None),
            (json!(true), None, None),
        ] {
            assert_eq!((number(&value), number(&value)), (signed, unsigned), "{value:.40}");
        }
    }
}

//! Decoding of values into typed objects as Go's JSON decoder does it: null leaves a field at its zero value, unknown
//! fields are dropped (and recorded), a value of the wrong type is an error with its position.
//!
//! Source: `sigs.k8s.io/json`, which the API server and OLM decode with (case-sensitive names).

use std::cell::{Cell, RefCell};
use std::fmt;

use serde::de::{self, DeserializeSeed, MapAccess, SeqAccess, Visitor};
use serde::forward_to_deserialize_any;

use super::path::Path;
use super::position::Position;
use super::tree::{Kind, Value};
use crate::quantity::{self, Quantity};
use crate::text::shortened;

/// How many bytes the elements of all lists and maps of one object and its unknown fields may take in memory. A list of
/// `{}` takes three bytes an element as JSON, and a thousand times as many when it is decoded.
const MAX_DECODED: usize = 64 << 20;

/// The reason why a value cannot be decoded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {message}")]
pub struct DecodeError {
    /// The field's path; empty until the error has passed through the decoder.
    pub path: String,
    /// The error, for a finding's message.
    pub message: String,
    /// The position of the value.
    pub position: Position,
}

impl de::Error for DecodeError {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self { path: String::new(), message: message.to_string(), position: Position::default() }
    }

    fn invalid_type(unexpected: de::Unexpected<'_>, expected: &dyn de::Expected) -> Self {
        let found = match unexpected {
            de::Unexpected::Bool(_) => Kind::Boolean,
            de::Unexpected::Unsigned(_) | de::Unexpected::Signed(_) => Kind::Integer,
            de::Unexpected::Float(_) => Kind::Number,
            de::Unexpected::Str(_) => Kind::String,
            de::Unexpected::Unit | de::Unexpected::Option => Kind::Null,
            de::Unexpected::Seq => Kind::Array,
            de::Unexpected::Map | de::Unexpected::StructVariant => Kind::Object,
            _ => return Self::custom(format_args!("expected {expected}")),
        };
        // k8s-openapi names a type here.
        let expected = match expected.to_string() {
            name if name == "IntOrString" => "an integer or a string".to_owned(),
            name => name,
        };
        Self::custom(format_args!("expected {expected}, found {found}"))
    }
}

impl DecodeError {
    fn at(mut self, path: &Path<'_>, position: Position) -> Self {
        if self.path.is_empty() && self.position == Position::default() {
            self.path = path.to_string();
            self.position = position;
        }
        self
    }
}

/// A field that the type does not declare: Kubernetes and OLM drop it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unknown {
    /// The field's path, which ends in its name.
    pub path: String,
    /// The field's name.
    pub name: String,
    /// The position of the field's name.
    pub position: Position,
    /// The fields that the type declares.
    pub declared: &'static [&'static str],
}

/// A typed object and its unknown fields.
#[derive(Debug, Clone)]
pub struct Decoded<T> {
    /// The object.
    pub object: T,
    /// The fields that the type does not declare, in the order of the file.
    pub unknown: Vec<Unknown>,
    /// About how many bytes the object takes in memory, without the text of its strings.
    pub size: usize,
}

/// What all values of one object share while they are decoded.
#[derive(Debug)]
struct Shared {
    unknown: RefCell<Vec<Unknown>>,
    /// The bytes that are decoded so far.
    size: Cell<usize>,
    ignore_case: bool,
}

impl Shared {
    /// Counts `bytes` more.
    ///
    /// # Errors
    /// [`MAX_DECODED`] is exceeded.
    fn grow(&self, bytes: usize) -> Result<(), DecodeError> {
        self.size.set(self.size.get().saturating_add(bytes));
        if self.size.get() <= MAX_DECODED {
            return Ok(());
        }
        let limit = MAX_DECODED >> 20;
        Err(de::Error::custom(format_args!("too many elements: the object exceeds {limit} MiB in memory")))
    }
}

/// Decodes `value`, whose path is `path`, into a `T`.
///
/// # Errors
/// The first value whose type does not match its field.
pub fn decode<T: de::DeserializeOwned>(value: Value<'_>, path: &Path<'_>) -> Result<Decoded<T>, DecodeError> {
    decode_as(value, path, false)
}

/// Decodes `value` as [`decode`] does, but also takes fields whose names differ in case, as Go's `encoding/json` does. Of
/// several such fields, the one in the right case counts, or else the first. Those in another case are still listed as
/// unknown.
///
/// # Errors
/// The first value whose type does not match its field.
pub fn decode_ignoring_case<T: de::DeserializeOwned>(
    value: Value<'_>,
    path: &Path<'_>,
) -> Result<Decoded<T>, DecodeError> {
    decode_as(value, path, true)
}

fn decode_as<T: de::DeserializeOwned>(
    value: Value<'_>,
    path: &Path<'_>,
    ignore_case: bool,
) -> Result<Decoded<T>, DecodeError> {
    let shared = Shared { unknown: RefCell::default(), size: Cell::new(size_of::<T>()), ignore_case };
    let decoder = Deserializer { value, key: None, path, shared: &shared, declared: &[] };
    let object = T::deserialize(decoder).map_err(|error| error.at(path, value.position()))?;
    Ok(Decoded { object, unknown: shared.unknown.into_inner(), size: shared.size.get() })
}

#[derive(Clone, Copy)]
struct Deserializer<'a, 'p> {
    value: Value<'a>,
    /// The key of the value, if it is the value of a map.
    key: Option<Value<'a>>,
    path: &'p Path<'p>,
    shared: &'p Shared,
    /// The fields of the struct that the value is a field of, if it is one.
    declared: &'static [&'static str],
}

/// The maximum number of characters of a value in an error.
const MAX_FOUND: usize = 40;

impl Deserializer<'_, '_> {
    fn wrong(self, expected: &str) -> DecodeError {
        let kind = self.value.kind();
        // An integer that is out of range.
        let found = match kind {
            Kind::Integer if expected.ends_with("integer") => {
                shortened(self.value.text(), MAX_FOUND).into_owned()
            }
            _ => kind.to_string(),
        };
        DecodeError {
            path: self.path.to_string(),
            message: format!("expected {expected}, found {found}"),
            position: self.value.position(),
        }
    }

    fn signed<T: TryFrom<i64>>(self, zero: T, name: &str) -> Result<T, DecodeError> {
        if self.value.is_null() {
            return Ok(zero);
        }
        self.value.as_i64().and_then(|value| value.try_into().ok()).ok_or_else(|| self.wrong(name))
    }

    fn unsigned<T: TryFrom<u64>>(self, zero: T, name: &str) -> Result<T, DecodeError> {
        if self.value.is_null() {
            return Ok(zero);
        }
        self.value.as_u64().and_then(|value| value.try_into().ok()).ok_or_else(|| self.wrong(name))
    }
}

impl<'de> de::Deserializer<'de> for Deserializer<'_, '_> {
    type Error = DecodeError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        match self.value.kind() {
            Kind::Null => visitor.visit_unit(),
            Kind::Boolean => visitor.visit_bool(self.value.as_bool().unwrap_or_default()),
            Kind::Integer | Kind::Number => match (self.value.as_i64(), self.value.as_u64()) {
                (Some(value), _) => visitor.visit_i64(value),
                (None, Some(value)) => visitor.visit_u64(value),
                (None, None) => visitor.visit_f64(self.value.as_f64().unwrap_or_default()),
            },
            Kind::String => visitor.visit_str(self.value.text()),
            Kind::Array => self.deserialize_seq(visitor),
            Kind::Object => self.deserialize_map(visitor),
        }
        .map_err(|error| error.at(self.path, self.value.position()))
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        match self.value.kind() {
            Kind::Null => visitor.visit_bool(false),
            Kind::Boolean => visitor.visit_bool(self.value.as_bool().unwrap_or_default()),
            _ => Err(self.wrong("a boolean")),
        }
    }

    fn deserialize_i8<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        visitor.visit_i8(self.signed(0, "an 8-bit integer")?)
    }

    fn deserialize_i16<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        visitor.visit_i16(self.signed(0, "a 16-bit integer")?)
    }

    fn deserialize_i32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        visitor.visit_i32(self.signed(0, "a 32-bit integer")?)
    }

    fn deserialize_i64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        visitor.visit_i64(self.signed(0, "a 64-bit integer")?)
    }

    fn deserialize_u8<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        visitor.visit_u8(self.unsigned(0, "an 8-bit unsigned integer")?)
    }

    fn deserialize_u16<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        visitor.visit_u16(self.unsigned(0, "a 16-bit unsigned integer")?)
    }

    fn deserialize_u32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        visitor.visit_u32(self.unsigned(0, "a 32-bit unsigned integer")?)
    }

    fn deserialize_u64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        visitor.visit_u64(self.unsigned(0, "a 64-bit unsigned integer")?)
    }

    fn deserialize_f32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        self.deserialize_f64(visitor)
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        match self.value.as_f64() {
            Some(value) => visitor.visit_f64(value),
            None if self.value.is_null() => visitor.visit_f64(0.0),
            None => Err(self.wrong("a number")),
        }
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        match self.value.kind() {
            Kind::Null => visitor.visit_str(""),
            Kind::String => visitor
                .visit_str(self.value.text())
                .map_err(|error: DecodeError| error.at(self.path, self.value.position())),
            _ => Err(self.wrong("a string")),
        }
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        self.deserialize_str(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        if self.value.is_null() { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        // A quantity may be written as a number: Go's decoder takes its digits, and null for zero.
        if name == "Quantity" {
            let digits = match self.value.kind() {
                Kind::Null => "0".to_owned(),
                Kind::String => self.value.text().to_owned(),
                Kind::Integer | Kind::Number => self.value.to_json().to_string(),
                Kind::Boolean | Kind::Array | Kind::Object => return Err(self.wrong("a quantity")),
            };
            if Quantity::parse(&digits).is_none() {
                return Err(DecodeError {
                    path: self.path.to_string(),
                    message: quantity::invalid(&digits),
                    position: self.value.position(),
                });
            }
            return visitor.visit_newtype_struct(de::value::StringDeserializer::new(digits));
        }
        visitor
            .visit_newtype_struct(self)
            .map_err(|error: DecodeError| match (name, self.value.kind()) {
                ("Time" | "MicroTime", Kind::String) => {
                    let text = self.value.text();
                    de::Error::custom(format_args!("invalid time `{text}`: must be in RFC 3339 format"))
                }
                _ => error,
            })
            .map_err(|error: DecodeError| error.at(self.path, self.value.position()))
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        match self.value.kind() {
            Kind::Null | Kind::Array => visitor.visit_seq(Items {
                rest: self.value.items().enumerate(),
                path: self.path,
                shared: self.shared,
            }),
            _ => Err(self.wrong("a list")),
        }
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        match self.value.kind() {
            Kind::Null | Kind::Object => visitor.visit_map(Entries {
                rest: self.value.unique_entries(),
                current: None,
                path: self.path,
                shared: self.shared,
                declared: None,
                map: self.value,
                found: Vec::new(),
            }),
            _ => Err(self.wrong("a map")),
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        match self.value.kind() {
            Kind::Null | Kind::Object => visitor
                .visit_map(Entries {
                    rest: self.value.unique_entries(),
                    current: None,
                    path: self.path,
                    shared: self.shared,
                    declared: Some(fields),
                    map: self.value,
                    found: Vec::new(),
                })
                .map_err(|error: DecodeError| error.at(self.path, self.value.position())),
            _ => Err(self.wrong("a map")),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        match self.value.kind() {
            Kind::String | Kind::Null => visitor
                .visit_enum(de::value::StrDeserializer::new(self.value.text()))
                .map_err(|error: DecodeError| error.at(self.path, self.value.position())),
            _ => Err(self.wrong("a string")),
        }
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        let key = self.key.unwrap_or(self.value);
        let path = self.path.to_string();
        self.shared.grow(size_of::<Unknown>() + path.len() + key.text().len())?;
        self.shared.unknown.borrow_mut().push(Unknown {
            path,
            name: key.text().to_owned(),
            position: key.position(),
            declared: self.declared,
        });
        visitor.visit_unit()
    }

    forward_to_deserialize_any! {
        i128 u128 char bytes byte_buf unit unit_struct tuple tuple_struct identifier
    }
}

struct Items<'a, 'p, I: Iterator<Item = (usize, Value<'a>)>> {
    rest: I,
    path: &'p Path<'p>,
    shared: &'p Shared,
}

impl<'de, 'a, I: Iterator<Item = (usize, Value<'a>)>> SeqAccess<'de> for Items<'a, '_, I> {
    type Error = DecodeError;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, DecodeError> {
        let Some((index, value)) = self.rest.next() else { return Ok(None) };
        let path = self.path.index(index);
        self.shared
            .grow(size_of::<T::Value>())
            .and_then(|()| {
                let shared = self.shared;
                seed.deserialize(Deserializer { value, key: None, path: &path, shared, declared: &[] })
            })
            .map(Some)
            .map_err(|error| error.at(&path, value.position()))
    }
}

struct Entries<'a, 'p, I: Iterator<Item = (Value<'a>, Value<'a>)>> {
    rest: I,
    current: Option<(Value<'a>, Value<'a>)>,
    path: &'p Path<'p>,
    shared: &'p Shared,
    /// The fields of the struct; none for a map.
    declared: Option<&'static [&'static str]>,
    /// The whole map.
    map: Value<'a>,
    /// The fields that were found in another case.
    found: Vec<&'static str>,
}

impl<'a, I: Iterator<Item = (Value<'a>, Value<'a>)>> Entries<'a, '_, I> {
    /// Returns the declared field that `name` is in another case, unless the map has that field, too.
    fn in_another_case(&mut self, name: &str) -> Option<&'static str> {
        let declared = self.declared.filter(|_| self.shared.ignore_case)?;
        if declared.contains(&name) {
            return None;
        }
        let meant = declared.iter().copied().find(|field| field.eq_ignore_ascii_case(name))?;
        if self.map.get(meant).is_some() || self.found.contains(&meant) {
            return None;
        }
        self.found.push(meant);
        Some(meant)
    }
}

impl<'de, 'a, I: Iterator<Item = (Value<'a>, Value<'a>)>> MapAccess<'de> for Entries<'a, '_, I> {
    type Error = DecodeError;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, DecodeError> {
        self.current = self.rest.next();
        let Some((key, _)) = self.current else { return Ok(None) };
        if let Some(meant) = self.in_another_case(key.text()) {
            self.shared.unknown.borrow_mut().push(Unknown {
                path: self.path.field(key.text()).to_string(),
                name: key.text().to_owned(),
                position: key.position(),
                declared: self.declared.unwrap_or_default(),
            });
            return seed.deserialize(de::value::StrDeserializer::new(meant)).map(Some);
        }
        seed.deserialize(de::value::StrDeserializer::new(key.text())).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, DecodeError> {
        let Some((key, value)) = self.current.take() else {
            return Err(de::Error::custom("value requested before its key"));
        };
        let path =
            if self.declared.is_some() { self.path.field(key.text()) } else { self.path.key(key.text()) };
        let (declared, shared) = (self.declared.unwrap_or_default(), self.shared);
        // A field of a struct is part of the struct's size, unless the struct keeps it in a box.
        let grown = if self.declared.is_some() { Ok(()) } else { shared.grow(size_of::<V::Value>()) };
        grown
            .and_then(|()| {
                seed.deserialize(Deserializer { value, key: Some(key), path: &path, shared, declared })
            })
            .map_err(|error| error.at(&path, value.position()))
    }
}

//! The description of a Go type, and how an object takes its form.

use serde_json::{Map, Value as Json};

use crate::report::{MAX_NOTES, clip};
use kube_yaml::Quantity;
use kube_yaml::{DecodeError, Kind, Path, Position, Value, single_text};

/// What a field holds.
#[derive(Debug, Clone, Copy)]
pub(crate) enum GoType {
    /// A string; numbers and booleans are converted.
    Text,
    Bool,
    Int,
    Float,
    /// A quantity such as `500m` or `1Gi`, written in its canonical form.
    Quantity,
    IntOrText,
    /// Any value, unchanged.
    Any,
    List(&'static GoType),
    Map(&'static GoType),
    Struct(&'static GoStruct),
    /// A schema or a boolean.
    StructOrBool(&'static GoStruct),
    /// A schema, or a list of schemas.
    StructOrList(&'static GoStruct),
    /// A schema, or a list of field names.
    StructOrTexts(&'static GoStruct),
}

/// The fields of a type.
#[derive(Debug)]
pub(crate) struct GoStruct {
    /// The fields of the type itself, sorted by name.
    own: &'static [Field],
    /// An embedded type, whose fields are fields of the type.
    embedded: Option<&'static GoStruct>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Field {
    name: &'static str,
    shape: GoType,
    presence: Presence,
}

/// When a field is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Presence {
    /// Always.
    Always,
    /// Unless it is zero (`omitempty`). In Go, structs are never zero.
    OmitEmpty,
    /// If it is set, even to zero (a pointer).
    Pointer,
}

pub(crate) const fn always(name: &'static str, shape: GoType) -> Field {
    Field { name, shape, presence: Presence::Always }
}

pub(crate) const fn omitempty(name: &'static str, shape: GoType) -> Field {
    Field { name, shape, presence: Presence::OmitEmpty }
}

pub(crate) const fn pointer(name: &'static str, shape: GoType) -> Field {
    Field { name, shape, presence: Presence::Pointer }
}

/// What was not taken over as it stands in the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Remark {
    pub(crate) path: String,
    pub(crate) position: Position,
    pub(crate) change: Change,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Change {
    /// An unknown field was dropped.
    Dropped,
    /// The name of a field differs in case: it was decoded as this field.
    Renamed(&'static str),
    /// A scalar of another type was converted to a string.
    Quoted {
        /// How it is written in the file.
        written: String,
        /// The string.
        text: String,
    },
}

/// What was not taken over, the first [`MAX_NOTES`] of it.
#[derive(Debug, Default)]
pub(crate) struct Remarks {
    pub(crate) list: Vec<Remark>,
    /// The number of dropped or renamed fields that are not in the list.
    pub(crate) omitted: usize,
}

/// Returns the object at `value` as the Go type `fields` would hold it, and what differs from the file.
///
/// # Errors
/// The first value that does not fit its field's type.
pub(crate) fn conform(value: Value<'_>, fields: &'static GoStruct) -> Result<(Json, Remarks), DecodeError> {
    let mut walk = Walk { remarks: Remarks::default() };
    let object = walk.fields(value, fields, &Path::ROOT)?;
    Ok((object, walk.remarks))
}

struct Walk {
    remarks: Remarks,
}

impl Walk {
    fn value(&mut self, value: Value<'_>, shape: GoType, path: &Path<'_>) -> Result<Json, DecodeError> {
        if value.is_null() && !matches!(shape, GoType::Any) {
            return Ok(zero(shape));
        }
        match shape {
            GoType::Text => self.string(value, path),
            GoType::Bool => value.as_bool().map(Json::Bool).ok_or_else(|| wrong(value, path, "a boolean")),
            GoType::Int => value.as_i64().map(Json::from).ok_or_else(|| wrong(value, path, "an integer")),
            GoType::Float => match value.kind() {
                Kind::Integer | Kind::Number => Ok(double(value)),
                _ => Err(wrong(value, path, "a number")),
            },
            GoType::Quantity => {
                let scalar = !matches!(value.kind(), Kind::Array | Kind::Object | Kind::Boolean);
                scalar
                    .then(|| Quantity::parse(value.text()))
                    .flatten()
                    .map(|quantity| Json::String(quantity.canonical()))
                    .ok_or_else(|| wrong(value, path, "a quantity such as 500m or 1Gi"))
            }
            GoType::IntOrText => match (value.as_str(), value.as_i64()) {
                (Some(text), _) => Ok(text.into()),
                (None, Some(number)) => Ok(number.into()),
                (None, None) => Err(wrong(value, path, "an integer or a string")),
            },
            GoType::Any => Ok(value.to_json()),
            GoType::List(item) => self.list(value, *item, path),
            GoType::Map(item) => {
                if value.kind() != Kind::Object {
                    return Err(wrong(value, path, "a map"));
                }
                let mut map = Map::new();
                for (key, value) in value.entries() {
                    map.insert(key.text().to_owned(), self.value(value, *item, &path.key(key.text()))?);
                }
                Ok(Json::Object(map))
            }
            GoType::Struct(fields) => self.fields(value, fields, path),
            GoType::StructOrBool(fields) => match value.as_bool() {
                Some(allowed) => Ok(Json::Bool(allowed)),
                None => self.fields(value, fields, path),
            },
            GoType::StructOrList(fields) => match value.kind() {
                Kind::Array => self.list(value, GoType::Struct(fields), path),
                _ => self.fields(value, fields, path),
            },
            GoType::StructOrTexts(fields) => match value.kind() {
                Kind::Array => self.list(value, GoType::Text, path),
                _ => self.fields(value, fields, path),
            },
        }
    }

    fn string(&mut self, value: Value<'_>, path: &Path<'_>) -> Result<Json, DecodeError> {
        let text = match value.kind() {
            Kind::String => return Ok(value.text().into()),
            Kind::Boolean => value.as_bool().unwrap_or_default().to_string(),
            Kind::Integer => value.to_json().to_string(),
            Kind::Number => single_text(value.as_f64().unwrap_or_default()),
            Kind::Null | Kind::Array | Kind::Object => return Err(wrong(value, path, "a string")),
        };
        let written = clip(value.text()).into_owned();
        self.remark(value.position(), path, Change::Quoted { written, text: text.clone() });
        Ok(text.into())
    }

    fn list(&mut self, value: Value<'_>, item: GoType, path: &Path<'_>) -> Result<Json, DecodeError> {
        if value.kind() != Kind::Array {
            return Err(wrong(value, path, "a list"));
        }
        value
            .items()
            .enumerate()
            .map(|(index, value)| self.value(value, item, &path.index(index)))
            .collect::<Result<Vec<_>, _>>()
            .map(Json::Array)
    }

    fn fields(
        &mut self,
        value: Value<'_>,
        fields: &'static GoStruct,
        path: &Path<'_>,
    ) -> Result<Json, DecodeError> {
        if value.kind() != Kind::Object {
            return Err(wrong(value, path, "a map"));
        }
        let mut object = Map::new();
        for (key, value) in value.entries() {
            let name = key.text();
            let below = path.field(name);
            let Some(field) = fields.find(name) else {
                if !value.is_null() && !is_server_side(name) {
                    self.remark(key.position(), &below, Change::Dropped);
                }
                continue;
            };
            if field.name != name {
                // The exact name wins if both are set.
                if object.contains_key(field.name) {
                    continue;
                }
                self.remark(key.position(), &below, Change::Renamed(field.name));
            }
            if value.is_null() {
                object.remove(field.name);
                continue;
            }
            let json = self.value(value, field.shape, &below)?;
            if field.presence == Presence::OmitEmpty && !field.is_struct() && is_zero(&json) {
                object.remove(field.name);
            } else {
                object.insert(field.name.to_owned(), json);
            }
        }
        for field in fields.all().filter(|field| field.is_written_unset()) {
            if !object.contains_key(field.name) {
                object.insert(field.name.to_owned(), zero(field.shape));
            }
        }
        Ok(Json::Object(object))
    }

    fn remark(&mut self, position: Position, path: &Path<'_>, change: Change) {
        if self.remarks.list.len() < MAX_NOTES {
            self.remarks.list.push(Remark { path: clip(&path.to_string()).into_owned(), position, change });
        } else if !matches!(change, Change::Quoted { .. }) {
            self.remarks.omitted += 1;
        }
    }
}

impl GoStruct {
    pub(crate) const fn new(own: &'static [Field]) -> Self {
        Self { own, embedded: None }
    }

    pub(crate) const fn with(embedded: &'static Self, own: &'static [Field]) -> Self {
        Self { own, embedded: Some(embedded) }
    }

    /// Returns the type and the types embedded in it.
    fn levels(&self) -> impl Iterator<Item = &Self> {
        std::iter::successors(Some(self), |fields| fields.embedded)
    }

    /// Returns all fields, those of embedded types last.
    fn all(&self) -> impl Iterator<Item = &'static Field> {
        self.levels().flat_map(|fields| fields.own)
    }

    /// Returns the field of this name, or else the first one whose name differs only in case, as Go's JSON decoder does.
    fn find(&self, name: &str) -> Option<&'static Field> {
        let exact = |fields: &Self| {
            fields.own.binary_search_by(|field| field.name.cmp(name)).ok().map(|index| &fields.own[index])
        };
        self.levels()
            .find_map(exact)
            .or_else(|| self.all().find(|field| field.name.eq_ignore_ascii_case(name)))
    }
}

impl Field {
    fn is_written_unset(&self) -> bool {
        match self.presence {
            Presence::Always => true,
            Presence::OmitEmpty => self.is_struct(),
            Presence::Pointer => false,
        }
    }

    /// Returns whether the field is a struct in Go, even if it is encoded as a scalar.
    fn is_struct(&self) -> bool {
        matches!(self.shape, GoType::Struct(_) | GoType::Quantity | GoType::IntOrText)
    }
}

/// Fields that a server fills in; they are dropped without a word.
fn is_server_side(name: &str) -> bool {
    matches!(name, "status" | "creationTimestamp")
}

fn zero(shape: GoType) -> Json {
    match shape {
        GoType::Text => "".into(),
        GoType::Bool | GoType::StructOrBool(_) => false.into(),
        GoType::Int | GoType::Float | GoType::IntOrText => 0.into(),
        GoType::Quantity => "0".into(),
        GoType::Any | GoType::StructOrList(_) | GoType::StructOrTexts(_) => Json::Null,
        GoType::List(_) => Json::Array(Vec::new()),
        GoType::Map(_) => Json::Object(Map::new()),
        GoType::Struct(fields) => zero_fields(fields),
    }
}

fn zero_fields(fields: &GoStruct) -> Json {
    let unset = fields.all().filter(|field| field.is_written_unset());
    Json::Object(unset.map(|field| (field.name.to_owned(), zero(field.shape))).collect())
}

fn is_zero(json: &Json) -> bool {
    match json {
        Json::Null | Json::Bool(false) => true,
        Json::Bool(true) => false,
        Json::Number(number) => number.as_f64() == Some(0.0),
        Json::String(text) => text.is_empty(),
        Json::Array(items) => items.is_empty(),
        Json::Object(map) => map.is_empty(),
    }
}

/// A number as a double holds it: beyond 2^53 not every integer is one.
fn double(value: Value<'_>) -> Json {
    const EXACT: u64 = 1 << 53;
    match (value.as_i64(), value.as_f64()) {
        (Some(integer), _) if integer.unsigned_abs() <= EXACT => integer.into(),
        (_, number) => number.map_or(Json::Null, Json::from),
    }
}

fn wrong(value: Value<'_>, path: &Path<'_>, expected: &str) -> DecodeError {
    DecodeError {
        path: path.to_string(),
        message: format!("expected {expected}, found {}", value.kind()),
        position: value.position(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::{
        CLUSTER_ROLE, CLUSTER_SERVICE_VERSION, CONFIGURATION, CUSTOM_RESOURCE_DEFINITION,
        CUSTOM_RESOURCE_DEFINITION_V1BETA1, DEPLOYMENT, MUTATING_WEBHOOK_CONFIGURATION, ROLE, ROLE_BINDING,
        SERVICE, SERVICE_ACCOUNT, VALIDATING_WEBHOOK_CONFIGURATION,
    };
    use super::*;
    use kube_yaml::{Builder, Scalar};

    /// A list with one number in it, as the reader builds it.
    fn number(value: Scalar) -> Json {
        let mut builder = Builder::default();
        let node = builder.scalar("", value, Position::default());
        let tree = builder.finish(Some(node));
        double(tree.root())
    }

    #[test]
    fn doubles_lose_what_go_loses() {
        assert_eq!(number(Scalar::Int(4_294_967_295)), json!(4_294_967_295u64));
        assert_eq!(number(Scalar::Int(i64::MAX)), json!(9_223_372_036_854_775_808.0));
        assert_eq!(number(Scalar::Float(1.5)), json!(1.5));
    }

    #[test]
    fn tables_are_sorted_for_the_search() {
        let mut seen = Vec::new();
        let mut open = vec![
            &CLUSTER_SERVICE_VERSION,
            &CUSTOM_RESOURCE_DEFINITION,
            &CUSTOM_RESOURCE_DEFINITION_V1BETA1,
            &DEPLOYMENT,
            &SERVICE,
            &VALIDATING_WEBHOOK_CONFIGURATION,
            &MUTATING_WEBHOOK_CONFIGURATION,
            &ROLE,
            &CLUSTER_ROLE,
            &ROLE_BINDING,
            &SERVICE_ACCOUNT,
            &CONFIGURATION,
        ];
        while let Some(fields) = open.pop() {
            if seen.iter().any(|other| std::ptr::eq(*other, fields)) {
                continue;
            }
            seen.push(fields);
            open.extend(fields.embedded);
            assert!(fields.own.is_sorted_by_key(|field| field.name), "{fields:?}");
            for field in fields.own {
                let mut shape = field.shape;
                while let GoType::List(inner) | GoType::Map(inner) = shape {
                    shape = *inner;
                }
                if let GoType::Struct(below)
                | GoType::StructOrBool(below)
                | GoType::StructOrList(below)
                | GoType::StructOrTexts(below) = shape
                {
                    open.push(below);
                }
            }
        }
        assert!(seen.len() > 100, "{}", seen.len());
    }
}

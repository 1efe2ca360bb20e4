//! Converts a schema to the declarations that expressions see: types, fields, and how many elements and bytes a
//! value can have (apiserver/pkg/cel/common/schemas.go and apiserver/pkg/cel/types.go).

use std::borrow::Cow;
use std::collections::HashSet;

use super::names;
use super::schema::{AdditionalProperties, Schema};
use super::server::Server;
use super::types::{self, Data, Ty, Types};

/// Maximum size of a request to the API server, in bytes.
pub(crate) const MAX_REQUEST: i64 = 3 * 1024 * 1024;

/// A declaration's number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct DeclId(u32);

/// What a value of a schema is to an expression.
#[derive(Debug)]
pub(crate) struct Decl<'a> {
    pub(crate) ty: Ty,
    /// Maximum number of elements, or bytes of a string, of a value.
    pub(crate) max_elements: u64,
    /// Minimum size of a value in JSON, in bytes.
    pub(crate) min_size: i64,
    shape: Shape<'a>,
}

#[derive(Debug)]
enum Shape<'a> {
    Scalar,
    List(DeclId),
    Map(DeclId),
    /// Sorted by name.
    Object(Vec<(Cow<'a, str>, DeclId)>),
}

/// The declarations for one set of rules.
#[derive(Debug, Default)]
pub(crate) struct Declarations<'a> {
    all: Vec<Decl<'a>>,
    /// Whether no expression uses the name of a resource, so that its length makes no difference.
    without_names: bool,
}

/// The first version of Kubernetes that limits an int-or-string by its `maxLength`.
const INT_OR_STRING_LENGTH: u16 = 34;
/// The first version of Kubernetes that limits `metadata.name` and `metadata.generateName` by the length of a name.
const NAME_LENGTH: u16 = 37;
/// The first version of Kubernetes in which rules write a field `namespace` without underscores.
const PLAIN_RESERVED_WORDS: u16 = 32;
/// Maximum length of a name (`DNS1123SubdomainMaxLength`).
const MAX_NAME: i64 = 253;

impl<'a> Declarations<'a> {
    /// Declarations for the rules of a schema.
    pub(crate) fn for_rules_of(schema: &Schema<'a>) -> Self {
        Self { without_names: !uses_names(schema), ..Self::default() }
    }

    /// A declaration.
    pub(crate) fn get(&self, id: DeclId) -> &Decl<'a> {
        &self.all[id.0 as usize]
    }

    /// What the elements of a list or the values of a map are.
    pub(crate) fn element(&self, id: DeclId) -> Option<DeclId> {
        match self.get(id).shape {
            Shape::List(element) | Shape::Map(element) => Some(element),
            _ => None,
        }
    }

    /// Whether the declaration is a map, whose keys are strings.
    pub(crate) fn is_map(&self, id: DeclId) -> bool {
        matches!(self.get(id).shape, Shape::Map(_))
    }

    /// An object's field by its escaped name.
    pub(crate) fn member(&self, id: DeclId, name: &str) -> Option<DeclId> {
        let Shape::Object(fields) = &self.get(id).shape else { return None };
        fields.binary_search_by(|(field, _)| field.as_ref().cmp(name)).ok().map(|index| fields[index].1)
    }

    /// The type of an object type's field. Reserved words may be written plainly.
    pub(crate) fn field(&self, object: u32, name: &str, server: &Server) -> Option<Ty> {
        let id = DeclId(object);
        let found = self.member(id, name).or_else(|| {
            let plain = names::is_reserved(name).then(|| self.member(id, &format!("__{name}__"))).flatten();
            plain.filter(|_| server.since(PLAIN_RESERVED_WORDS))
        });
        found.map(|id| self.get(id).ty)
    }

    /// Returns the message for a field that an object does not declare.
    pub(crate) fn missing_field(&self, object: u32, name: &str) -> String {
        let Shape::Object(fields) = &self.get(DeclId(object)).shape else {
            return format!("unknown field `{name}`");
        };
        if fields.is_empty() {
            return format!("unknown field `{name}`: the schema declares no fields that a rule can use");
        }
        let listed: Vec<&str> = fields.iter().take(12).map(|(field, _)| field.as_ref()).collect();
        let more = if fields.len() > listed.len() { ", …" } else { "" };
        format!("unknown field `{name}`: the schema declares `{}`{more}", listed.join("`, `"))
    }

    /// Declares a schema: `None` if expressions cannot see it, because it has no type.
    pub(crate) fn declare(
        &mut self,
        types: &mut Types,
        schema: &Schema<'a>,
        resource: bool,
        server: &Server,
    ) -> Option<DeclId> {
        if schema.int_or_string {
            let max = schema.max_length.filter(|_| server.since(INT_OR_STRING_LENGTH));
            let max = max.map_or(max_bytes(), four_bytes_each);
            return Some(self.scalar(types::DYN, max, 1));
        }
        match schema.kind {
            "array" => {
                let items = schema.items.as_deref()?;
                let element = self.declare(types, items, items.embedded_resource, server)?;
                let min = self.get(element).min_size;
                let max = schema.max_items.map_or((MAX_REQUEST - 2) / (min + 1), |max| max.max(0));
                let ty = types.list(self.get(element).ty);
                Some(self.push(Decl {
                    ty,
                    max_elements: max.cast_unsigned(),
                    min_size: 2,
                    shape: Shape::List(element),
                }))
            }
            "object" => self.object(types, schema, resource, server),
            "string" => Some(self.string(schema)),
            "boolean" => Some(self.scalar(types::BOOL, 0, 4)),
            "number" => Some(self.scalar(types::DOUBLE, 0, 1)),
            "integer" => Some(self.scalar(types::INT, 0, 1)),
            _ => None,
        }
    }

    fn push(&mut self, decl: Decl<'a>) -> DeclId {
        let id = DeclId(u32::try_from(self.all.len()).unwrap_or(u32::MAX));
        self.all.push(decl);
        id
    }

    /// Declares a value of which only the type is known.
    pub(crate) fn value(&mut self, ty: Ty) -> DeclId {
        self.scalar(ty, 0, 0)
    }

    /// Declares an object with the fields given.
    pub(crate) fn declare_object(&mut self, types: &mut Types, fields: Vec<(&'a str, DeclId)>) -> DeclId {
        let mut fields: Vec<_> =
            fields.into_iter().map(|(name, field)| (Cow::Borrowed(name), field)).collect();
        fields.sort_unstable();
        self.push_object(types, fields, 2)
    }

    fn scalar(&mut self, ty: Ty, max_elements: u64, min_size: i64) -> DeclId {
        self.push(Decl { ty, max_elements, min_size, shape: Shape::Scalar })
    }

    fn string(&mut self, schema: &Schema<'a>) -> DeclId {
        match schema.format {
            "byte" => {
                let max = schema.max_length.map_or(max_bytes(), |max| max.max(0).cast_unsigned());
                self.scalar(types::BYTES, max, 2)
            }
            "duration" => self.scalar(types::DURATION, 32, 3),
            "date" => self.scalar(types::TIMESTAMP, 12, 12),
            "date-time" => self.scalar(types::TIMESTAMP, 32, 21),
            _ => {
                let longest =
                    || schema.values.iter().flatten().map(|value| value.len() as u64).max().unwrap_or(0);
                let max = match schema.max_length {
                    Some(max) => four_bytes_each(max),
                    None if schema.values.is_empty() => max_bytes(),
                    None => longest(),
                };
                self.scalar(types::STRING, max, 2)
            }
        }
    }

    fn object(
        &mut self,
        types: &mut Types,
        schema: &Schema<'a>,
        resource: bool,
        server: &Server,
    ) -> Option<DeclId> {
        if let AdditionalProperties::Schema(values) = &schema.additional_properties {
            let element = self.declare(types, values, values.embedded_resource, server)?;
            let min = self.get(element).min_size;
            let max = schema.max_properties.map_or((MAX_REQUEST - 2) / (min + 6), |max| max.max(0));
            let ty = types.map(types::STRING, self.get(element).ty);
            return Some(self.push(Decl {
                ty,
                max_elements: max.cast_unsigned(),
                min_size: 2,
                shape: Shape::Map(element),
            }));
        }
        let add_meta = resource && !has_meta(schema);
        let mut fields = Vec::with_capacity(schema.properties.len());
        let mut min_size = 2;
        let required: HashSet<&str> = schema.required.iter().copied().collect();
        let mut add = |this: &mut Self, name: &'a str, field: DeclId, has_default: bool| {
            if !has_default && required.contains(name) {
                min_size += this.get(field).min_size + 4 + i64::try_from(name.len()).unwrap_or(i64::MAX);
            }
            if let Some(name) = names::escape(name) {
                fields.push((name, field));
            }
        };
        for (name, property) in &schema.properties {
            if add_meta && matches!(*name, "kind" | "apiVersion" | "metadata") {
                continue;
            }
            if let Some(field) = self.declare(types, property, property.embedded_resource, server) {
                add(self, name, field, property.has_default);
            }
        }
        if add_meta {
            let [kind, version] = [(); 2].map(|()| self.scalar(types::STRING, max_bytes(), 2));
            let written = |field: &str| schema.property("metadata")?.property(field)?.max_length;
            // The server appends at least one character to a generated name.
            let meta = [("generateName", MAX_NAME - 1), ("name", MAX_NAME)].map(|(field, longest)| {
                (
                    Cow::Borrowed(field),
                    self.name(written(field).map_or(longest, |max| max.min(longest)), server),
                )
            });
            let metadata = self.push_object(types, meta.into(), 2);
            add(self, "kind", kind, false);
            add(self, "apiVersion", version, false);
            add(self, "metadata", metadata, false);
        }
        fields.sort_unstable_by(|(left, _), (right, _)| left.cmp(right));
        Some(self.push_object(types, fields, min_size))
    }

    /// Declares a name that every resource has.
    fn name(&mut self, max_length: i64, server: &Server) -> DeclId {
        let max = if !self.without_names && server.since(NAME_LENGTH) {
            four_bytes_each(max_length)
        } else {
            max_bytes()
        };
        self.scalar(types::STRING, max, 2)
    }

    fn push_object(
        &mut self,
        types: &mut Types,
        fields: Vec<(Cow<'a, str>, DeclId)>,
        min_size: i64,
    ) -> DeclId {
        let number = u32::try_from(self.all.len()).unwrap_or(u32::MAX);
        let ty = types.make(Data::Object(number));
        self.push(Decl { ty, max_elements: 0, min_size, shape: Shape::Object(fields) })
    }
}

/// The size of a string without a limit: a whole request without the quotes.
const fn max_bytes() -> u64 {
    (MAX_REQUEST - 2).cast_unsigned()
}

/// `maxLength` counts characters, sizes count bytes.
fn four_bytes_each(max_length: i64) -> u64 {
    max_length.max(0).wrapping_mul(4).cast_unsigned()
}

/// Whether a rule of a schema, or below it, selects `metadata`.
fn uses_names(schema: &Schema<'_>) -> bool {
    schema
        .rules
        .iter()
        .any(|rule| [rule.rule, rule.message_expression].iter().any(|text| text.contains("metadata")))
        || schema.properties.iter().any(|(_, property)| uses_names(property))
        || schema.items.as_deref().is_some_and(uses_names)
        || schema.value_schema().is_some_and(uses_names)
}

/// Whether a resource's schema itself declares what every resource has.
pub(crate) fn has_meta(schema: &Schema<'_>) -> bool {
    let is = |schema: Option<&Schema<'_>>, kind: &str| schema.is_some_and(|schema| schema.kind == kind);
    let metadata = schema.property("metadata");
    is(schema.property("kind"), "string")
        && is(schema.property("apiVersion"), "string")
        && is(metadata, "object")
        && metadata.is_some_and(|meta| {
            is(meta.property("name"), "string") && is(meta.property("generateName"), "string")
        })
}

//! The keywords of a CRD's schema: the fields of Kubernetes' `JSONSchemaProps` and the values that each accepts.

use kube_yaml::{Kind, Value};

/// The type of value that the API server accepts for a keyword. Null means "not set" everywhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// A string.
    String,
    /// `true` or `false`.
    Boolean,
    /// Any number.
    Number,
    /// A 64-bit integer; `1.0` is one.
    Integer,
    /// Any value.
    Any,
    /// A list of any values.
    AnyList,
    /// A list of strings.
    Strings,
    /// A schema.
    Schema,
    /// A list of schemas.
    Schemas,
    /// A map of schemas.
    SchemaMap,
    /// A schema or a list of schemas; anything else is read as an empty one.
    SchemaOrList,
    /// A schema or a boolean.
    SchemaOrBoolean,
    /// A map of schemas or lists of strings.
    Dependencies,
    /// `{description, url}`.
    Documentation,
    /// A list of validation rules.
    Rules,
}

macro_rules! keywords {
    ($($variant:ident $name:literal $shape:ident)*) => {
        /// A keyword of a schema.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[repr(u8)]
        pub enum Keyword {
            $(#[doc = concat!("`", $name, "`")] $variant,)*
        }

        impl Keyword {
            /// All keywords.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// Returns the keyword's name.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }

            /// Returns the type of the keyword's value.
            #[must_use]
            pub const fn shape(self) -> Shape {
                match self {
                    $(Self::$variant => Shape::$shape,)*
                }
            }

            /// Returns the keyword with a name, which is case-sensitive.
            #[must_use]
            pub fn parse(name: &str) -> Option<Self> {
                match name {
                    $($name => Some(Self::$variant),)*
                    _ => None,
                }
            }
        }
    };
}

// The most frequent first: that is the order in which names are compared.
keywords! {
    Type "type" String
    Description "description" String
    Properties "properties" SchemaMap
    Items "items" SchemaOrList
    Required "required" Strings
    Format "format" String
    AdditionalProperties "additionalProperties" SchemaOrBoolean
    Enum "enum" AnyList
    Default "default" Any
    XMapType "x-kubernetes-map-type" String
    XListType "x-kubernetes-list-type" String
    XIntOrString "x-kubernetes-int-or-string" Boolean
    AnyOf "anyOf" Schemas
    Pattern "pattern" String
    Minimum "minimum" Number
    Maximum "maximum" Number
    MaxLength "maxLength" Integer
    MinLength "minLength" Integer
    MaxItems "maxItems" Integer
    MinItems "minItems" Integer
    XListMapKeys "x-kubernetes-list-map-keys" Strings
    XPreserveUnknownFields "x-kubernetes-preserve-unknown-fields" Boolean
    XValidations "x-kubernetes-validations" Rules
    AllOf "allOf" Schemas
    OneOf "oneOf" Schemas
    Not "not" Schema
    Nullable "nullable" Boolean
    Title "title" String
    Example "example" Any
    MaxProperties "maxProperties" Integer
    MinProperties "minProperties" Integer
    XEmbeddedResource "x-kubernetes-embedded-resource" Boolean
    UniqueItems "uniqueItems" Boolean
    MultipleOf "multipleOf" Number
    ExclusiveMaximum "exclusiveMaximum" Boolean
    ExclusiveMinimum "exclusiveMinimum" Boolean
    ExternalDocs "externalDocs" Documentation
    Id "id" String
    MetaSchema "$schema" String
    Ref "$ref" String
    PatternProperties "patternProperties" SchemaMap
    Dependencies "dependencies" Dependencies
    AdditionalItems "additionalItems" SchemaOrBoolean
    Definitions "definitions" SchemaMap
}

/// A set of keywords and of other properties of a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Keywords(u64);

impl Keywords {
    /// Every schema: for rules that look for missing keywords.
    pub const EVERY: Self = Self(1 << 63);
    /// A schema with a keyword whose value has the wrong type.
    pub const MISTYPED: Self = Self(1 << 62);
    /// A schema with an unknown keyword.
    pub const UNKNOWN: Self = Self(1 << 61);

    /// Returns the set of `keywords`.
    #[must_use]
    pub const fn new(keywords: &[Keyword]) -> Self {
        let mut set = 0;
        let mut at = 0;
        while at < keywords.len() {
            set |= 1 << keywords[at] as u8;
            at += 1;
        }
        Self(set)
    }

    /// Adds all of `other`.
    pub const fn insert(&mut self, other: Self) {
        self.0 |= other.0;
    }

    /// Returns whether both have an element in common.
    #[must_use]
    pub const fn meets(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Returns what is in this set and not in `other`.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Returns the keywords of the set.
    pub fn iter(self) -> impl Iterator<Item = Keyword> {
        Keyword::ALL.iter().copied().filter(move |keyword| self.meets(Self::new(&[*keyword])))
    }
}

/// Returns the expected type's name if `value`, which is not null, is of another type.
#[must_use]
pub(crate) fn mismatch(shape: Shape, value: Value<'_>) -> Option<&'static str> {
    let kind = value.kind();
    let object = |value: Value<'_>| matches!(value.kind(), Kind::Object | Kind::Null);
    let string = |value: Value<'_>| matches!(value.kind(), Kind::String | Kind::Null);
    let (fits, wanted) = match shape {
        Shape::Any | Shape::SchemaOrList => {
            let fits = shape == Shape::Any || value.items().all(object);
            (fits, "a schema or a list of schemas")
        }
        Shape::String => (kind == Kind::String, "a string"),
        Shape::Boolean => (kind == Kind::Boolean, "a boolean"),
        Shape::Number => (matches!(kind, Kind::Integer | Kind::Number), "a number"),
        Shape::Integer => (value.as_i64().is_some(), "a 64-bit integer"),
        Shape::AnyList => (kind == Kind::Array, "a list"),
        Shape::Strings => (kind == Kind::Array && value.items().all(string), "a list of strings"),
        Shape::Schema => (kind == Kind::Object, "a schema"),
        Shape::Schemas => (kind == Kind::Array && value.items().all(object), "a list of schemas"),
        Shape::SchemaMap => {
            (kind == Kind::Object && value.entries().all(|(_, value)| object(value)), "a map of schemas")
        }
        Shape::SchemaOrBoolean => (matches!(kind, Kind::Object | Kind::Boolean), "a schema or a boolean"),
        Shape::Dependencies => {
            (kind == Kind::Object && value.entries().all(|(_, value)| value.items().all(string)), "a map")
        }
        Shape::Documentation => {
            let texts = value
                .entries()
                .all(|(key, value)| !matches!(key.text(), "description" | "url") || string(value));
            (kind == Kind::Object && texts, "a map with the strings description and url")
        }
        Shape::Rules => (kind == Kind::Array && value.items().all(rule), "a list of rules"),
    };
    (!fits).then_some(wanted)
}

fn rule(rule: Value<'_>) -> bool {
    matches!(rule.kind(), Kind::Object | Kind::Null)
        && rule.entries().all(|(key, value)| match key.text() {
            "rule" | "message" | "messageExpression" | "reason" | "fieldPath" => {
                matches!(value.kind(), Kind::String | Kind::Null)
            }
            "optionalOldSelf" => matches!(value.kind(), Kind::Boolean | Kind::Null),
            _ => true,
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_keyword_is_found_by_its_name_and_has_a_bit_of_its_own() {
        assert!(Keyword::ALL.len() <= 61);
        let mut all = Keywords::default();
        for keyword in Keyword::ALL {
            assert_eq!(Keyword::parse(keyword.name()), Some(*keyword));
            assert!(!all.meets(Keywords::new(&[*keyword])));
            all.insert(Keywords::new(&[*keyword]));
        }
        assert_eq!(all.iter().count(), Keyword::ALL.len());
        assert_eq!(Keyword::parse("Type"), None);
    }
}

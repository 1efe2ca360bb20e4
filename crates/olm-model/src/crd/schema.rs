//! One node of a schema, read once into a table of its keywords.

use super::keyword::{Keyword, Keywords, mismatch};
use kube_yaml::{Kind, Value};

/// A schema: the values of its keywords. Nothing is copied from the document, and schemas below are not read. A keyword
/// whose value has the wrong type counts as not set, and is [`Schema::mistyped`].
#[derive(Debug, Clone, Copy)]
pub struct Schema<'b> {
    /// The schema's value; null for an empty one.
    pub value: Value<'b>,
    present: Keywords,
    mistyped: Keywords,
    values: [Option<Value<'b>>; Keyword::ALL.len()],
}

/// The value of `items`.
#[derive(Debug, Clone, Copy)]
pub enum Items<'b> {
    /// Not set.
    Unset,
    /// One schema for all items.
    Schema(Value<'b>),
    /// A list of schemas, or anything else that the API server does not decode as a schema.
    Other,
}

/// The value of `additionalProperties`.
#[derive(Debug, Clone, Copy)]
pub enum Additional<'b> {
    /// Not set.
    Unset,
    /// `true` or `false`.
    Boolean(bool),
    /// A schema for all values.
    Schema(Value<'b>),
}

impl<'b> Schema<'b> {
    /// Reads the keywords of a schema.
    #[must_use]
    pub fn read(value: Value<'b>) -> Self {
        let mut schema = Self {
            value,
            present: Keywords::EVERY,
            mistyped: Keywords::default(),
            values: [None; Keyword::ALL.len()],
        };
        // The last of equal keys counts: the others are overwritten, nulls included.
        for (key, value) in value.entries() {
            match Keyword::parse(key.text()) {
                Some(keyword) => schema.values[keyword as usize] = Some(value),
                None => schema.present.insert(Keywords::UNKNOWN),
            }
        }
        for (keyword, slot) in Keyword::ALL.iter().zip(&mut schema.values) {
            let Some(value) = *slot else { continue };
            let bit = Keywords::new(&[*keyword]);
            if value.is_null() {
                *slot = None;
            } else if mismatch(keyword.shape(), value).is_some() {
                *slot = None;
                schema.mistyped.insert(bit);
                schema.present.insert(Keywords::MISTYPED);
            } else {
                schema.present.insert(bit);
            }
        }
        schema
    }

    /// Returns the keywords that are set.
    #[must_use]
    pub fn present(&self) -> Keywords {
        self.present
    }

    /// Returns the keywords whose value has the wrong type, with the expected one.
    pub fn mistyped(&self) -> impl Iterator<Item = (Keyword, &'static str)> {
        self.mistyped.iter().filter_map(|keyword| {
            let value = self.value.get(keyword.name())?;
            Some((keyword, mismatch(keyword.shape(), value)?))
        })
    }

    /// Returns whether a keyword is set, even to an empty value.
    #[must_use]
    pub fn has(&self, keyword: Keyword) -> bool {
        self.values[keyword as usize].is_some()
    }

    /// Returns the value of a keyword; nothing if it is null.
    #[must_use]
    pub fn get(&self, keyword: Keyword) -> Option<Value<'b>> {
        self.values[keyword as usize]
    }

    /// Returns the string of a keyword; empty if it is not set.
    #[must_use]
    pub fn string(&self, keyword: Keyword) -> &'b str {
        self.get(keyword).and_then(Value::as_str).unwrap_or_default()
    }

    /// Returns whether a keyword is set to `true`.
    #[must_use]
    pub fn flag(&self, keyword: Keyword) -> bool {
        self.get(keyword).and_then(Value::as_bool).unwrap_or_default()
    }

    /// Returns the integer of a keyword.
    #[must_use]
    pub fn integer(&self, keyword: Keyword) -> Option<i64> {
        self.get(keyword).and_then(Value::as_i64)
    }

    /// Returns the number of a keyword.
    #[must_use]
    pub fn number(&self, keyword: Keyword) -> Option<f64> {
        self.get(keyword).and_then(Value::as_f64)
    }

    /// Returns the items of a keyword that is a list.
    #[must_use]
    pub fn list(&self, keyword: Keyword) -> impl ExactSizeIterator<Item = Value<'b>> + use<'b> {
        let list = self.get(keyword).filter(|value| value.kind() == Kind::Array);
        list.unwrap_or(self.value.nothing()).items()
    }

    /// Returns whether a keyword that is a list or a map is not empty.
    #[must_use]
    pub fn fills(&self, keyword: Keyword) -> bool {
        self.get(keyword).is_some_and(|value| !value.is_empty())
    }

    /// Returns `type`.
    #[must_use]
    pub fn kind(&self) -> &'b str {
        self.string(Keyword::Type)
    }

    /// Returns `items`.
    #[must_use]
    pub fn items(&self) -> Items<'b> {
        match self.get(Keyword::Items) {
            None => Items::Unset,
            Some(value) if value.kind() == Kind::Object => Items::Schema(value),
            Some(_) => Items::Other,
        }
    }

    /// Returns `additionalProperties`.
    #[must_use]
    pub fn additional(&self) -> Additional<'b> {
        match self.get(Keyword::AdditionalProperties) {
            None => Additional::Unset,
            Some(value) => value.as_bool().map_or(Additional::Schema(value), Additional::Boolean),
        }
    }

    /// Returns the schema of a property.
    #[must_use]
    pub fn property(&self, name: &str) -> Option<Value<'b>> {
        self.get(Keyword::Properties)?.get(name)
    }

    /// Returns the properties and their schemas, each name once.
    pub fn properties(&self) -> impl Iterator<Item = (Value<'b>, Value<'b>)> + use<'b> {
        self.get(Keyword::Properties).unwrap_or(self.value.nothing()).unique_entries()
    }

    /// Returns the keywords that are left once Kubernetes has converted the schema to a structural one: set, and not to a
    /// value that means "not set". Documentation, which the conversion drops, is omitted.
    #[must_use]
    pub fn structural(&self) -> Keywords {
        let mut set = Keywords::default();
        for keyword in Keyword::ALL {
            let Some(value) = self.get(*keyword) else { continue };
            let says_something = match keyword {
                Keyword::Example | Keyword::ExternalDocs => false,
                Keyword::Enum
                | Keyword::AllOf
                | Keyword::AnyOf
                | Keyword::OneOf
                | Keyword::Properties
                | Keyword::Definitions
                | Keyword::PatternProperties
                | Keyword::Dependencies => !value.is_empty(),
                Keyword::Items => matches!(self.items(), Items::Schema(_)) || !value.is_empty(),
                // For these, the empty string is a value.
                Keyword::XListType | Keyword::XMapType => true,
                _ => match value.kind() {
                    Kind::String => !value.text().is_empty(),
                    Kind::Boolean => {
                        *keyword == Keyword::AdditionalProperties || value.as_bool() == Some(true)
                    }
                    _ => true,
                },
            };
            if says_something {
                set.insert(Keywords::new(&[*keyword]));
            }
        }
        set
    }
}

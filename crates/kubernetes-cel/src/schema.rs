//! The parts of a CRD's schema that validation of CEL rules depends on. Callers fill it from their own data.

/// One node of an `OpenAPI` v3 schema, as far as CEL rules depend on it. Strings are borrowed from
/// the caller's tree. How deep schemas nest is for the caller to limit.
#[derive(Debug, Clone, Default)]
pub struct Schema<'a> {
    /// `type`; empty if it is not set.
    pub kind: &'a str,
    /// `format`; empty if it is not set.
    pub format: &'a str,
    /// `x-kubernetes-int-or-string`.
    pub int_or_string: bool,
    /// `x-kubernetes-embedded-resource`.
    pub embedded_resource: bool,
    /// `x-kubernetes-list-type`.
    pub list_type: Option<&'a str>,
    /// `items`.
    pub items: Option<Box<Schema<'a>>>,
    /// `properties`, in any order.
    pub properties: Vec<(&'a str, Schema<'a>)>,
    /// `additionalProperties`.
    pub additional_properties: AdditionalProperties<'a>,
    /// `required`.
    pub required: Vec<&'a str>,
    /// `enum`: each value that is a string; `None` for those that are not.
    pub values: Vec<Option<&'a str>>,
    /// Whether `default` is set to something other than null.
    pub has_default: bool,
    /// `maxLength`.
    pub max_length: Option<i64>,
    /// `maxItems`.
    pub max_items: Option<i64>,
    /// `maxProperties`.
    pub max_properties: Option<i64>,
    /// `x-kubernetes-validations`.
    pub rules: Vec<Rule<'a>>,
}

/// The value of `additionalProperties`.
#[derive(Debug, Clone, Default)]
pub enum AdditionalProperties<'a> {
    /// Not set.
    #[default]
    Unset,
    /// `true` or `false`.
    Bool(bool),
    /// A schema for all values.
    Schema(Box<Schema<'a>>),
}

/// One entry of `x-kubernetes-validations`. Fields that are not set are empty, as in Kubernetes'
/// own type.
#[derive(Debug, Clone, Default)]
pub struct Rule<'a> {
    /// `rule`.
    pub rule: &'a str,
    /// `message`.
    pub message: &'a str,
    /// `messageExpression`.
    pub message_expression: &'a str,
    /// `reason`.
    pub reason: Option<&'a str>,
    /// `fieldPath`.
    pub field_path: &'a str,
    /// `optionalOldSelf`.
    pub optional_old_self: Option<bool>,
}

impl<'a> Schema<'a> {
    /// Returns the schema of a property.
    pub(crate) fn property(&self, name: &str) -> Option<&Schema<'a>> {
        self.properties.iter().find(|(property, _)| *property == name).map(|(_, schema)| schema)
    }

    /// Returns the schema of a map's values.
    pub(crate) fn value_schema(&self) -> Option<&Schema<'a>> {
        match &self.additional_properties {
            AdditionalProperties::Schema(schema) => Some(schema),
            _ => None,
        }
    }

    /// Returns by how much an element of this schema multiplies the number of its children; `None` if there is no limit
    /// (`extractMaxElements`).
    pub(crate) fn max_elements(&self) -> Option<u64> {
        let bound = |limit: Option<i64>| limit.map(|limit| u64::try_from(limit).unwrap_or(0));
        match self.kind {
            "object" if !matches!(self.additional_properties, AdditionalProperties::Unset) => {
                bound(self.max_properties)
            }
            "array" => bound(self.max_items),
            _ => Some(1),
        }
    }
}

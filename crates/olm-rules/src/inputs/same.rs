//! Comparison of schemas as the API server does it: it validates equal schemas of several versions once.
//!
//! Source: `Semantic.DeepEqual` of `k8s.io/apimachinery`, on the types of `k8s.io/apiextensions-apiserver`.

use kube_yaml::Value;
use olm_model::crd::{Additional, Items, Keyword, Schema, Shape};

/// Compares schemas: an unset field equals an empty one, except for fields that are pointers in Go.
pub(crate) fn schemas(a: &Schema<'_>, b: &Schema<'_>) -> bool {
    Keyword::ALL.iter().all(|keyword| match (a.get(*keyword), b.get(*keyword)) {
        (None, None) => true,
        (Some(set), None) | (None, Some(set)) => is_nothing(*keyword, set),
        (Some(first), Some(second)) => match keyword.shape() {
            Shape::Schema => values(first, second),
            Shape::Schemas => lists(first, second),
            Shape::SchemaMap => maps(first, second),
            Shape::SchemaOrList => match (a.items(), b.items()) {
                (Items::Schema(first), Items::Schema(second)) => values(first, second),
                (Items::Other, Items::Other) => lists(first, second),
                _ => false,
            },
            Shape::SchemaOrBoolean if *keyword == Keyword::AdditionalProperties => {
                match (a.additional(), b.additional()) {
                    (Additional::Schema(first), Additional::Schema(second)) => values(first, second),
                    (Additional::Boolean(first), Additional::Boolean(second)) => first == second,
                    _ => false,
                }
            }
            _ => first.to_json() == second.to_json(),
        },
    })
}

/// Returns whether a keyword with this value equals an unset one.
fn is_nothing(keyword: Keyword, value: Value<'_>) -> bool {
    match keyword {
        Keyword::Ref
        | Keyword::XListType
        | Keyword::XMapType
        | Keyword::XPreserveUnknownFields
        | Keyword::Default
        | Keyword::Example
        | Keyword::Items
        | Keyword::Not
        | Keyword::AdditionalProperties
        | Keyword::AdditionalItems
        | Keyword::ExternalDocs => false,
        _ => match keyword.shape() {
            Shape::String => value.text().is_empty(),
            Shape::Boolean => value.as_bool() == Some(false),
            Shape::Number | Shape::Integer => false,
            _ => value.is_empty(),
        },
    }
}

fn values(a: Value<'_>, b: Value<'_>) -> bool {
    schemas(&Schema::read(a), &Schema::read(b))
}

fn lists(a: Value<'_>, b: Value<'_>) -> bool {
    a.len() == b.len() && a.items().zip(b.items()).all(|(a, b)| values(a, b))
}

fn maps(a: Value<'_>, b: Value<'_>) -> bool {
    let covers =
        a.unique_entries().all(|(key, value)| b.get(key.text()).is_some_and(|other| values(value, other)));
    covers && a.unique_entries().count() == b.unique_entries().count()
}
